"""Word pieces: split documents with a fast tokenizer, and pad segments to batches.

No Python loops over pieces: they would take longer than a small transformer on a GPU.
"""

from typing import Any, Iterator, List, NamedTuple, Sequence

import numpy as np

from ..errors import Errors
from ..spans.table import Bools, Ints
from ..spans.windows import batch_windows
from .segments import Segment

N_SPECIAL = 2  # [CLS] and [SEP], or their equivalents
# Special pieces that may frame a text. The first and the last that exist are used.
FRAMES = ("cls", "bos", "eos", "sep")


class SpecialPieces(NamedTuple):
    """Ids of the pieces at the start and end of every input, and of the padding."""

    first: int
    last: int
    padding: int


class PieceText(NamedTuple):
    """The concatenated word pieces of several documents.

    ids (Ints): piece ids. Shape: (piece,)
    word (Ints): token of each piece in the concatenated documents. Shape: (piece,)
    piece_start, token_start (Ints): where each document begins, followed by the total
        number. Shape: (doc + 1,)
    """

    ids: Ints
    word: Ints
    piece_start: Ints
    token_start: Ints

    def words_of(self, doc: int) -> Ints:
        """RETURNS (Ints): the token of each piece in its own document. (piece,)"""
        first, last = self.piece_start[doc], self.piece_start[doc + 1]
        return self.word[first:last] - self.token_start[doc]


def join_pieces(encodings: Sequence[Any], lengths: Sequence[int]) -> PieceText:
    """Concatenate the encodings of documents.

    encodings (Sequence[Encoding]): `ids` and `word_ids` of each document.
    lengths (Sequence[int]): tokens per document.
    RETURNS (PieceText): the pieces of all documents.
    """
    token_start = np.cumsum([0, *lengths])
    ids = [np.asarray(encoding.ids, dtype=np.int64) for encoding in encodings]
    words = [
        np.asarray(encoding.word_ids, dtype=np.int64) + start
        for encoding, start in zip(encodings, token_start)
    ]
    nothing = np.zeros(0, dtype=np.int64)
    return PieceText(
        np.concatenate([nothing, *ids]),
        np.concatenate([nothing, *words]),
        np.cumsum([0, *map(len, ids)]),
        token_start,
    )


def mark_words(tokenizer: Any) -> None:
    """Make a byte-level tokenizer mark the beginnings of pre-tokenized words.

    In a sequence of pre-tokenizers, the space is added before the first one: the last
    one would also mark pieces that the others split off inside a word.
    """
    splitter = tokenizer.pre_tokenizer
    if getattr(splitter, "add_prefix_space", True) is False:
        splitter.add_prefix_space = True
        tokenizer.pre_tokenizer = splitter
    elif splitter is not None and _marks_only_after_space(splitter):
        from tokenizers import pre_tokenizers

        prefix = pre_tokenizers.Metaspace(replacement=" ")  # adds a missing space
        tokenizer.pre_tokenizer = pre_tokenizers.Sequence([prefix, splitter])


def _marks_only_after_space(splitter: Any) -> bool:
    """RETURNS (bool): whether byte pieces mark a word only if a space precedes it."""
    spaced, bare = splitter.pre_tokenize_str(" a"), splitter.pre_tokenize_str("a")
    return [piece for piece, _ in [*spaced, *bare]] == ["Ġa", "a"]


def find_special_pieces(tokenizer: Any, name: str) -> SpecialPieces:
    """Find the special pieces for both ends of a text, and for padding.

    Decoders often add none; they get the piece that separates texts in pretraining.
    Padding is masked, so any piece will do where a tokenizer has none for it.

    tokenizer (PreTrainedTokenizerFast): without truncation and padding.
    name (str): name of the encoder, for the error.
    RETURNS (SpecialPieces): ids.
    RAISES (ValueError): SP160 if the tokenizer has no special pieces.
    """
    pieces = [getattr(tokenizer, f"{kind}_token_id", None) for kind in FRAMES]
    existing = [piece for piece in pieces if piece is not None]
    frame = tokenizer.backend_tokenizer.encode("").ids or existing
    if not frame:
        special = tokenizer.all_special_tokens
        raise ValueError(Errors.SP160.format(name=name, special=special))
    padding = getattr(tokenizer, "pad_token_id", None) or 0
    return SpecialPieces(int(frame[0]), int(frame[-1]), int(padding))


def encode_words(tokenizer: Any, words: List[List[str]]) -> List[Any]:
    """Split the tokens of documents into word pieces, without special pieces.

    words (List[List[str]]): the tokens of each document.
    RETURNS (List[Encoding]): with `ids` and `word_ids`.
    """
    return tokenizer.backend_tokenizer.encode_batch(
        words, is_pretokenized=True, add_special_tokens=False
    )


class PieceBatch(NamedTuple):
    """Padded segments, and the positions of the pieces that they own.

    segment (Ints): index of each segment. Shape: (batch,)
    ids (Ints), mask (Bools): (batch, piece)
    row, column (Ints): positions of the owned pieces. Shape: (owned,)
    local (Ints): the token of each owned piece, as a row of `token`. Shape: (owned,)
    token (Ints): these tokens in the concatenated documents. Shape: (token,)
    """

    segment: Ints
    ids: Ints
    mask: Bools
    row: Ints
    column: Ints
    local: Ints
    token: Ints


def batch_segments(
    segments: Sequence[Segment],
    text: PieceText,
    special: SpecialPieces,
    *,
    max_pieces: int,
    n_prompts: int,
) -> Iterator[PieceBatch]:
    """Group segments of similar length and pad them.

    segments (Sequence[Segment]): segments of all documents.
    max_pieces (int): maximum number of padded pieces in a batch, with prompts.
    n_prompts (int): number of prompts that will precede each segment.
    YIELDS (PieceBatch): longest segments first.
    """
    columns = np.asarray(segments, dtype=np.int64).reshape(-1, 5)
    doc, sizes = columns[:, 0], columns[:, 2] - columns[:, 1]
    columns[:, 1:3] += text.piece_start[doc][:, None]
    columns[:, 3:] += text.token_start[doc][:, None]
    lengths = sizes + N_SPECIAL + n_prompts
    for group in batch_windows(lengths, max_pieces):
        yield _pad(group, columns[group, 1:], text, special)


def _pad(
    group: Ints, bounds: Ints, text: PieceText, special: SpecialPieces
) -> PieceBatch:
    """Put segments between special pieces, and find the pieces that they own.

    bounds (Ints): the fields of `Segment` without `doc`, as positions in the
        concatenated documents. Shape: (batch, 4)
    """
    first, last, start, end = bounds.T[:, :, None]  # (batch, 1) each
    sizes = last - first
    position = np.arange(int(sizes.max()))  # (piece,)
    inside = position < sizes
    source = np.where(inside, first + position, 0)
    ids = np.full((len(group), len(position) + N_SPECIAL), special.padding)
    ids[:, 0] = special.first
    if len(text.ids):
        ids[:, 1:-1][inside] = text.ids[source][inside]
    np.put_along_axis(ids, sizes + 1, special.last, axis=1)
    mask = np.arange(ids.shape[1]) < sizes + N_SPECIAL
    own_first, own_last = np.searchsorted(text.word, [start, end])  # (batch, 1)
    owned = inside & (source >= own_first) & (source < own_last)
    row, column = owned.nonzero()
    token, local = np.unique(text.word[source[owned]], return_inverse=True)
    # Plus one for the first special piece.
    return PieceBatch(group, ids, mask, row, column + 1, local, token)


def restore_order(batches: Sequence[PieceBatch]) -> Ints:
    """RETURNS (Ints): for each segment, its row in the concatenated batches."""
    return np.argsort(np.concatenate([batch.segment for batch in batches]))


def owner_of_tokens(segments: List[Segment]) -> Ints:
    """RETURNS (Ints): the segment that owns each token of all documents. (token,)"""
    sizes = [segment.end - segment.start for segment in segments]
    return np.repeat(np.arange(len(segments)), sizes)

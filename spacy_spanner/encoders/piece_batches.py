"""Word pieces of documents to padded inputs of a transformer, and back to tokens.

Numpy only, and without a loop over pieces: beside a small transformer on a GPU, slow
bookkeeping would be what takes the time.
"""

from typing import Any, Iterator, List, NamedTuple, Sequence

import numpy as np

from ..spans.table import Bools, Ints
from ..spans.windows import batch_windows
from .segments import Segment

N_SPECIAL = 2  # [CLS] and [SEP], or what stands for them


class SpecialPieces(NamedTuple):
    """Ids of the pieces that frame every input, and of the one that fills it up."""

    first: int
    last: int
    padding: int


class PieceText(NamedTuple):
    """The word pieces of documents, one behind the other.

    ids (Ints): of all documents. Shape: (piece,)
    word (Ints): token of each piece in the concatenated documents. Shape: (piece,)
    piece_start, token_start (Ints): where each document begins, and behind the last
        one, where all end. Shape: (doc + 1,)
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
    """Concatenate what a tokenizer found.

    encodings (Sequence[Encoding]): `ids` and `word_ids` of each document.
    lengths (Sequence[int]): tokens per document.
    RETURNS (PieceText): one text of all documents.
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


class PieceBatch(NamedTuple):
    """Padded segments, and the pieces whose vectors are wanted.

    segment (Ints): index of each segment. Shape: (batch,)
    ids (Ints), mask (Bools): (batch, piece)
    row, column (Ints): where the wanted pieces stand. Shape: (wanted,)
    local (Ints): the token of each wanted piece, as a row of `token`. Shape: (wanted,)
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

    segments (Sequence[Segment]): what is encoded at once.
    max_pieces (int): bound of the padded pieces of a batch, with prompts.
    n_prompts (int): what will stand in front of each segment.
    YIELDS (PieceBatch): longest segments first.
    """
    columns = np.asarray(segments, dtype=np.int64).reshape(-1, 5)
    doc, sizes = columns[:, 0], columns[:, 2] - columns[:, 1]
    columns[:, 1:3] += text.piece_start[doc][:, None]
    columns[:, 3:] += text.token_start[doc][:, None]
    lengths = sizes + N_SPECIAL + n_prompts
    for group in batch_windows(lengths, max_pieces, power=1):
        yield _pad(group, columns[group, 1:], text, special)


def _pad(
    group: Ints, bounds: Ints, text: PieceText, special: SpecialPieces
) -> PieceBatch:
    """Put segments between special pieces, and find the pieces that they own.

    bounds (Ints): columns of `Segment` without the document, counted in all documents.
        Shape: (batch, 4)
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
    # The first special piece stands in front.
    return PieceBatch(group, ids, mask, row, column + 1, local, token)


def restore_order(batches: Sequence[PieceBatch]) -> Ints:
    """RETURNS (Ints): for each segment, its row in the concatenated batches."""
    return np.argsort(np.concatenate([batch.segment for batch in batches]))


def owner_of_tokens(segments: List[Segment]) -> Ints:
    """RETURNS (Ints): the segment that owns each token of all documents. (token,)"""
    sizes = [segment.end - segment.start for segment in segments]
    return np.repeat(np.arange(len(segments)), sizes)

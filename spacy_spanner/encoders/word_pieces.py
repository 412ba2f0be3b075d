"""The word pieces of documents: splitting with a fast tokenizer, and joining."""

from typing import Any, List, NamedTuple, Sequence

import numpy as np

from ..errors import Errors
from ..spans.table import Ints

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
    frame = tokenizer._tokenizer.encode("").ids or existing
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
    return tokenizer._tokenizer.encode_batch(
        words, is_pretokenized=True, add_special_tokens=False
    )

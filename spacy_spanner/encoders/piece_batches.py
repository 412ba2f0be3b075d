"""Pad segments of word pieces to batches for a transformer, and map them to tokens.

Numpy only, without Python loops over pieces: they would take longer than a small
transformer on a GPU.
"""

from typing import Iterator, List, NamedTuple, Sequence

import numpy as np

from ..spans.table import Bools, Ints
from ..spans.windows import batch_windows
from .segments import Segment
from .word_pieces import PieceText, SpecialPieces

N_SPECIAL = 2  # [CLS] and [SEP], or their equivalents


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
    for group in batch_windows(lengths, max_pieces, power=1):
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

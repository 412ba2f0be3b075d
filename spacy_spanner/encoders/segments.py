"""Split documents into the segments that a transformer encodes. Numpy only.

A segment owns a run of tokens, whose vectors are taken from it. It may include more
pieces as context: neighbouring sentences or, where a sentence is too long for the
transformer, the overlap with the previous and next segment.
"""

from typing import List, NamedTuple, Optional, Sequence, Tuple

import numpy as np

from ..spans.table import Ints


class Segment(NamedTuple):
    """A run of pieces of one document, and the tokens that it owns.

    first, last (int): pieces that are encoded; `last` is exclusive.
    start, end (int): tokens that get their vectors from it; `end` is exclusive.
    """

    doc: int
    first: int
    last: int
    start: int
    end: int


def plan_segments(
    doc: int,
    words: Ints,
    n_tokens: int,
    sentence_starts: Optional[Sequence[int]],
    *,
    context: int,
    max_pieces: int,
) -> List[Segment]:
    """Split one document into segments; every token is owned exactly once.

    doc (int): index of the document.
    words (Ints): the token of each piece, ascending. Shape: (piece,)
    n_tokens (int): number of tokens in the document.
    sentence_starts (Optional[Sequence[int]]): first tokens of sentences, if known.
    context (int): neighbouring sentences on each side to include, if they fit.
    max_pieces (int): maximum number of pieces in a segment.
    RETURNS (List[Segment]): segments in the order of their tokens.
    """
    inner = [start for start in sentence_starts or () if 0 < start < n_tokens]
    bounds = [0, *inner, n_tokens]
    edges = np.searchsorted(words, bounds).tolist()  # pieces where sentences begin
    segments = []
    for index in range(len(bounds) - 1):
        start, end = bounds[index], bounds[index + 1]
        first, last = edges[index], edges[index + 1]
        if last - first > max_pieces:
            cuts = _stride(words, first, last, max_pieces)
            tokens = [start, *(int(words[own]) for _, _, own in cuts[1:]), end]
            for (left, right, _), *owned in zip(cuts, tokens, tokens[1:]):
                segments.append(Segment(doc, left, right, *owned))
        elif start < end:
            seen = _with_context(edges, index, context, max_pieces)
            segments.append(Segment(doc, *seen, start, end))
    return segments


def _with_context(
    edges: List[int], index: int, context: int, max_pieces: int
) -> Tuple[int, int]:
    """Extend a sentence by its neighbours, the nearest first, while they fit."""
    first, last = index, index + 1
    for _ in range(context):
        if first > 0 and edges[last] - edges[first - 1] <= max_pieces:
            first -= 1
        if last + 1 < len(edges) and edges[last + 1] - edges[first] <= max_pieces:
            last += 1
    return edges[first], edges[last]


def _stride(
    words: Ints, first: int, last: int, max_pieces: int
) -> List[Tuple[int, int, int]]:
    """Split a long sentence: the (first, last, first owned) pieces of each part.

    Parts overlap by half and own their middle, so that every piece has context. A token
    belongs to the part that owns its first piece.
    """
    step = max(max_pieces // 2, 1)
    cuts = []
    for left in range(first, last - max_pieces + step, step):
        left = min(left, last - max_pieces)
        owned = left if left == first else left + max_pieces // 4
        # Move on to the beginning of a token.
        while 0 < owned < last and words[owned] == words[owned - 1]:
            owned += 1
        cuts.append((left, left + max_pieces, owned))
    # Drop parts whose owned pieces all belong to a token of an earlier part, and keep
    # one of the parts whose first owned token is the same.
    useful = {cut[2]: cut for cut in cuts if cut[2] < min(last, cut[1])}
    return list(useful.values())

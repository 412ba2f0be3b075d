"""Texts of word pieces to the segments that a transformer sees at once. Numpy only.

A segment owns a run of tokens, whose vectors it delivers, and may see more around it:
neighbouring sentences as context, or, where a sentence is longer than the transformer
allows, the overlap with the segments before and behind.
"""

from typing import List, NamedTuple, Optional, Sequence, Tuple

import numpy as np

from ..spans.table import Ints


class Segment(NamedTuple):
    """A run of pieces of one document, and the run of its tokens that it delivers.

    first, last (int): pieces that the transformer sees; `last` is exclusive.
    start, end (int): tokens that get their vectors from here; `end` is exclusive.
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
    """Cut one document into segments; every token is owned exactly once.

    doc (int): index of the document.
    words (Ints): the token of each piece, ascending. Shape: (piece,)
    n_tokens (int): tokens of the document.
    sentence_starts (Optional[Sequence[int]]): first tokens of sentences, if known.
    context (int): sentences on each side that are seen too, as far as they fit.
    max_pieces (int): bound of a segment's pieces.
    RETURNS (List[Segment]): in the order of their tokens.
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
    """Widen a sentence by its neighbours, the nearest first, while they fit."""
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
    """Cut a long sentence: (first seen, last seen, first owned) pieces of each part.

    Parts overlap by half, and own the middle: every piece is seen with context. A token
    belongs to the part that owns its first piece.
    """
    step = max(max_pieces // 2, 1)
    cuts = []
    for left in range(first, last - max_pieces + step, step):
        left = min(left, last - max_pieces)
        owned = left if left == first else left + max_pieces // 4
        # Move on to where a token begins.
        while 0 < owned < last and words[owned] == words[owned - 1]:
            owned += 1
        cuts.append((left, left + max_pieces, owned))
    # A part all of whose own pieces belong to a token that began before is not needed;
    # of parts that begin to own at the same token, one is enough.
    useful = {cut[2]: cut for cut in cuts if cut[2] < min(last, cut[1])}
    return list(useful.values())

"""Plant errors of known kinds into annotation, to learn what errors look like."""

from typing import Dict, Iterable, List, Optional, Sequence

import numpy as np

from ..corpus.boundary_noise import boundary_moves
from ..evaluation.counts import Reading, SpanKey
from .evidence import Item

MISSING, SPURIOUS, LABEL = "missing", "spurious", "label"
BOUNDARY, INCONSISTENT = "boundary", "inconsistent"
# Errors of annotated spans that can be planted.
OF_GOLD = (SPURIOUS, LABEL, BOUNDARY)
# Errors of each kind to learn from; more take time and teach little.
N_PLANTED = 5_000
TRIES = 5


def plant(
    words: Sequence[Sequence[str]], readings: Sequence[Reading], *, seed: int = 0
) -> Dict[str, List[Item]]:
    """Make up to `N_PLANTED` errors of each kind; the annotation stays as it is.

    words (Sequence[Sequence[str]]): the tokens of each document.
    readings (Sequence[Reading]): the annotated spans.
    RETURNS (Dict[str, List[Item]]): by kind. Missing spans are annotated ones, taken
        for missing. Spurious spans lie anywhere outside of annotated spans, with label
        and length of some annotated one. Labels are replaced by any other, and one
        boundary is moved by a token.
    """
    rng = np.random.default_rng(seed)
    gold = annotated(readings)
    chosen = [gold[place] for place in rng.permutation(len(gold))[:N_PLANTED]]
    labels = sorted({item.span[2] for item in gold})
    taken = [reading.gold for reading in readings]
    relabelled = (_relabel(item, labels, rng) for item in chosen)
    moved = (_move(item, len(words[item.doc]), rng) for item in chosen)
    spurious = (_invent(words, taken, item.span, rng) for item in chosen)
    return {
        MISSING: chosen,
        SPURIOUS: [item for item in spurious if item],
        LABEL: _new(relabelled, taken),
        BOUNDARY: _new(moved, taken),
    }


def annotated(readings: Sequence[Reading]) -> List[Item]:
    """RETURNS (List[Item]): all annotated spans, in order."""
    return [
        Item(number, span, span)
        for number, reading in enumerate(readings)
        for span in sorted(reading.gold)
    ]


def _new(
    items: Iterable[Optional[Item]], taken: Sequence[Iterable[SpanKey]]
) -> List[Item]:
    """RETURNS (List[Item]): without spans that are annotated anyway."""
    return [item for item in items if item and item.span not in taken[item.doc]]


def _relabel(
    item: Item, labels: Sequence[str], rng: np.random.Generator
) -> Optional[Item]:
    start, end, label = item.span
    others = [other for other in labels if other != label]
    if not others:
        return None
    return item._replace(span=(start, end, others[rng.integers(len(others))]))


def _move(item: Item, n_tokens: int, rng: np.random.Generator) -> Optional[Item]:
    fitting = boundary_moves(item.span, 1, n_tokens)
    if not fitting:
        return None
    return item._replace(span=fitting[rng.integers(len(fitting))])


def _invent(
    words: Sequence[Sequence[str]],
    taken: Sequence[Iterable[SpanKey]],
    like: SpanKey,
    rng: np.random.Generator,
) -> Optional[Item]:
    """RETURNS (Optional[Item]): a span outside of all others; None if tries fail."""
    width = like[1] - like[0]
    for _ in range(TRIES):
        doc = int(rng.integers(len(words)))
        if width > len(words[doc]):
            continue
        start = int(rng.integers(len(words[doc]) - width + 1))
        end = start + width
        if not any(s < end and start < e for s, e, _ in taken[doc]):
            return Item(doc, (start, end, like[2]), None)
    return None

"""Training data whose boundaries are wrong, to measure what a model makes of them."""

from typing import Callable, Iterator, List, Set
from zlib import crc32

import numpy as np
from spacy.language import Language
from spacy.tokens import Span, SpanGroup
from spacy.training import Example
from spacy.util import registry

from ..evaluation.counts import SpanKey
from ..pipeline.annotations import annotated_spans, mark_if_unannotated
from ..settings import DEFAULT_SPANS_KEY, at_least, probability, require

Augmenter = Callable[[Language, Example], Iterator[Example]]


@registry.augmenters("spacy_spanner.boundary_noise.v1")
def make_boundary_noise(
    level: float = 0.1,
    distance: int = 1,
    spans_key: str = DEFAULT_SPANS_KEY,
    seed: int = 0,
) -> Augmenter:
    """Move one boundary of some gold spans, as annotators do who disagree.

    The same text always gets the same errors, so that every epoch learns from the same
    data. A span that cannot be moved, because it would be empty, leave the document or
    repeat another one, stays where it is.

    level (float): share of the spans that are moved.
    distance (int): by how many tokens at most.
    spans_key (str): the group with the gold; `doc.ents` where a document has none.
    seed (int): of the choice of spans and moves.
    RETURNS (Callable): the augmenter, for `[corpora.train.augmenter]`.
    RAISES (ValueError): SP002 for a value out of its limits.
    """
    require(probability, level=level)
    require(at_least(1), distance=distance)
    require(at_least(0), seed=seed)

    def augment(nlp: Language, example: Example) -> Iterator[Example]:
        """YIELDS (Example): the example, with errors on a copy of its reference."""
        annotated = annotated_spans(example.reference, spans_key)
        if annotated is None:
            yield example
            return
        rng = np.random.default_rng([seed, crc32(example.text.encode("utf8"))])
        reference = example.reference.copy()
        mark_if_unannotated(reference, spans_key)
        moved = move_boundaries(
            [(span.start, span.end, span.label_) for span in annotated],
            n_tokens=len(reference),
            level=level,
            distance=distance,
            rng=rng,
        )
        spans = [Span(reference, start, end, label) for start, end, label in moved]
        group = SpanGroup(reference, name=spans_key, spans=spans)
        reference.spans[spans_key] = group
        yield Example(example.predicted, reference)

    return augment


def move_boundaries(
    spans: List[SpanKey],
    *,
    n_tokens: int,
    level: float,
    distance: int,
    rng: np.random.Generator,
) -> List[SpanKey]:
    """Move one boundary of some spans.

    spans (List[SpanKey]): spans of a document, in any order.
    n_tokens (int): its length.
    level, distance: see `make_boundary_noise`.
    rng (Generator): source of the choices.
    RETURNS (List[SpanKey]): as many spans, in the same order.
    """
    taken: Set[SpanKey] = set(spans)
    result = []
    for span in spans:
        if rng.random() < level:
            fitting = sorted(set(boundary_moves(span, distance, n_tokens)) - taken)
            if fitting:
                span = fitting[rng.integers(len(fitting))]
                taken.add(span)
        result.append(span)
    return result


def boundary_moves(span: SpanKey, distance: int, n_tokens: int) -> List[SpanKey]:
    """RETURNS (List[SpanKey]): the span with one boundary moved by up to `distance`
    tokens, in all ways that leave it inside of the document.
    """
    start, end, label = span
    steps = [step for size in range(1, distance + 1) for step in (-size, size)]
    moved = [(start + step, end, label) for step in steps]
    moved += [(start, end + step, label) for step in steps]
    return [(s, e, name) for s, e, name in moved if 0 <= s < e <= n_tokens]

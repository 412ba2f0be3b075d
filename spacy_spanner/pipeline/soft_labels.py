"""Spans that are entities with a probability, as another model sees them.

`doc.spans["ents:soft"]` has the spans, and `attrs["scores"]` of the group their
probabilities, where "ents" is the key of the entities. A span without a score is
certain.

Each time that a component learns from a document, it takes each of these spans for an
entity as often as its probability says. So on average, every model learns the
probabilities, whatever its targets look like.
"""

from typing import List, Set

import numpy as np
from spacy.tokens import Doc, Span

from .span_scores import scores_of

SOFT = ":soft"
# From this probability on, a span is more likely an entity than none.
LIKELY = 0.5


def has_soft_labels(doc: Doc, key: str) -> bool:
    """RETURNS (bool): whether a document has this group."""
    return key + SOFT in doc.spans


def labels_of_soft(doc: Doc, key: str) -> Set[str]:
    """RETURNS (Set[str]): the labels of all spans of the group."""
    spans = doc.spans[key + SOFT] if has_soft_labels(doc, key) else ()
    return {span.label_ for span in spans if span.label_}


def likely_spans(doc: Doc, key: str) -> List[Span]:
    """RETURNS (List[Span]): the spans that are more likely entities than none."""
    chances = _chances(doc, key)
    return [s for s, chance in zip(doc.spans[key + SOFT], chances) if chance >= LIKELY]


def drawn_spans(doc: Doc, key: str, rng: np.random.Generator) -> List[Span]:
    """RETURNS (List[Span]): each span of the group with its probability."""
    chances = _chances(doc, key)
    drawn = rng.random(len(chances)) < np.asarray(chances)
    return [span for span, taken in zip(doc.spans[key + SOFT], drawn) if taken]


def _chances(doc: Doc, key: str) -> List[float]:
    scores = scores_of(doc, key + SOFT)
    return [1.0 if score is None else score for score in scores]

"""Spans that are entities with a probability, as another model sees them.

`doc.spans["ents:soft"]` has the spans, and `attrs["scores"]` of the group their
probabilities, where "ents" is the key of the entities. `attrs["labels"]` may list the
labels that are known about; nothing is known about others.

Each time that a component learns from a document, it takes each of these spans for an
entity as often as its probability says. So on average, every model learns the
probabilities, whatever its targets look like.
"""

from typing import Any, Dict, List, Set

import numpy as np
from spacy.tokens import Doc, Span

from ..errors import Errors
from ..spans.table import Bools, Floats, Ints, SpanTable
from .span_scores import scores_of

SOFT = ":soft"
LABELS = "labels"  # in the attributes of the group
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
    return _taken(doc, key, _chances(doc, key) >= LIKELY)


def drawn_spans(doc: Doc, key: str, rng: np.random.Generator) -> List[Span]:
    """RETURNS (List[Span]): each span of the group with its probability; see `draw`."""
    places = [(span.start, span.end) for span in doc.spans[key + SOFT]]
    starts, ends = np.asarray(places, dtype=np.int64).reshape(-1, 2).T
    return _taken(doc, key, draw(starts, ends, _chances(doc, key), rng))


def draw(starts: Ints, ends: Ints, chances: Floats, rng: np.random.Generator) -> Bools:
    """Take each span with its probability.

    Of labels of one span whose probabilities are at most 1 together, at most one is
    taken: a model that gives a span one label could learn only one.

    starts, ends (Ints): boundaries of the spans. Shape: (span,)
    chances (Floats): their probabilities. Shape: (span,)
    RETURNS (Bools): those that are taken. Shape: (span,)
    """
    alone = rng.random(len(chances)) < chances
    places, place = np.unique(np.stack([starts, ends]), axis=1, return_inverse=True)
    place = place.reshape(-1)
    totals = np.bincount(place, weights=chances, minlength=places.shape[1])
    several = np.bincount(place, minlength=places.shape[1]) > 1
    one_of_them = (several & (totals <= 1 + 1e-6))[place]
    if not one_of_them.any():
        return alone
    # Each label has its part of the line from 0 to 1, on which one point is drawn.
    order = np.argsort(place, kind="stable")
    before = np.cumsum(chances[order], dtype=np.float64) - chances[order]
    first = np.searchsorted(place[order], place[order])
    low = np.empty(len(chances))
    low[order] = before - before[first]
    points: Any = rng.random(places.shape[1])
    point = points[place]
    return np.where(one_of_them, (low <= point) & (point < low + chances), alone)


def unknown_labels(
    doc: Doc, key: str, label_ids: Dict[str, int], n_tokens: int
) -> SpanTable:
    """RETURNS (SpanTable): a region of all tokens for each label that the soft labels
        of a document say nothing about.

    label_ids (Dict[str, int]): the labels of the component.
    """
    attrs = doc.spans[key + SOFT].attrs if has_soft_labels(doc, key) else {}
    known = attrs.get(LABELS)
    if known is None or not n_tokens:
        return SpanTable.empty()
    unknown = [place for name, place in label_ids.items() if name not in known]
    return SpanTable.of([(0, n_tokens, place, 1.0) for place in unknown])


def _taken(doc: Doc, key: str, taken: Bools) -> List[Span]:
    return [span for span, is_one in zip(doc.spans[key + SOFT], taken) if is_one]


def _chances(doc: Doc, key: str) -> Floats:
    """RETURNS (Floats): the probability of each span. Shape: (span,)
    RAISES (ValueError): SP255 if there is not one for each.
    """
    group = doc.spans[key + SOFT]
    try:
        chances = np.asarray(scores_of(doc, key + SOFT), dtype=np.float32)
    except (TypeError, ValueError):
        chances = np.full(len(group), np.nan, dtype=np.float32)
    listed = group.attrs.get("scores")
    fits = listed is None or len(listed) == len(group)
    if not fits or not np.all((chances >= 0) & (chances <= 1)):
        message = Errors.SP255.format(key=key + SOFT, spans=len(group), text=doc[:8])
        raise ValueError(message)
    return chances

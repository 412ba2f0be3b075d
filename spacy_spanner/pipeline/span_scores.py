"""The scores of predicted spans, wherever the spans have gone since.

`attrs["scores"]` of a span group is a list in the order of the spans, as `spancat`
writes it. It no longer fits when another component adds spans, and `Doc.from_docs` and
`Doc.to_json` drop it. So the scores are stored by span, too: in `doc.user_data`, under
a key that spaCy moves with the text of the span.
"""

from collections import defaultdict
from typing import Any, Dict, Iterable, List, Mapping, Optional, Sequence, Tuple, cast

import numpy as np
from spacy.tokens import Doc, Span, SpanGroup

from ..settings import DEFAULT_SPANS_KEY

SCORES = "scores"  # in the attributes of groups
# In `doc.user_data`: the scores of a span by group and label.
BY_GROUP = "scores_by_group"

Place = Tuple[str, str, int, int]
Scores = List[Optional[float]]


def scores_of(doc: Doc, key: str = DEFAULT_SPANS_KEY) -> Scores:
    """Find the score of each span of a group.

    doc (Doc): the document.
    key (str): the group, written by a component of this package or by spancat. Other
        components may have added or removed spans.
    RETURNS (List[Optional[float]]): the scores in the order of the group; None for
        spans without a score.

    >>> doc = spacy.load("model")("The mayor of Boston met Ana Ruiz.")
    >>> [score > 0.5 for score in scores_of(doc, "ents")]
    [True, True, True]
    """
    if key not in doc.spans:
        return []
    group = doc.spans[key]
    listed: Scores = [float(score) for score in _listed(group)]
    if len(listed) == len(group):
        return listed
    stored = [_stored(span).get(key, {}).get(span.label_) for span in group]
    if len(listed) < len(group) and all(score is None for score in stored):
        return listed + [None] * (len(group) - len(listed))
    return stored


def is_below(score: float, threshold: float) -> bool:
    """Compare a score with a threshold as prediction does, in float32: the score of a
    span that just reaches 0.35 is 0.3499999940395355 as a float.

    RETURNS (bool): whether the score does not reach the threshold.
    """
    return bool(np.float32(score) < np.float32(threshold))


def score_of(span: Span) -> Optional[float]:
    """Find the score of a span, as `span._.score`. Where it is in several groups with
    different scores, this is the highest.

    RETURNS (Optional[float]): None for a span without a score.
    """
    doc, wanted = span.doc, _identity(span)
    found = [
        score
        for key, group in doc.spans.items()
        for one, score in zip(group, scores_of(doc, key))
        if score is not None and _identity(one) == wanted
    ]
    # `doc.ents` keep their scores without the groups.
    label, by_group = span.label_, _stored(span).values()
    stored = [by_label[label] for by_label in by_group if label in by_label]
    return max(found or stored, default=None)


def write_scores(doc: Doc, key: str, scores: Sequence[Optional[float]]) -> None:
    """Store the scores of a group by span, and in its attributes if all spans have one.

    scores (Sequence[Optional[float]]): in the order of the group.
    """
    group, user_data = doc.spans[key], cast(Dict[Any, Any], doc.user_data)
    if None not in scores:
        group.attrs[SCORES] = np.asarray(scores, dtype=np.float32)
    fresh: Dict[Place, Dict[str, float]] = defaultdict(dict)
    for span, score in zip(group, scores):
        if score is not None:
            fresh[_place(span)][span.label_] = score
    for place in {*filter(_is_place, user_data), *fresh}:
        # New mappings: documents that spaCy has made from this one share the old ones.
        groups = {k: v for k, v in user_data.pop(place, {}).items() if k != key}
        if place in fresh:
            groups[key] = fresh[place]
        if groups:
            user_data[place] = groups


def register_scores() -> None:
    """Register `span._.score`, and `doc._.span_scores` for `Doc.to_json`, unless
    somebody else has registered these names.
    """
    if not Span.has_extension("score"):
        Span.set_extension("score", getter=score_of)
    if not Doc.has_extension("span_scores"):
        Doc.set_extension("span_scores", getter=_all_scores, setter=_set_all_scores)


def _all_scores(doc: Doc) -> Dict[str, Scores]:
    found = {key: scores_of(doc, key) for key in doc.spans}
    return {key: s for key, s in found.items() if any(x is not None for x in s)}


def _set_all_scores(doc: Doc, scores: Mapping[str, Scores]) -> None:
    for key, values in scores.items():
        write_scores(doc, key, values)


def _listed(group: SpanGroup) -> Iterable[Any]:
    listed = group.attrs.get(SCORES)
    return () if listed is None else listed


def _stored(span: Span) -> Mapping[str, Mapping[str, float]]:
    """RETURNS (Mapping[str, Mapping[str, float]]): scores by group and label."""
    user_data: Dict[Any, Any] = span.doc.user_data
    stored: Mapping[str, Mapping[str, float]] = user_data.get(_place(span), {})
    return stored


def _place(span: Span) -> Place:
    """RETURNS (Place): the key under which spaCy stores the attributes of a span."""
    return "._.", BY_GROUP, span.start_char, span.end_char


def _is_place(key: Any) -> bool:
    return isinstance(key, tuple) and key[:2] == ("._.", BY_GROUP)


def _identity(span: Span) -> Tuple[int, int, int]:
    return span.start, span.end, span.label

"""Rank annotated spans, and spans that may be missing, by how likely they are wrong.

Annotation does not mark its own errors. So errors of each kind are planted, and a
logistic regression learns to tell them from the annotation, by the numbers of
`evidence.py`: scores of a model that has not seen the document, how the same text is
labelled elsewhere, and which words usually begin, end and surround spans. Planting does
not change these scores, so nothing is trained again. The odds of an error are then
scaled from the number of planted errors to an assumed share of errors.
"""

from typing import Dict, List, NamedTuple, Optional, Sequence, Tuple

import numpy as np

from ..evaluation.counts import Reading, SpanKey
from ..evaluation.matching import overlap_ratio
from .evidence import SAME_ENTITY, Alternatives, Evidence, Item
from .logistic import Columns, held_out_log_odds
from .occurrences import Elsewhere
from .planting import (
    BOUNDARY,
    INCONSISTENT,
    LABEL,
    MISSING,
    OF_GOLD,
    SPURIOUS,
    annotated,
    plant,
)

KINDS = {
    MISSING: "probably missing",
    SPURIOUS: "probably spurious",
    LABEL: "wrong label",
    BOUNDARY: "wrong boundary",
    INCONSISTENT: "inconsistent",
}
# Lowest scores of a span that may be missing, and of one that is proposed instead.
MIN_SCORE, MIN_PROPOSED = 0.02, 0.1
# Assumed share of errors of each kind. It scales suspicions, and hardly moves ranks.
SHARE = 0.0125
# Other occurrences that are enough to call a label inconsistent.
MIN_ELSEWHERE = 2


class Suspicion(NamedTuple):
    """A span that is probably wrong.

    kind (str): a key of `KINDS`.
    suspicion (float): the probability that it is wrong, if `SHARE` is right.
    doc (int): number of the document, from 0.
    gold (Optional[SpanKey]): the annotated span; None if it is missing.
    proposed (Optional[SpanKey]): what could replace it; None for spurious spans.
    gold_score, proposed_score (Optional[float]): scores of a model that has not seen
        the document; None without a span.
    elsewhere (Elsewhere): how other occurrences of the text are labelled.
    """

    kind: str
    suspicion: float
    doc: int
    gold: Optional[SpanKey]
    proposed: Optional[SpanKey]
    gold_score: Optional[float]
    proposed_score: Optional[float]
    elsewhere: Elsewhere

    @property
    def span(self) -> SpanKey:
        """The span that it is about."""
        return self.gold or self.proposed or (0, 0, "")


def rank_suspicions(
    words: Sequence[Sequence[str]], readings: Sequence[Reading], *, seed: int = 0
) -> List[Suspicion]:
    """Rank all annotated spans, and all spans that may be missing.

    words (Sequence[Sequence[str]]): the tokens of each document.
    readings (Sequence[Reading]): annotated spans, and spans that were predicted with a
        low threshold by a model that has not seen the document, with all overlaps.
    seed (int): seed of the planted errors.
    RETURNS (List[Suspicion]): the most suspicious first.
    """
    planted = plant(words, readings, seed=seed)
    gold = annotated(readings)
    absent = [
        Item(number, span, None)
        for number, reading in enumerate(readings)
        for span in absences(reading)
    ]
    every = [*gold, *absent, *(item for items in planted.values() for item in items)]
    evidence = Evidence(words, readings, every)
    share = SHARE * len(gold)

    def odds(rows: Columns, wrong: Sequence[Item], n_planted: int) -> Columns:
        found = _odds_of_errors(rows, evidence.rows(wrong), seed)
        return found * share / max(n_planted, 1)

    rows = evidence.rows(gold)
    of_kind = [odds(rows, planted[kind], len(planted[kind])) for kind in OF_GOLD]
    found = [
        _of_gold(evidence, item, dict(zip(OF_GOLD, row)))
        for item, row in zip(gold, np.stack(of_kind, axis=1).tolist())
    ]
    noticed = [item for item in planted[MISSING] if _is_noticed(item, evidence)]
    missing = odds(evidence.rows(absent), noticed, len(planted[MISSING])).tolist()
    found += [_of_absent(evidence, *row) for row in zip(absent, missing)]
    return sorted(found, key=lambda one: (-one.suspicion, one.doc, one.span))


def absences(reading: Reading) -> List[SpanKey]:
    """RETURNS (List[SpanKey]): the candidates that may be missing: not annotated, no
    other version of an annotated span, and the best of those that nearly agree.
    """
    kept: List[SpanKey] = []
    scored = {span: score or 0.0 for span, score in reading.predicted.items()}
    for span in sorted(scored, key=lambda one: (-scored[one], one)):
        if scored[span] < MIN_SCORE:
            break
        if not any(_same_entity(span, one) for one in (*reading.gold, *kept)):
            kept.append(span)
    return sorted(kept)


def _is_noticed(item: Item, evidence: Evidence) -> bool:
    """RETURNS (bool): whether an annotated span would be a candidate without its
    annotation. Looks at its surroundings only, unlike `absences`.
    """
    scores = evidence.scores[item.doc]
    score = scores.of(item.span)
    better = [one for one in scores.overlapping(item.span) if scores.of(one) > score]
    others = (*better, *(evidence.gold[item.doc] - {item.own}))
    versions = any(_same_entity(item.span, one) for one in others)
    return score >= MIN_SCORE and not versions


def _same_entity(one: SpanKey, other: SpanKey) -> bool:
    """RETURNS (bool): whether two spans are versions of each other."""
    close = one[2] == other[2] and overlap_ratio(one, other) >= SAME_ENTITY
    return close or one[:2] == other[:2]


def _of_gold(evidence: Evidence, item: Item, odds: Dict[str, float]) -> Suspicion:
    """RETURNS (Suspicion): of an annotated span, with the likeliest kind of error."""
    total = sum(odds.values())
    elsewhere = evidence.occurrences.elsewhere(item.doc, item.span)
    usual = _usual_label(elsewhere, item.span)
    kind, proposed = _likeliest(evidence.alternatives(item), odds)
    if proposed is None and usual is not None:
        kind, proposed = LABEL, (*item.span[:2], usual)
    if kind == LABEL and proposed is not None and proposed[2] == usual:
        kind = INCONSISTENT
    scores = evidence.scores[item.doc]
    return Suspicion(
        kind,
        total / (1 + total),
        item.doc,
        item.span,
        proposed,
        scores.of(item.span),
        None if proposed is None else scores.of(proposed),
        elsewhere,
    )


def _likeliest(
    found: Alternatives, odds: Dict[str, float]
) -> Tuple[str, Optional[SpanKey]]:
    """RETURNS (Tuple[str, Optional[SpanKey]]): the likeliest kind of error, and what
    could replace the span. A kind counts by its odds, and by the score of what could
    replace the span; nothing counts by what is left of the best score.
    """
    proposals = {LABEL: found.relabelled, BOUNDARY: found.moved}
    usable = {kind: one for kind, one in proposals.items() if one[0] >= MIN_PROPOSED}
    best = max((score for score, _ in usable.values()), default=0.0)
    weights = {kind: odds[kind] * score for kind, (score, _) in usable.items()}
    weights[SPURIOUS] = odds[SPURIOUS] * (1 - best)
    kind = max(weights, key=lambda name: weights[name])
    return kind, usable[kind][1] if kind in usable else None


def _usual_label(elsewhere: Elsewhere, span: SpanKey) -> Optional[str]:
    """RETURNS (Optional[str]): the label of most other occurrences of the text, if it
    is not that of the span.
    """
    labels = elsewhere.labels
    usual = max(labels, key=lambda one: labels[one], default=span[2])
    often = labels.get(usual, 0)
    return usual if often >= MIN_ELSEWHERE and often > labels.get(span[2], 0) else None


def _of_absent(evidence: Evidence, item: Item, odds: float) -> Suspicion:
    """RETURNS (Suspicion): the suspicion that a span is missing."""
    doc, span, _ = item
    elsewhere = evidence.occurrences.elsewhere(doc, span)
    score = evidence.scores[doc].of(span)
    share = odds / (1 + odds)
    return Suspicion(MISSING, share, doc, None, span, None, score, elsewhere)


def _odds_of_errors(rows: Columns, planted: Columns, seed: int) -> Columns:
    """Learn to tell planted errors from annotation, and predict the annotation.

    rows, planted (Columns): features of both. Shape: (item, feature)
    RETURNS (Columns): the odds of items to be errors rather than correct, if there were
        as many errors as planted ones; 0 if none were planted. (item,)
    """
    if not len(rows) or not len(planted):
        return np.zeros(len(rows))
    every = np.concatenate([rows, planted])
    wrong = np.arange(len(every)) >= len(rows)
    return np.exp(held_out_log_odds(every, wrong, seed=seed)[: len(rows)])

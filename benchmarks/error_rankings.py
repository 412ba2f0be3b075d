"""Rankings of suspicious annotation to compare: by the command, by the loss alone, and
by cleanlab's method for tokens.

cleanlab judges one label for each token. So it sees the outermost entities only, and a
token that it suspects stands for the annotated span around it or, without one, for the
entity that is predicted there.
"""

import random
from importlib.util import find_spec
from itertools import groupby
from typing import Any, Dict, List, NamedTuple, Optional, Sequence, Tuple

import numpy as np
from numpy.typing import NDArray

from spacy_spanner.evaluation.counts import Reading, SpanKey
from spacy_spanner.review.suspicions import absences, rank_suspicions

Floats = NDArray[np.floating]


class Ranked(NamedTuple):
    """A place of a ranking: an annotated span, and what is proposed instead."""

    doc: int
    gold: Optional[SpanKey]
    proposed: Optional[SpanKey]


class Held(NamedTuple):
    """Annotation and held-out predictions of a corpus.

    words (Sequence[Sequence[str]]): the tokens of each document.
    readings (Sequence[Reading]): gold spans and candidates.
    taggings (Sequence[Floats]): the probabilities of a tagger. Shape: (token, class)
    seed (int): random seed.
    """

    words: Sequence[Sequence[str]]
    readings: Sequence[Reading]
    taggings: Sequence[Floats]
    seed: int


def by_suspicion(held: Held) -> List[Ranked]:
    """RETURNS (List[Ranked]): as `spanner find-errors` ranks."""
    ranked = rank_suspicions(held.words, held.readings, seed=held.seed)
    return [Ranked(one.doc, one.gold, one.proposed) for one in ranked]


def by_loss(held: Held) -> List[Ranked]:
    """RETURNS (List[Ranked]): by the scores alone: low ones of annotated spans, high
    ones of others.
    """
    rows = []
    for doc, reading in enumerate(held.readings):
        for span in reading.gold:
            score = reading.predicted.get(span) or 0.0
            rows.append((1 - score, Ranked(doc, span, None)))
        for span in absences(reading):
            rows.append((reading.predicted[span] or 0.0, Ranked(doc, None, span)))
    random.Random(held.seed).shuffle(rows)  # ties
    return [place for _, place in sorted(rows, key=lambda row: -row[0])]


def cleanlab_with_tagger(held: Held) -> List[Ranked]:
    """RETURNS (List[Ranked]): by cleanlab, with the probabilities of a tagger."""
    return by_tokens(held, held.taggings)


def cleanlab_with_spans(held: Held) -> List[Ranked]:
    """RETURNS (List[Ranked]): by cleanlab, with the scores of the spans: the class of a
    token has the score of its best candidate.
    """
    labels = class_names(held.readings)
    return by_tokens(
        held,
        [
            token_scores(reading, len(words), labels)
            for words, reading in zip(held.words, held.readings)
        ],
    )


def class_names(readings: Sequence[Reading]) -> List[str]:
    """RETURNS (List[str]): the labels of gold; the class of a token outside is 0."""
    return ["", *sorted({span[2] for reading in readings for span in reading.gold})]


def outermost(gold: Sequence[SpanKey], n_tokens: int) -> List[Optional[SpanKey]]:
    """RETURNS (List[Optional[SpanKey]]): the widest span around each token."""
    found: List[Optional[SpanKey]] = [None] * n_tokens
    for span in sorted(gold, key=lambda one: (one[1] - one[0], one)):
        found[span[0] : span[1]] = [span] * (span[1] - span[0])
    return found


def token_scores(reading: Reading, n_tokens: int, labels: Sequence[str]) -> Floats:
    """RETURNS (Floats): probabilities of the classes. Shape: (token, class)"""
    scores = np.zeros((n_tokens, len(labels)))
    for (start, end, label), score in reading.predicted.items():
        column = scores[start:end, labels.index(label)]
        np.maximum(column, score or 0.0, out=column)
    scores[:, 0] = np.maximum(1 - scores.max(axis=1), 1e-6)
    return scores / scores.sum(axis=1, keepdims=True)


def by_tokens(held: Held, probabilities: Sequence[Floats]) -> List[Ranked]:
    """RETURNS (List[Ranked]): the spans of the tokens that cleanlab suspects, each at
    its first token; then those of all other tokens, by cleanlab's score.
    """
    from cleanlab.token_classification.filter import find_label_issues
    from cleanlab.token_classification.rank import get_label_quality_scores

    labels = class_names(held.readings)
    covers = [
        outermost(list(reading.gold), len(words))
        for words, reading in zip(held.words, held.readings)
    ]
    given = [[labels.index(s[2]) if s else 0 for s in cover] for cover in covers]
    rows = [np.asarray(one) for one in probabilities]
    issues = find_label_issues(given, rows, n_jobs=1)
    _, scores = get_label_quality_scores(given, rows)
    others = sorted(
        (float(score), doc, token)
        for doc, column in enumerate(scores)
        for token, score in enumerate(column)
    )
    found: Dict[Ranked, None] = {}
    for doc, token in [*issues, *((doc, token) for _, doc, token in others)]:
        gold = covers[doc][token]
        proposed = entity_at(rows[doc], token, labels)
        if gold is not None:
            found[Ranked(doc, gold, None)] = None
        elif proposed is not None:
            found[Ranked(doc, None, proposed)] = None
    return list(found)


def entity_at(rows: Floats, token: int, labels: Sequence[str]) -> Optional[SpanKey]:
    """RETURNS (Optional[SpanKey]): the tokens around one that have the same likeliest
    class; None outside of entities.
    """
    start = 0
    for number, run in groupby(rows.argmax(axis=1).tolist()):
        end = start + len(list(run))
        if start <= token < end:
            return (start, end, labels[number]) if number else None
        start = end
    return None


def rankings() -> List[Tuple[str, Any]]:
    """RETURNS (List[Tuple[str, Any]]): names and functions; cleanlab's only if it is
    installed.
    """
    found: List[Tuple[str, Any]] = [
        ("find-errors", by_suspicion),
        ("loss alone", by_loss),
    ]
    if find_spec("cleanlab") is not None:
        found.append(("cleanlab, tagger", cleanlab_with_tagger))
        found.append(("cleanlab, span scores", cleanlab_with_spans))
    return found

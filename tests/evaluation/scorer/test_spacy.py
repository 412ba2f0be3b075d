"""The scores of spaCy are among those of the scorer."""

import numpy as np
from spacy.scorer import Scorer

from spacy_spanner.evaluation.scorer import make_spans_scorer, score_spans

from .helpers import GOLD, PREDICTED, example_of


def test_scorer_equals_spacy() -> None:
    rng = np.random.default_rng(0)
    examples = []
    for _ in range(20):
        pools = rng.integers(0, 8, size=(2, 5, 3))
        spans = [
            {(min(a, b), max(a, b) + 1, "AB"[c % 2]) for a, b, c in pool.tolist()}
            for pool in pools
        ]
        examples.append(example_of(*map(sorted, spans)))
    expected = Scorer.score_spans(
        examples,
        "spans_ents",
        getter=lambda doc, _: doc.spans["ents"],
        has_annotation=lambda doc: "ents" in doc.spans,
        allow_overlap=True,
    )
    found = score_spans(examples)
    assert 0 < expected["spans_ents_f"] < 1
    assert {name: found[name] for name in expected} == expected


def test_scorer_registered_is_the_function() -> None:
    examples = [example_of(PREDICTED, GOLD)]
    scores = make_spans_scorer()(examples, spans_key="ents", threshold=0.5)
    assert scores == score_spans(examples)

"""Spans below a threshold are dropped, of all labels or of one."""

from pathlib import Path

from spacy.cli.find_threshold import find_threshold
from spacy.language import Language
from spacy.tokens import DocBin

from ...helpers import (
    NESTED,
    assert_same_predictions,
    make_examples,
    scored_spans,
    spans_of,
)
from .helpers import COURT, with_settings


def test_threshold_keeps_above_and_drops_below(own_nlp: Language) -> None:
    # Not at the score itself: a model that computes fewer spans rounds differently.
    whole = own_nlp(COURT)
    found = scored_spans(whole)
    assert len(found) == 3
    lowest = min(span[3] for span in found)
    with_settings(own_nlp, threshold=lowest - 1e-5)
    assert_same_predictions([own_nlp(COURT)], [whole])
    with_settings(own_nlp, threshold=lowest + 1e-5)
    expected = [span[:3] for span in found if span[3] > lowest]
    assert spans_of(own_nlp(COURT)) == expected


def test_threshold_1_drops_what_is_not_certain(own_nlp: Language) -> None:
    with_settings(own_nlp, threshold=1.0)
    assert spans_of(own_nlp(COURT)) == []


def test_threshold_0_gives_more_spans(own_nlp: Language) -> None:
    with_settings(own_nlp, threshold=0.0, overlap="any")
    # Proposals of some models agree on what there is.
    assert len(own_nlp(COURT).spans["ents"]) >= 3


def test_label_thresholds_raise_one_label(own_nlp: Language) -> None:
    with_settings(own_nlp, label_thresholds={"GPE": 1.0})
    assert spans_of(own_nlp(COURT)) == [(0, 4, "ORG")]


def test_label_thresholds_lower_one_label(own_nlp: Language) -> None:
    with_settings(own_nlp, threshold=1.0, label_thresholds={"GPE": 0.3})
    assert spans_of(own_nlp(COURT)) == [(1, 2, "GPE"), (8, 10, "GPE")]


def test_threshold_found_by_spacy_command(
    nlp: Language, factory: str, tmp_path: Path
) -> None:
    nlp.to_disk(tmp_path / "model")
    docs = [example.reference for example in make_examples(nlp, NESTED)]
    DocBin(docs=docs).to_disk(tmp_path / "dev.spacy")
    best, score, by_threshold = find_threshold(
        tmp_path / "model",
        tmp_path / "dev.spacy",
        pipe_name=factory,
        threshold_key="threshold",
        scores_key="spans_ents_f",
        n_trials=3,
        silent=True,
    )
    assert (best, score) == (0.5, 1.0)
    assert by_threshold[1.0] == 0.0

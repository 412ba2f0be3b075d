"""The component `span_ensemble`: members, settings and tuning."""

from pathlib import Path
from typing import Any, Dict, List

import pytest
import spacy
from scipy.special import expit, logit
from spacy.language import Language
from spacy.tokens import Doc, DocBin, Span
from spacy.training import Example

from spacy_spanner.corpus.copied_groups import make_copy_spans
from spacy_spanner.evaluation.predicting import find_source
from spacy_spanner.evaluation.tuning import tune
from spacy_spanner.pipeline.ensemble import SpanEnsemble

from ..helpers import (
    NESTED,
    annotate,
    blank_pipeline,
    make_examples,
    scored_spans,
    spans_of,
    train,
)

TEXT = "Ana Ruiz met Leon County voters ."
GOLD = [(0, 2, "PER"), (3, 5, "GPE")]
SURE = [[0, 2, "PER", 0.9], [3, 5, "GPE", 0.8]]
UNSURE = [[0, 2, "PER", 0.5], [3, 4, "PER", 0.7]]


class ScoredWriter:
    """Writes the same scored spans to every document, or spans without scores."""

    def __init__(self, name: str, spans_key: str, rows: List[list]) -> None:
        self.cfg = {"spans_key": spans_key}
        self.rows = rows

    def __call__(self, doc: Doc) -> Doc:
        key = self.cfg["spans_key"]
        rows = self.rows if len(doc) else []
        doc.spans[key] = [Span(doc, s, e, label=label) for s, e, label, *_ in rows]
        scores = [score for *_, score in rows if isinstance(score, float)]
        if scores:
            doc.spans[key].attrs["scores"] = scores
        return doc


@Language.factory("scored_writer")
def make_writer(
    nlp: Language, name: str, spans_key: str, rows: List[list]
) -> ScoredWriter:
    return ScoredWriter(name, spans_key, rows)


def members(**rows: List[list]) -> Language:
    """A pipeline of components that write to groups of their names."""
    nlp = spacy.blank("en")
    for name, written in rows.items():
        config = {"spans_key": name, "rows": written}
        nlp.add_pipe("scored_writer", name=name, config=config)
    return nlp


def joined(nlp: Language, *names: str, **settings: Any) -> Any:
    config = {"members": list(names), **settings}
    return nlp.add_pipe("span_ensemble", config=config)


def pipeline(**settings: Any) -> Language:
    nlp = members(one=SURE, two=UNSURE)
    joined(nlp, "one", "two", **settings)
    return nlp


def approx(rows: Any) -> list:
    return [(*row[:3], pytest.approx(row[3], abs=1e-5)) for row in rows]


def test_scores_are_averaged_and_missing_spans_count_as_0() -> None:
    doc = pipeline()(TEXT)
    rows = [(0, 2, "PER", 0.7), (3, 5, "GPE", 0.4), (3, 4, "PER", 0.35)]
    assert scored_spans(doc) == approx(rows)
    assert spans_of(doc, "two") == [(0, 2, "PER"), (3, 4, "PER")]


def test_weights_thresholds_and_overlap_decide() -> None:
    doc = pipeline(weights=[1.0, 3.0], threshold=0.2)(TEXT)
    rows = [(0, 2, "PER", 0.6), (3, 5, "GPE", 0.2), (3, 4, "PER", 0.525)]
    assert scored_spans(doc) == approx(rows)
    doc = pipeline(overlap="flat", label_thresholds={"PER": 0.8})(TEXT)
    assert scored_spans(doc) == approx([(3, 5, "GPE", 0.4)])


def test_calibrations_change_scores_before_and_after_the_average() -> None:
    first = pipeline(temperatures=[3.0, 1.0])(TEXT)
    lower = pipeline(temperatures=[3.0, 1.0], biases=[-1.0, 0.0])(TEXT)
    assert scored_spans(lower)[0][3] < scored_spans(first)[0][3] < 0.65
    last = pipeline(temperature=0.2, threshold=0.0)(TEXT)
    assert scored_spans(last)[0][3] > 0.95 and scored_spans(last)[-1][3] < 0.1
    plain, raised = (scored_spans(pipeline(bias=bias)(TEXT)) for bias in (0.0, 1.0))
    for (*_, before), (*_, after) in zip(plain, raised):
        assert after == pytest.approx(expit(logit(before) + 1), abs=1e-5)


def test_entities_and_groups_of_members_follow_the_settings() -> None:
    doc = pipeline(set_ents="longest", keep_members=False)(TEXT)
    assert [(e.start, e.end, e.label_) for e in doc.ents] == GOLD
    assert list(doc.spans) == ["ents"]


def test_texts_without_tokens_and_streams_are_read() -> None:
    docs = list(pipeline().pipe(["", TEXT]))
    assert [len(doc.spans["ents"]) for doc in docs] == [0, 3]


def test_members_may_be_span_groups() -> None:
    nlp = members(one=SURE, two=UNSURE)
    nlp.get_pipe("two").cfg["spans_key"] = "group"  # type: ignore[attr-defined]
    joined(nlp, "one", "group")
    assert len(nlp(TEXT).spans["ents"]) == 3
    nlp.initialize(lambda: [])


def test_spancat_is_a_member() -> None:
    nlp = spacy.blank("en")
    suggester = {"@misc": "spacy.ngram_suggester.v1", "sizes": [1, 2]}
    config = {"spans_key": "sc", "suggester": suggester, "threshold": 0.0}
    nlp.add_pipe("spancat", config=config)
    joined(nlp, "spancat", threshold=0.0, overlap="any")
    eg = Example(nlp.make_doc(TEXT), annotate(nlp.make_doc(TEXT), GOLD, "sc"))
    nlp.initialize(lambda: [eg])
    doc = nlp(TEXT)
    expected = [float(score) for score in doc.spans["sc"].attrs["scores"]]
    assert sorted(row[3] for row in scored_spans(doc)) == pytest.approx(
        sorted(expected), abs=1e-6
    )


def test_components_that_were_trained_separately_are_joined(tmp_path: Path) -> None:
    """As docs/ensemble.md says."""
    names = ["span_biaffine", "span_offset"]
    nlp = spacy.blank("en")
    for name in names:
        own = blank_pipeline(name)
        train(own, make_examples(own, NESTED), updates=1)
        own.to_disk(tmp_path / name)
        settings = {"spans_key": name, "threshold": 0.0, "overlap": "any"}
        changes = {"components": {name: settings}}
        nlp.add_pipe(name, source=spacy.load(tmp_path / name, config=changes))
    joined(nlp, *names, threshold=0.0, overlap="any")
    nlp.to_disk(tmp_path / "joined")
    loaded = spacy.load(tmp_path / "joined")
    for doc in (nlp(NESTED[0][0]), loaded(NESTED[0][0])):
        first, second = ({row[:3] for row in scored_spans(doc, n)} for n in names)
        assert first | second == {row[:3] for row in scored_spans(doc)}
        assert first and second
    assert scored_spans(nlp(NESTED[0][0])) == scored_spans(loaded(NESTED[0][0]))


# ------------------------------------------------------------------------- wrong use


def test_unknown_members_are_named() -> None:
    nlp = members(one=SURE)
    joined(nlp, "one", "three")
    with pytest.raises(ValueError, match=r"SP170.*'three'.*'one'"):
        nlp(TEXT)
    with pytest.raises(ValueError, match=r"SP170.*'three'.*'one'"):
        nlp.initialize(lambda: [])


def test_members_run_before_the_ensemble() -> None:
    nlp = members(one=SURE, two=UNSURE)
    nlp.add_pipe("span_ensemble", config={"members": ["one", "two"]}, before="two")
    with pytest.raises(ValueError, match=r"SP171.*'two'"):
        nlp.initialize(lambda: [])
    with pytest.raises(ValueError, match=r"SP170.*'two'"):
        nlp(TEXT)


def test_members_without_scores_are_refused() -> None:
    nlp = members(one=SURE, two=[[0, 1, "PER", ""]])
    joined(nlp, "one", "two")
    with pytest.raises(ValueError, match=r"SP172.*'two'"):
        nlp(TEXT)


@pytest.mark.parametrize(
    "settings, code",
    [
        ({"weights": [1.0]}, "SP173.*weights.*1 numbers for 2"),
        ({"temperatures": [1.0, 1.0, 1.0]}, "SP173.*temperatures"),
        ({"biases": [1.0]}, "SP173.*biases"),
        ({"weights": [0.0, 0.0]}, "SP002.*weights"),
        ({"weights": [-1.0, 1.0]}, "SP002.*weights"),
        ({"members": []}, "SP002.*members"),
        ({"members": ["one", "one"]}, "SP002.*members"),
        ({"spans_key": "two"}, "SP174.*'two'"),
    ],
)
def test_wrong_settings_are_refused(settings: Dict[str, Any], code: str) -> None:
    nlp = members(one=SURE, two=UNSURE)
    with pytest.raises(ValueError, match=code):
        nlp.add_pipe("span_ensemble", config={"members": ["one", "two"], **settings})


def test_members_that_leave_out_unlikely_spans_are_warned_of() -> None:
    nlp = pipeline()
    nlp.get_pipe("one").cfg["threshold"] = 0.5  # type: ignore[attr-defined]
    with pytest.warns(UserWarning, match=r"SW170.*'one'.*0\.5"):
        nlp.initialize(lambda: [])


# ------------------------------------------------------------------ evaluation, tuning


def test_result_of_the_pipeline_is_that_of_the_ensemble() -> None:
    nlp = pipeline()
    assert find_source(nlp).name == "span_ensemble"
    assert find_source(nlp, "two").name == "two"
    eg = Example(nlp.make_doc(TEXT), annotate(nlp.make_doc(TEXT), GOLD))
    scores = nlp.evaluate([eg])
    assert (scores["spans_ents_p"], scores["spans_ents_r"]) == (
        pytest.approx(2 / 3),
        1.0,
    )


def test_tune_fits_weights_and_a_threshold(tmp_path: Path) -> None:
    wrong = [[0, 1, "PER", 0.8], [5, 6, "GPE", 0.7], [3, 5, "GPE", 0.4]]
    nlp = members(knows=SURE, guesses=wrong)
    ensemble = joined(nlp, "knows", "guesses", keep_members=False)
    assert isinstance(ensemble, SpanEnsemble)
    docs = [annotate(nlp.make_doc(TEXT), GOLD) for _ in range(20)]
    DocBin(docs=docs).to_disk(tmp_path / "dev.spacy")
    result = tune(nlp, tmp_path / "dev.spacy")
    weights = result["settings"]["after"]["weights"]
    assert weights[0] > 0.9 and len(result["settings"]["after"]["temperatures"]) == 2
    assert result["scores"]["after"]["dev"]["f"] == 1.0
    assert ensemble.cfg["keep_members"] is False
    assert nlp.config["components"]["span_ensemble"]["weights"] == weights


def test_gold_is_copied_to_the_groups_of_the_members() -> None:
    nlp = spacy.blank("en")
    reference = annotate(nlp.make_doc(TEXT), GOLD)
    annotate(reference, [(5, 6, "")], "ents:incomplete")
    augment = make_copy_spans(["one", "two"])
    (found,) = augment(nlp, Example(nlp.make_doc(TEXT), reference))
    assert spans_of(found.reference, "two") == spans_of(found.reference, "ents") == GOLD
    assert spans_of(found.reference, "one:incomplete") == [(5, 6, "")]
    assert list(reference.spans) == ["ents", "ents:incomplete"]
    (same,) = augment(nlp, Example(nlp.make_doc(TEXT), nlp.make_doc(TEXT)))
    assert not same.reference.spans
    marked = annotate(nlp.make_doc(TEXT), [(5, 6, "")], "ents:not")
    (found,) = augment(nlp, Example(nlp.make_doc(TEXT), marked))
    everything = [(0, len(marked), "")]  # nothing is annotated but what is no entity
    assert spans_of(found.reference, "one:incomplete") == everything

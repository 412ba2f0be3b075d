"""Whose spans are evaluated, what is read, and what a lower threshold shows."""

from pathlib import Path
from typing import List

import pytest
import spacy
from spacy.language import Language
from spacy.tokens import DocBin

from spacy_spanner.evaluation.predicting import (
    find_source,
    lowered_threshold,
    predict,
    read_corpus,
    read_predictions,
)

from ..helpers import NESTED, Data, make_examples, trained_copy
from .test_counts import above


def write_corpus(folder: Path, nlp: Language, data: Data = NESTED) -> Path:
    """Write references with gold under "ents"."""
    path = folder / "data.spacy"
    docs = [example.reference for example in make_examples(nlp, data)]
    DocBin(docs=docs, store_user_data=True).to_disk(path)
    return path


def ruler(key: str = "ruler") -> Language:
    """Make a pipeline that writes spans without scores."""
    nlp = spacy.blank("en")
    pipe = nlp.add_pipe("span_ruler", config={"spans_key": key})
    pipe.add_patterns([{"label": "GPE", "pattern": "Boston"}])  # type: ignore
    return nlp


def test_source_is_found_whoever_writes_the_group() -> None:
    nlp = spacy.blank("en")
    nlp.add_pipe("spancat", config={"spans_key": "sc"})
    source = find_source(nlp)
    assert (source.key, source.name, source.threshold) == ("sc", "spancat", 0.5)
    source = find_source(ruler("found"))
    assert (source.key, source.name, source.threshold) == ("found", "span_ruler", None)
    own = spacy.blank("en")
    own.add_pipe("span_biaffine", name="mine", config={"spans_key": "x"})
    assert find_source(own)[:2] == ("x", "mine")


def test_source_of_several_groups_is_asked_for() -> None:
    nlp = ruler("one")
    nlp.add_pipe("spancat", config={"spans_key": "two"})
    with pytest.raises(ValueError, match=r"SP071.*'one', 'two'"):
        find_source(nlp)
    assert find_source(nlp, "one").name == "span_ruler"
    assert find_source(nlp, "three")[:2] == ("three", None)


def test_source_of_no_group_is_asked_for() -> None:
    with pytest.raises(ValueError, match=r"SP071.*no component.*none"):
        find_source(spacy.blank("en"))


def test_corpus_that_cannot_be_read(tmp_path: Path) -> None:
    nlp = spacy.blank("en")
    with pytest.raises(ValueError, match=r"SP072.*does not exist"):
        read_corpus(tmp_path / "no.spacy", nlp)
    with pytest.raises(ValueError, match=r"SP072.*no documents"):
        read_corpus(tmp_path, nlp)
    (tmp_path / "bad.spacy").write_bytes(b"no docs")
    with pytest.raises(ValueError, match=r"SP072.*binary format"):
        read_corpus(tmp_path / "bad.spacy", nlp)


def test_corpus_without_gold_names_what_there_is(tmp_path: Path) -> None:
    nlp = spacy.blank("en")
    path = write_corpus(tmp_path, nlp)
    with pytest.raises(ValueError, match=r"SP073.*'other'.*'ents'"):
        read_corpus(path, nlp, "other")
    assert len(read_corpus(path, nlp)) == 3  # the empty document is no document


def test_predict_leaves_the_examples_as_they_are(tmp_path: Path) -> None:
    nlp = ruler()
    examples = read_corpus(write_corpus(tmp_path, nlp), nlp)
    seen: List[str] = []

    def track(items, *, total, what):  # type: ignore
        seen.append(f"{what} {total}")
        yield from items

    found = predict(nlp, examples, track=track)
    assert seen == ["Predicting 3"]
    assert [str(eg.predicted.spans["ruler"]) for eg in found] != []
    assert not any("ruler" in example.predicted.spans for example in examples)


def test_lower_threshold_shows_more_and_is_put_back(tmp_path: Path) -> None:
    nlp = trained_copy("span_biaffine")
    pipe = nlp.get_pipe("span_biaffine")
    pipe.cfg.update(threshold=1.0, label_thresholds={"GPE": 0.9})
    examples = read_corpus(write_corpus(tmp_path, nlp), nlp)
    source = find_source(nlp)
    before = read_predictions(nlp, examples, "ents")
    with lowered_threshold(source, 0.001):
        lowered = read_predictions(nlp, examples, "ents")
    assert sum(len(r.predicted) for r in lowered) > sum(
        len(r.predicted) for r in before
    )
    assert pipe.cfg["threshold"] == 1.0
    assert pipe.cfg["label_thresholds"] == {"GPE": 0.9}
    assert read_predictions(nlp, examples, "ents") == before


def test_argmax_does_not_hide_unlikely_spans(tmp_path: Path) -> None:
    nlp = trained_copy("span_biaffine")
    nlp.get_pipe("span_biaffine").cfg["decision"] = "argmax"
    examples = read_corpus(write_corpus(tmp_path, nlp), nlp)
    source = find_source(nlp)
    counts = []
    for keep_all in (False, True):
        with lowered_threshold(source, 0.001, keep_all=keep_all):
            found = read_predictions(nlp, examples, "ents")
            counts.append(sum(len(reading.predicted) for reading in found))
    assert counts[1] > counts[0] > 0
    assert nlp.get_pipe("span_biaffine").cfg["decision"] == "argmax"


def test_filtered_low_prediction_equals_prediction(tmp_path: Path) -> None:
    nlp = trained_copy("span_biaffine")
    examples = read_corpus(write_corpus(tmp_path, nlp), nlp)
    source = find_source(nlp)
    with lowered_threshold(source, 0.001):
        low = read_predictions(nlp, examples, "ents")
    for threshold in (0.01, 0.3, 0.9):
        with lowered_threshold(source, threshold):
            expected = read_predictions(nlp, examples, "ents")
        found = [above(reading, threshold) for reading in low]
        assert [set(r.predicted) for r in found] == [set(r.predicted) for r in expected]

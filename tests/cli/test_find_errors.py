"""The command `spanner find-errors`."""

import json
import shutil
import warnings
from pathlib import Path
from typing import Any

import pytest
import spacy
import srsly
from spacy.tokens import DocBin

from spacy_spanner.corpus.tasks import TOOLS

from ..evaluation.test_predicting import ruler, write_corpus
from ..helpers import NESTED, annotate, trained
from ..runs import make_config
from ..runs import write_corpus as write_xx
from .helpers import run

WRONG = [(NESTED[0][0], [(0, 4, "PER"), (1, 2, "GPE")]), *NESTED[1:3]]


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """The training data of the model, with a wrong label and a span that is missing."""
    return write_corpus(tmp_path, trained("span_biaffine"), WRONG)


def read(path: Path) -> Any:
    return list(DocBin().from_disk(path).get_docs(spacy.blank("en").vocab))


def test_suspicions_of_a_model_are_written_in_all_formats(
    model: str, data: Path, tmp_path: Path
) -> None:
    output = tmp_path / "out"
    printed = run("find-errors", data, "--model", model, "-o", output)
    assert "probably missing" in printed and "expected errors" in printed
    assert {path.name for path in output.iterdir()} == {
        "suspicions.jsonl",
        "suspicions.csv",
        "suspicions.html",
        "review",
    }
    names = {path.name for path in (output / "review").iterdir()}
    assert names == set(TOOLS.values())
    rows = list(srsly.read_jsonl(output / "suspicions.jsonl"))
    missing = [row for row in rows if row["kind"] == "missing"]
    assert missing[0]["proposed"]["text"] == "Leon County"
    assert missing[0]["proposed"]["score"] > 0.8
    labelled = [row for row in rows if row["proposed"] and row["gold"]]
    wrong = [row for row in labelled if row["gold"]["text"] == NESTED[0][0][:20]]
    assert [row["proposed"]["label"] for row in wrong] == ["ORG"]


def test_tools_and_number_of_tasks_are_chosen(
    model: str, data: Path, tmp_path: Path
) -> None:
    words = ("find-errors", data, "--model", model, "-o", tmp_path / "out")
    run(*words, "--tools", "doccano", "--limit", 1)
    assert [path.name for path in (tmp_path / "out" / "review").iterdir()] == [
        "doccano.jsonl"
    ]
    tasks = list(srsly.read_jsonl(tmp_path / "out" / "review" / "doccano.jsonl"))
    assert len(tasks) == 1
    assert "SP062" in run(*words, "--tools", "paper", code=1)


def test_reviewed_file_is_applied_to_the_data(
    model: str, data: Path, tmp_path: Path
) -> None:
    output, target = tmp_path / "out", tmp_path / "corrected.spacy"
    run("find-errors", data, "--model", model, "-o", output)
    path = output / "review" / "prodigy.jsonl"
    rows = list(srsly.read_jsonl(path))
    row = next(row for row in rows if row["text"] == NESTED[0][0])
    row["spans"] = [{"start": 46, "end": 57, "label": "GPE"}]
    srsly.write_jsonl(path, rows)
    printed = run("find-errors", data, "--apply", path, "-o", target)
    assert "1 changed: 1 spans added, 2 removed" in " ".join(printed.split())
    corrected = read(target)
    assert [span.text for span in corrected[0].spans["ents"]] == ["Leon County"]
    assert [doc.text for doc in corrected] == [doc.text for doc in read(data)]


def test_reviewed_file_of_other_texts_writes_nothing(
    data: Path, tmp_path: Path
) -> None:
    path, target = tmp_path / "reviewed.jsonl", tmp_path / "corrected.spacy"
    path.write_text(json.dumps({"text": "Another text", "spans": []}), "utf8")
    words = ("find-errors", data, "--apply", path, "-o", target)
    assert "SP184" in run(*words, code=1)
    assert not target.exists()
    shutil.copy(data, target)
    assert "SP184" in run(*words, code=1)
    assert target.read_bytes() == data.read_bytes()


@pytest.mark.parametrize("words", [(), ("--model", "x", "--apply", "y")])
def test_exactly_one_way_is_chosen(words: Any, data: Path, tmp_path: Path) -> None:
    output = tmp_path / "out"
    assert "SP186" in run("find-errors", data, "-o", output, *words, code=1)
    assert not output.exists()


def test_data_without_gold_and_models_without_scores(
    model: str, data: Path, tmp_path: Path
) -> None:
    nlp = ruler("ents")
    nlp.to_disk(tmp_path / "ruler")
    output = tmp_path / "out"
    words = ("find-errors", data, "-o", output, "--model")
    assert "SP185" in run(*words, tmp_path / "ruler", code=1)
    DocBin(docs=[nlp.make_doc("It rained.")]).to_disk(data)
    assert "SP073" in run(*words, model, code=1)
    assert not output.exists()


def test_spans_without_scores_say_so(data: Path, tmp_path: Path) -> None:
    """A component with a threshold may write no scores."""
    from spacy_spanner.review.candidates import read_candidates

    nlp = ruler("ents")
    pipe: Any = nlp.get_pipe("span_ruler")
    pipe.cfg = {"spans_key": "ents", "threshold": 0.5}
    examples = list(spacy.training.Corpus(data)(nlp))
    with pytest.raises(ValueError, match=r"SP185.*span_ruler"):
        read_candidates(nlp, examples)


def test_documents_without_annotation_are_left_out(
    model: str, data: Path, tmp_path: Path
) -> None:
    nlp = spacy.blank("en")
    docs = [*read(data), nlp.make_doc("Nobody has read this.")]
    DocBin(docs=docs).to_disk(data)
    with pytest.warns(UserWarning, match=r"SW180.*1 of 4"):
        run("find-errors", data, "--model", model, "-o", tmp_path / "out")


def test_predictions_that_know_nothing_are_warned_of(
    model: str, data: Path, tmp_path: Path
) -> None:
    nlp = trained("span_biaffine")
    other = [(text, [(0, 1, "DRUG")]) for text, _ in NESTED[:3]]
    write_corpus(tmp_path, nlp, other)
    words = ("find-errors", data, "--model", model, "-o", tmp_path / "out")
    with pytest.warns(UserWarning, match=r"SW181.* 0\.00.*labels of the data"):
        run(*words)
    write_corpus(tmp_path, nlp, WRONG)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        run(*words)


@pytest.mark.slow
def test_folds_are_trained_once_in_any_number_of_processes(tmp_path: Path) -> None:
    corpus = write_xx(tmp_path / "corpus.spacy")
    config = make_config(corpus)
    config["training"]["logger"] = {"@loggers": "spacy.ConsoleLogger.v1"}
    config.to_disk(tmp_path / "config.cfg")
    output = tmp_path / "out"
    words: Any = ("find-errors", corpus, "--config", tmp_path / "config.cfg")
    words += ("-o", output, "--folds", 2, "--training.max_steps", 4)
    printed = run(*words, "--n-process", 2)
    assert "2 folds, of which 0 are trained" in printed
    first = (output / "suspicions.jsonl").read_bytes()
    assert "2 folds, of which 2 are trained" in run(*words)
    assert (output / "suspicions.jsonl").read_bytes() == first
    other = (*words[:6], "--folds", 20)
    assert "SP180" in run(*other, code=1)


def test_gold_of_a_single_label_is_ranked(tmp_path: Path, model: str) -> None:
    nlp = spacy.blank("en")
    doc = annotate(nlp.make_doc(NESTED[0][0]), [(1, 2, "GPE")])
    DocBin(docs=[doc]).to_disk(tmp_path / "one.spacy")
    words = ("find-errors", tmp_path / "one.spacy", "--model", model)
    run(*words, "-o", tmp_path / "out")
    assert (tmp_path / "out" / "suspicions.csv").stat().st_size > 100

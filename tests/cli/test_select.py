"""The command `spanner select`."""

from pathlib import Path
from typing import Any

import pytest
import spacy
import srsly
from spacy.tokens import DocBin

from spacy_spanner.cli.select import parse_weights
from spacy_spanner.corpus.tasks import TOOLS

from ..evaluation.test_predicting import ruler
from ..helpers import NESTED
from .helpers import run

COURT, BOSTON, RAIN = (text for text, _ in NESTED[:3])
UNKNOWN = "Ana Ruiz of the US Supreme Boston and Leon met Friday Court."


@pytest.fixture
def texts(tmp_path: Path) -> Path:
    path = tmp_path / "texts.txt"
    path.write_text("\n".join([RAIN, COURT, UNKNOWN, ""]), encoding="utf8")
    return path


def test_uncertain_texts_are_written_with_nested_predictions(
    model: str, texts: Path, tmp_path: Path
) -> None:
    output = tmp_path / "out"
    words: Any = ("select", texts, "--lines", "--model", model, "-o", output)
    printed = run(*words, "--number", 2)
    assert "2 of 3 documents" in printed
    rows = list(srsly.read_jsonl(output / "selection.jsonl"))
    assert [row["text"] for row in rows] == [UNKNOWN, COURT]
    assert [row["rank"] for row in rows] == [1, 2]
    assert rows[0]["id"] == "texts.txt:3"
    assert rows[0]["expected_errors"] > rows[1]["expected_errors"]
    names = {path.name for path in output.iterdir()}
    assert names == {"selection.jsonl", *TOOLS.values()}
    tasks = list(srsly.read_jsonl(output / "prodigy.jsonl"))
    places = [(span["start"], span["end"]) for span in tasks[1]["spans"]]
    assert places == [(0, 20), (4, 6), (46, 57)]
    assert all(span["score"] > 0.5 for span in tasks[1]["spans"])
    assert tasks[0]["meta"]["id"] == "texts.txt:3"


def test_pool_may_have_fewer_documents_and_be_a_corpus(
    model: str, tmp_path: Path
) -> None:
    nlp = spacy.blank("en")
    path = tmp_path / "pool.spacy"
    DocBin(docs=[nlp.make_doc(RAIN), nlp.make_doc(BOSTON)]).to_disk(path)
    words: Any = ("select", path, "-m", model, "-o", tmp_path / "out")
    assert "2 of 2 documents" in run(*words, "-n", 9, "--tools", "doccano")
    names = {file.name for file in (tmp_path / "out").iterdir()}
    assert names == {"selection.jsonl", "doccano.jsonl"}


def test_labels_of_an_ensemble_have_weights(
    model: str, texts: Path, tmp_path: Path
) -> None:
    nlp: Any = spacy.load(model)
    nlp.get_pipe("span_biaffine").cfg["spans_key"] = "one"
    nlp.add_pipe("span_ensemble", config={"members": ["one"]})
    nlp.to_disk(tmp_path / "ensemble")
    words: Any = ("select", texts, "--lines", "-m", tmp_path / "ensemble", "-n", 1)
    run(*words, "-o", tmp_path / "out", "--weights", "PER=2")
    assert "SP188" in run(*words, "-o", tmp_path / "no", "--weights", "CITY=3", code=1)


def test_empty_selections_and_wrong_weights_are_messages(
    model: str, texts: Path, tmp_path: Path
) -> None:
    output = tmp_path / "out"
    words: Any = ("select", texts, "-m", model, "-n", 1, "-o", output, "--lines")
    assert "SP188" in run(*words, "--weights", "PER=2,CITY=3", code=1)
    assert "SP189" in run(*words, "--weights", "PER", code=1)
    assert "SP062" in run(*words, "--tools", "paper", code=1)
    texts.write_text("\n \n", encoding="utf8")
    assert "SP187" in run(*words, code=1)
    texts.unlink()
    assert "SP120" in run(*words, code=1)
    broken = tmp_path / "a.jsonl"
    broken.write_text('{"content": "It rained."}\n', encoding="utf8")
    assert "SP121" in run("select", broken, *words[2:], code=1)
    assert not output.exists()


def test_models_without_scores_cannot_choose(texts: Path, tmp_path: Path) -> None:
    ruler("ents").to_disk(tmp_path / "ruler")
    words: Any = ("select", texts, "-m", tmp_path / "ruler", "-n", 1)
    assert "SP185" in run(*words, "-o", tmp_path / "out", code=1)


def test_weights_are_read_by_label() -> None:
    assert parse_weights("") == {}
    assert parse_weights("PER=2, a=b=0.5") == {"PER": 2.0, "a=b": 0.5}


@pytest.mark.parametrize("text", ["PER", "PER=", "=2", "PER=-1", "PER=nan", "PER=inf"])
def test_broken_weights_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match="SP189"):
        parse_weights(text)

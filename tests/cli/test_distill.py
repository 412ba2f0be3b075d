"""The command `spanner distill`."""

from pathlib import Path
from typing import Any, List

import pytest
import spacy
from spacy.tokens import DocBin
from thinc.api import Config

from ..helpers import NESTED, texts
from ..runs import (
    StoppedError,
    assert_same_weights,
    callbacks,
    make_config,
    stopping,
    write_corpus,
)
from .helpers import invoke, run


@pytest.fixture
def read(tmp_path: Path) -> Path:
    """Texts without annotation."""
    path = tmp_path / "texts.txt"
    path.write_text("\n".join(filter(None, texts(NESTED))), encoding="utf8")
    return path


@pytest.fixture
def student(tmp_path: Path) -> Path:
    """The config of a student, which `stopping` can stop."""
    path = tmp_path / "student.cfg"
    config = make_config(write_corpus(tmp_path / "gold.spacy"), callbacks())
    config.to_disk(path)
    return path


def words(model: str, read: Path, student: Path, output: Path) -> List[Any]:
    """RETURNS (List[Any]): the command."""
    return ["distill", model, "-t", read, "--lines", "-s", student, "-o", output]


def test_student_learns_from_texts_and_annotation(
    model: str, read: Path, student: Path, tmp_path: Path
) -> None:
    output = tmp_path / "out"
    command = words(model, read, student, output)
    printed = run(*command)
    assert "3 documents" in printed and "Saved the student" in printed
    shard = DocBin().from_disk(output / "texts" / "part-000000.spacy")
    found = list(shard.get_docs(spacy.blank("xx").vocab))
    assert [doc.text for doc in found] == [text for text in texts(NESTED) if text]
    # All that the teacher takes for possible, not only what it would decide for.
    scores = [score for doc in found for score in doc.spans["ents"].attrs["scores"]]
    assert scores and min(scores) >= 0.05
    nlp = spacy.load(output / "model-best")
    pipe: Any = nlp.get_pipe("span_biaffine")
    # LOC is only in the gold of the student.
    assert set(pipe.labels) == {"GPE", "LOC", "ORG", "PER"}
    assert "already trained" in run(*command)
    assert "SP190" in run(*command, "--training.max_steps", 20, code=1)


def test_gold_is_optional(
    model: str, read: Path, student: Path, tmp_path: Path
) -> None:
    output = tmp_path / "out"
    config = Config().from_disk(student, interpolate=False)
    config["paths"]["train"] = None
    config.to_disk(student)
    run(*words(model, read, student, output))
    pipe: Any = spacy.load(output / "model-last").get_pipe("span_biaffine")
    assert set(pipe.labels) <= {"GPE", "ORG", "PER"}


def test_interrupted_training_goes_on(
    model: str, read: Path, student: Path, tmp_path: Path
) -> None:
    whole, parts = tmp_path / "whole", tmp_path / "parts"
    run(*words(model, read, student, whole))
    with stopping(8):
        error = invoke(*words(model, read, student, parts)).exception
        assert isinstance(error, StoppedError)
    assert list((parts / "checkpoints").glob("step-*"))
    printed = run(*words(model, read, student, parts))
    assert "1 of 1 part already finished" in printed
    assert_same_weights(whole / "model-last", parts / "model-last")


def test_what_is_wrong_is_said_before_the_teacher_reads(
    model: str, read: Path, student: Path, tmp_path: Path
) -> None:
    output = tmp_path / "out"
    command = words(model, read, student, output)
    lost = str(tmp_path / "lost.spacy")
    assert "SP" in run(*command, "--paths.dev", lost, code=1)
    assert not (output / "texts").exists()


def test_students_must_learn_spans(model: str, read: Path, tmp_path: Path) -> None:
    path = tmp_path / "tagger.cfg"
    nlp = spacy.blank("en")
    nlp.add_pipe("tagger")
    nlp.config.to_disk(path)
    printed = run(*words(model, read, path, tmp_path / "out"), code=1)
    assert "SP191" in printed and "tagger" in printed
    assert not (tmp_path / "out" / "texts").exists()

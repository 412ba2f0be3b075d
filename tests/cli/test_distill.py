"""The command `spanner distill`."""

import shutil
import warnings
from pathlib import Path
from typing import Any

import pytest
import spacy
from spacy.tokens import DocBin
from spacy.util import load_config
from thinc.api import Config

from spacy_spanner.cli.distill import require_one_process
from spacy_spanner.jobs.annotate.annotator import SpanAnnotator
from spacy_spanner.jobs.distilling import Student, taught_by
from spacy_spanner.pipeline.component import SpanRecognizer

from ..helpers import NESTED, annotate, spans_of, texts
from ..runs import (
    StoppedError,
    assert_same_weights,
    stopping,
)
from .helpers import distill_words, invoke, run


def test_student_learns_from_texts_and_annotation(
    model: str, read: Path, student: Path, tmp_path: Path
) -> None:
    teacher: Any = spacy.load(model)
    teacher.get_pipe("span_biaffine").cfg.update(threshold=0.99, overlap="flat")
    teacher.to_disk(model)
    output = tmp_path / "out"
    command = distill_words(model, read, student, output)
    printed = run(*command)
    assert "3 documents" in printed and "Saved the student" in printed
    shard = DocBin().from_disk(output / "texts" / "part-000000.spacy")
    found = list(shard.get_docs(spacy.blank("xx").vocab))
    assert [doc.text for doc in found] == [text for text in texts(NESTED) if text]
    # All that the teacher takes for possible, not only what it would decide for.
    assert [len(doc.spans["ents"]) for doc in found] == [3, 3, 0]
    nlp = spacy.load(output / "model-best")
    pipe: Any = nlp.get_pipe("span_biaffine")
    # LOC is only in the gold of the student.
    assert set(pipe.labels) == {"GPE", "LOC", "ORG", "PER"}
    assert "already trained" in run(*command)
    other = run(*command, "--training.max_steps", 20, code=1)
    assert "SP190" in other and "training.max_steps" in other
    shutil.rmtree(output / "texts")  # nobody needs them any more
    assert "already trained" in run(*command)
    assert "Saved" in run(*command, "--training.max_steps", 12, "--force")


def test_ensemble_teaches_that_other_spans_are_none(
    model: str, read: Path, student: Path, tmp_path: Path
) -> None:
    teacher: Any = spacy.load(model)
    teacher.get_pipe("span_biaffine").cfg["spans_key"] = "one"
    teacher.add_pipe("span_ensemble", config={"members": ["one"]})
    teacher.to_disk(tmp_path / "ensemble")
    run(*distill_words(str(tmp_path / "ensemble"), read, student, tmp_path / "out"))
    config = load_config(tmp_path / "out" / "config.cfg", interpolate=True)
    assert config["corpora"]["train"]["labels"] == ["GPE", "ORG", "PER"]


def test_teacher_that_names_no_labels_knows_all(
    model: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    teacher = SpanAnnotator(model)
    monkeypatch.setattr(SpanRecognizer, "labels", ())
    assert taught_by(teacher) == ("ents", None)


def test_gold_is_optional(
    model: str, read: Path, student: Path, tmp_path: Path
) -> None:
    output = tmp_path / "out"
    config = Config().from_disk(student, interpolate=False)
    config["paths"]["train"] = None
    config.to_disk(student)
    run(*distill_words(model, read, student, output))
    pipe: Any = spacy.load(output / "model-last").get_pipe("span_biaffine")
    assert set(pipe.labels) == {"GPE", "ORG", "PER"}


def test_interrupted_training_goes_on(
    model: str, read: Path, student: Path, tmp_path: Path
) -> None:
    whole, parts = tmp_path / "whole", tmp_path / "parts"
    run(*distill_words(model, read, student, whole))
    with stopping(8):
        error = invoke(*distill_words(model, read, student, parts)).exception
        assert isinstance(error, StoppedError)
    assert list((parts / "checkpoints").glob("step-*"))
    printed = run(*distill_words(model, read, student, parts))
    assert "1 of 1 part already finished" in printed
    assert_same_weights(whole / "model-last", parts / "model-last")


def test_sourced_components_keep_their_weights(
    model: str, read: Path, student: Path, tmp_path: Path
) -> None:
    config = Config().from_disk(student, interpolate=False)
    config["nlp"]["lang"] = "en"
    config["paths"]["start"] = model
    config["components"]["span_biaffine"] = {"source": "${paths.start}"}
    config.to_disk(student)
    output = tmp_path / "out"
    command = distill_words(model, read, student, output)
    for name in ("dropout", "optimizer.encoder", "optimizer.head"):  # learn nothing
        command += [f"--training.{name}", 0.0]
    run(*command)
    assert_same_weights(Path(model), output / "model-last")
    assert "already trained" in run(*command)


def test_what_is_wrong_is_said_before_the_teacher_reads(
    model: str, read: Path, student: Path, tmp_path: Path
) -> None:
    output = tmp_path / "out"
    command = distill_words(model, read, student, output)
    lost = str(tmp_path / "lost.spacy")
    for part in ("dev", "train"):
        assert "SP145" in run(*command, f"--paths.{part}", lost, code=1)
    assert not (output / "texts").exists()


def test_processes_do_not_share_a_gpu() -> None:
    with pytest.raises(ValueError, match=r"SP062.*n-process.*2"):
        require_one_process(2, gpu_id=0)
    require_one_process(2, gpu_id=-1)


def test_texts_must_have_something_to_learn(
    model: str, read: Path, student: Path, tmp_path: Path
) -> None:
    read.write_text("\n\n", encoding="utf8")
    command = distill_words(model, read, student, tmp_path / "out")
    assert "SP193" in run(*command, code=1)
    assert not (tmp_path / "out" / "model-last").exists()


def test_annotation_of_texts_is_not_what_the_teacher_says(
    model: str, student: Path, tmp_path: Path
) -> None:
    nlp = spacy.load(model)
    nlp.get_pipe("span_biaffine").cfg["overwrite"] = False  # type: ignore[attr-defined]
    nlp.to_disk(model)
    doc = annotate(nlp.make_doc(NESTED[0][0]), [(5, 6, "GPE")])
    DocBin(docs=[doc]).to_disk(tmp_path / "texts.spacy")
    output = tmp_path / "out"
    run(*distill_words(model, tmp_path / "texts.spacy", student, output))
    shard = DocBin().from_disk(output / "texts" / "part-000000.spacy")
    (found,) = shard.get_docs(nlp.vocab)
    scores = dict(zip(spans_of(found), found.spans["ents"].attrs["scores"]))
    assert scores.get((5, 6, "GPE"), 0.0) < 0.5


def test_students_may_have_several_components_and_callbacks(
    model: str, read: Path, student: Path, tmp_path: Path
) -> None:
    config = Config().from_disk(student, interpolate=False)
    callbacks = config["training"]["before_update"]["callbacks"]
    own = {"@callbacks": "spacy_spanner.checkpoint.v1", "path": str(tmp_path / "own")}
    callbacks["own"] = own
    second = {**config["components"]["span_biaffine"], "spans_key": "second"}
    config["components"]["second"] = second
    config["nlp"]["pipeline"] = [*config["nlp"]["pipeline"], "second"]
    config.to_disk(student)
    run(*distill_words(model, read, student, tmp_path / "out"))
    stored = load_config(tmp_path / "out" / "config.cfg", interpolate=True)
    assert stored["corpora"]["train"]["targets"] == ["ents", "second"]
    names = stored["training"]["before_update"]["callbacks"]
    assert set(names) == {"checkpoint", "stop"}  # checkpoints are in the output
    assert not (tmp_path / "own").exists()


def test_teachers_need_scores(read: Path, student: Path, tmp_path: Path) -> None:
    for factory in ("ner", "span_ruler"):
        nlp = spacy.blank("en")
        nlp.add_pipe(factory)
        nlp.initialize()
        teacher = tmp_path / factory
        nlp.to_disk(teacher)
        command = distill_words(str(teacher), read, student, tmp_path / "out")
        assert "SP185" in run(*command, code=1)


def test_spancat_beside_a_student_is_warned_of(
    model: str, read: Path, student: Path, tmp_path: Path
) -> None:
    config = Config().from_disk(student, interpolate=False)
    nlp = spacy.blank("xx")
    nlp.add_pipe("spancat")
    config["components"]["spancat"] = nlp.config["components"]["spancat"]
    config["nlp"]["pipeline"] = [*config["nlp"]["pipeline"], "spancat"]
    config.to_disk(student)
    with pytest.warns(UserWarning, match=r"SW190.*spancat"):
        Student(student, {}, tmp_path / "out")
    frozen = {"training.frozen_components": ["spancat"]}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        Student(student, frozen, tmp_path / "out")


def test_students_must_learn_spans(model: str, read: Path, tmp_path: Path) -> None:
    path = tmp_path / "tagger.cfg"
    nlp = spacy.blank("en")
    nlp.add_pipe("tagger")
    nlp.config.to_disk(path)
    printed = run(*distill_words(model, read, path, tmp_path / "out"), code=1)
    assert "SP191" in printed and "tagger" in printed
    assert not (tmp_path / "out" / "texts").exists()

"""The command `spanner optimize`."""

from pathlib import Path
from typing import Any

import pytest
import spacy
import srsly
from spacy.language import Language

from spacy_spanner.encoders.fast import processor
from spacy_spanner.evaluation import precision_trials
from spacy_spanner.evaluation.precision_trials import Trial, choose
from spacy_spanner.pipeline.precision import get_precision

from ..encoders.transformer.test_pipelines import span_pipeline
from ..evaluation.test_predicting import write_corpus
from ..helpers import NESTED, make_examples, train, trained
from .helpers import run

SPEEDS = {"float32": 100.0, "bfloat16": 180.0, "int8": 250.0}


@pytest.fixture(scope="module")
def source(tiny_bert: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a pipeline with an encoder, and a corpus beside it."""
    nlp = span_pipeline(tiny_bert)
    train(nlp, make_examples(nlp, NESTED), updates=40)
    folder = tmp_path_factory.mktemp("source")
    nlp.to_disk(folder / "model")
    return folder


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return write_corpus(tmp_path, trained("span_biaffine"))


@pytest.fixture(autouse=True)
def machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """A processor with all instructions, on which each precision has its speed."""
    known = frozenset().union(*processor.NEEDED.values())
    monkeypatch.setattr(processor, "instructions", lambda: known)
    measured = precision_trials.measure

    def try_once(nlp: Language, examples: Any, key: str, precision: str) -> Trial:
        trial = measured(nlp, examples, key, precision)
        assert trial.words_per_second > 0
        return trial._replace(words_per_second=SPEEDS[precision])

    monkeypatch.setattr(precision_trials, "measure", try_once)


def test_optimize_writes_a_pipeline_that_predicts_in_what_it_chose(
    source: Path, data: Path, tmp_path: Path
) -> None:
    words = ("optimize", source / "model", "-d", data, "-o", tmp_path / "out")
    printed = run(*words, "--max-f1-loss", 100)
    assert "The pipeline predicts in int8." in printed
    assert "2.50" in printed and "chosen" in printed
    nlp = spacy.load(tmp_path / "out")
    assert get_precision(nlp) == "int8"
    found = srsly.read_json(tmp_path / "out" / "meta.json")["precision"]
    assert found["chosen"] == "int8" and found["words"] > 0
    assert [one["precision"] for one in found["trials"]] == [*SPEEDS]
    assert nlp.meta["precision"] == found
    assert "### Precision" in nlp.meta["notes"] and "| `int8`" in nlp.meta["notes"]
    assert get_precision(spacy.load(source / "model")) == "float32"


def test_optimized_pipeline_loads_where_the_instructions_are_missing(
    source: Path, data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = ("optimize", source / "model", "-d", data, "-o", tmp_path / "out")
    run(*words, "--max-f1-loss", 100, "--rounds", 1)
    monkeypatch.setattr(processor, "instructions", frozenset)
    nlp = spacy.load(tmp_path / "out")
    with pytest.warns(UserWarning, match=r"SW241.*int8"):
        nlp(NESTED[0][0])
    # Optimized again, on a machine that has float32 alone.
    again = ("optimize", tmp_path / "out", "-d", data, "-o", tmp_path / "again")
    assert "predicts in float32" in run(*again, "--rounds", 1)
    assert get_precision(spacy.load(tmp_path / "again")) == "float32"


def trial(precision: str, f: float) -> Trial:
    return Trial(precision, SPEEDS[precision], f, 0.1, None)


@pytest.mark.parametrize(
    "bfloat16,int8,max_loss,chosen",
    [
        (0.700, 0.698, 0.3, "int8"),
        (0.700, 0.697, 0.3, "int8"),
        (0.700, 0.6969, 0.3, "bfloat16"),
        (0.690, 0.690, 0.3, "float32"),
        (0.699, 0.702, 0.0, "int8"),
    ],
)
def test_choice_of_the_fastest_within_the_loss(
    bfloat16: float, int8: float, max_loss: float, chosen: str
) -> None:
    trials = [
        trial("float32", 0.7),
        trial("bfloat16", bfloat16),
        trial("int8", int8),
    ]
    assert choose(trials, max_loss).precision == chosen


def test_optimize_needs_gold(source: Path, tmp_path: Path) -> None:
    nlp = spacy.blank("en")
    docs = spacy.tokens.DocBin()
    doc = nlp("a b c")
    doc.spans["ents"] = []
    docs.add(doc)
    docs.to_disk(tmp_path / "empty.spacy")
    words = ("optimize", source / "model", "-o", tmp_path / "out", "-d")
    assert "SP241" in run(*words, tmp_path / "empty.spacy", code=1)
    assert "SP072" in run(*words, tmp_path / "none.spacy", code=1)
    assert not (tmp_path / "out").exists()


def test_optimize_needs_an_encoder(model: str, data: Path, tmp_path: Path) -> None:
    words = ("optimize", model, "-d", data, "-o", tmp_path / "out")
    assert "SP240" in run(*words, code=1)


def test_interrupted_measurement_keeps_the_precision(
    source: Path, data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: Any, **__: Any) -> None:
        raise KeyboardInterrupt

    nlp = spacy.load(source / "model")
    monkeypatch.setattr(precision_trials, "score_spans", fail)
    with pytest.raises(KeyboardInterrupt):
        precision_trials.optimize(nlp, data)
    assert get_precision(nlp) == "float32" and "precision" not in nlp.meta

"""Trainings that end too early: the best model so far is whole, and loads."""

import shutil
from pathlib import Path
from typing import Any, Callable, List, NamedTuple, Type

import pytest
import spacy
from spacy.language import Language
from spacy.tokens import DocBin
from spacy.training.initialize import init_nlp
from spacy.training.loop import train
from thinc.api import Config

from spacy_spanner.pipeline.component import SpanRecognizer

from ..helpers import DATA, FACTORIES, Data, annotate, blank_pipeline, make_examples
from ..runs import make_row_logger
from ..runs import rows as logged
from .helpers import full_disk

EVAL_FREQUENCY = 4
MAX_STEPS = 28
CORPUS: Data = [*DATA["nested"][:3], *DATA["crossing"]]


@pytest.fixture(
    params=[
        name if n == 0 else pytest.param(name, marks=pytest.mark.slow)
        for n, name in enumerate(FACTORIES)
    ]
)
def factory(request: pytest.FixtureRequest) -> str:
    """One of the models is enough in the quick tests."""
    return request.param


class StoppedError(Exception):
    """Stands for whatever may go wrong."""


class Training(NamedTuple):
    """What a training has left behind: rows of the log, and models."""

    rows: List[dict]
    best: Path
    last: Path


def config_of(factory: str, folder: Path) -> Config:
    """Make the config of a small training."""
    nlp = blank_pipeline(factory, lang="xx", threshold=0.1)
    docs = [annotate(nlp.make_doc(text), spans) for text, spans in CORPUS]
    DocBin(docs=docs).to_disk(folder / "corpus.spacy")
    config = Config(nlp.config)
    path = str(folder / "corpus.spacy")
    config["paths"].update(train=path, dev=path)
    config["training"].update(
        max_steps=MAX_STEPS, eval_frequency=EVAL_FREQUENCY, patience=0
    )
    config["training"]["optimizer"].update(learn_rate=0.01, use_averages=False)
    config["training"]["logger"] = {"@loggers": "test.rows.v1"}
    return config


def stopped_training(factory: str, folder: Path, error: type) -> Training:
    """Train until something ends it."""
    assert make_row_logger
    logged.clear()
    nlp = init_nlp(config_of(factory, folder))
    (folder / "output").mkdir()
    with pytest.raises(error):
        train(nlp, folder / "output")
    output = folder / "output"
    return Training(list(logged), output / "model-best", output / "model-last")


def on_call(
    patch: pytest.MonkeyPatch, home: Any, name: str, n_calls: int, act: Callable
) -> None:
    """Let a function do something else from its nth call on, once."""
    original, calls = getattr(home, name), []

    def count(*args: Any, **kwargs: Any) -> Any:
        calls.append(1)
        if len(calls) == n_calls:
            return act(original, *args, **kwargs)
        return original(*args, **kwargs)

    patch.setattr(home, name, count)


def score_of(folder: Path) -> float:
    nlp = spacy.load(folder)
    return nlp.evaluate(make_examples(nlp, CORPUS))["spans_ents_f"]


def assert_best_and_last_are_whole(training: Training) -> None:
    """The best model has the best score of the log, and the last one can be loaded."""
    scores = [row["score"] for row in training.rows]
    assert max(scores) > 0
    assert score_of(training.best) == pytest.approx(max(scores))
    assert isinstance(spacy.load(training.last), Language)


def interrupt(original: Callable, *args: Any, **kwargs: Any) -> None:
    raise KeyboardInterrupt


def fail_after(original: Callable, *args: Any, **kwargs: Any) -> None:
    original(*args, **kwargs)
    raise StoppedError


# The update of step n is call n + 1; evaluations come with every fourth.
@pytest.mark.parametrize(
    "owner, method, n_calls, action, error",
    [
        (SpanRecognizer, "update", 22, interrupt, KeyboardInterrupt),
        (SpanRecognizer, "update", 25, interrupt, KeyboardInterrupt),
        (SpanRecognizer, "finish_update", 23, fail_after, StoppedError),
        (Language, "evaluate", 6, interrupt, KeyboardInterrupt),
        (SpanRecognizer, "to_disk", 6, interrupt, KeyboardInterrupt),
    ],
)
def test_whatever_ends_training_leaves_best_and_last(
    factory: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    owner: type,
    method: str,
    n_calls: int,
    action: Callable,
    error: Type[BaseException],
) -> None:
    on_call(monkeypatch, owner, method, n_calls, action)
    training = stopped_training(factory, tmp_path, error)
    assert_best_and_last_are_whole(training)


def test_full_disk_leaves_best_and_last(
    factory: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fill_disk(original: Callable, *args: Any, **kwargs: Any) -> None:
        with full_disk(20_000):
            original(*args, **kwargs)

    on_call(monkeypatch, SpanRecognizer, "to_disk", 6, fill_disk)
    training = stopped_training(factory, tmp_path, OSError)
    assert_best_and_last_are_whole(training)


def test_interrupted_copy_to_best_leaves_the_same_model_as_last(
    factory: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """spaCy removes the old best model before it copies the new one."""

    copy, copied = shutil.copytree, []

    def copy_a_part(source: Path, target: Path, *args: Any, **kwargs: Any) -> Any:
        if Path(target).name == "model-best":  # and not a folder inside it
            copied.append(target)
        if len(copied) < 3:
            return copy(source, target, *args, **kwargs)
        target.mkdir()
        shutil.copy(source / "config.cfg", target)
        raise StoppedError

    monkeypatch.setattr(shutil, "copytree", copy_a_part)
    training = stopped_training(factory, tmp_path, StoppedError)
    with pytest.raises((ValueError, OSError)):
        spacy.load(training.best)
    assert score_of(training.last) >= max(row["score"] for row in training.rows)


def test_loss_that_is_no_number_leaves_best_and_last(
    factory: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_number(original: Callable, *args: Any) -> Any:
        return original(*args) * float("nan")

    codec_type = type(blank_pipeline(factory).get_pipe(factory).codec)
    # Of one batch a step.
    on_call(monkeypatch, codec_type, "loss", 26, no_number)
    training = stopped_training(factory, tmp_path, ValueError)
    assert_best_and_last_are_whole(training)

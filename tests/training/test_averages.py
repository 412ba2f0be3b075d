"""Moving averages: of all weights, evaluated and stored, while training goes on."""

import gc
import pickle
from pathlib import Path
from typing import Any, Dict, List
from weakref import ref

import pytest
import spacy
import torch
from spacy.language import Language
from spacy.training import Corpus, Example
from thinc.api import PyTorchShim, PyTorchWrapper, fix_random_seed

from spacy_spanner.training.averages import Averages
from spacy_spanner.training.optimizer import make_adamw

from ..helpers import (
    FACTORIES,
    NESTED,
    assert_same_predictions,
    blank_pipeline,
    copy_of,
    make_examples,
    predict_nested,
    predicted_rows,
)
from ..runs import callbacks, make_config, resume, run, stored_in, write_corpus
from .test_optimizer import weights

RATES: Dict[str, Any] = {"encoder": 0.02, "head": 0.02}


def started(factory: str) -> Any:
    nlp = blank_pipeline(factory)
    examples = make_examples(nlp, NESTED)
    fix_random_seed(0)
    nlp.initialize(lambda: examples)
    return nlp, examples


def weights_now(nlp: Language) -> List[torch.Tensor]:
    pipe: Any = nlp.get_pipe(nlp.pipe_names[0])
    return [one.detach().clone() for one in weights(pipe.model).values()]


def same(one: List[torch.Tensor], other: List[torch.Tensor]) -> bool:
    return all(torch.equal(a, b) for a, b in zip(one, other))


def learn(nlp: Language, examples: List[Example], optimizer: Any, steps: int) -> list:
    """RETURNS (list): the weights after each step."""
    found = []
    for _ in range(steps):
        nlp.update(examples, sgd=optimizer)
        optimizer.step_schedules()
        found.append(weights_now(nlp))
    return found


@pytest.mark.parametrize("factory", FACTORIES)
def test_averages_are_used_and_training_goes_on(factory: str) -> None:
    nlp, examples = started(factory)
    optimizer = make_adamw(use_averages=True, average_decay=0.4, **RATES)
    steps = learn(nlp, examples, optimizer, 6)
    expected = [w.clone() for w in steps[0]]
    for number, now in enumerate(steps[1:], start=2):
        decay = min(0.4, (1 + number) / (10 + number))
        for average, weight in zip(expected, now):
            average.mul_(decay).add_((1 - decay) * weight)
    raw = predict_nested(nlp)
    with nlp.use_params(optimizer.averages):
        for used, average in zip(weights_now(nlp), expected):
            torch.testing.assert_close(used, average, rtol=1e-5, atol=1e-6)
        stored, inside = copy_of(nlp), predict_nested(nlp)
        rows = predicted_rows(nlp.get_pipe(factory), inside)
        used_now = weights_now(nlp)
    assert same(weights_now(nlp), steps[-1])
    assert_same_predictions(raw, predict_nested(nlp))
    assert same(weights_now(stored), used_now)
    assert_same_predictions(inside, predict_nested(stored))
    assert rows == predicted_rows(stored.get_pipe(factory), inside)
    # The weights that are trained are those of a training without averages.
    other, examples = started(factory)
    plain = make_adamw(**RATES)
    assert plain.averages is None
    assert same(learn(other, examples, plain, 6)[-1], steps[-1])


def test_tensors_without_updates_stay_as_they_are() -> None:
    nlp, examples = started("span_biaffine")
    optimizer = make_adamw(use_averages=True, frozen_steps=2, **RATES)
    encoder = nlp.get_pipe("span_biaffine").model.get_ref("tok2vec")
    before = {key: w.clone() for key, w in weights(encoder).items()}
    learn(nlp, examples, optimizer, 2)
    with nlp.use_params(optimizer.averages):
        assert all(torch.equal(w, before[key]) for key, w in weights(encoder).items())
    learn(nlp, examples, optimizer, 2)
    with nlp.use_params(optimizer.averages):
        now = weights(encoder)
        assert not all(torch.equal(w, before[key]) for key, w in now.items())


def test_tied_tensors_and_buffers_of_other_modules() -> None:
    class Tied(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first = torch.nn.Linear(2, 2, bias=False)
            self.second = torch.nn.Linear(2, 2, bias=False)
            self.second.weight = self.first.weight
            self.register_buffer("count", torch.ones(1))

    model = PyTorchWrapper(Tied())
    (shim,) = model.shims
    assert isinstance(shim, PyTorchShim)
    averages = Averages(0.5)
    averages.know(model)
    averages.of[shim.id, "first.weight"] = torch.full((2, 2), 7.0)
    module: Any = shim._model
    before = module.first.weight.detach().clone()
    with model.use_params(averages.as_params()):
        assert torch.equal(module.second.weight, torch.full((2, 2), 7.0))
        assert float(module.count) == 1.0
    assert torch.equal(module.first.weight, before)


def test_pickled_pair_goes_on_as_the_original() -> None:
    nlp, examples = started("span_biaffine")
    optimizer = make_adamw(use_averages=True, **RATES)
    learn(nlp, examples, optimizer, 2)
    pickled, its_optimizer = pickle.loads(pickle.dumps((nlp, optimizer)))
    found = []
    for one, sgd in ((nlp, optimizer), (pickled, its_optimizer)):
        fix_random_seed(0)
        learn(one, make_examples(one, NESTED), sgd, 1)
        with one.use_params(sgd.averages):
            found.append(weights_now(one))
    assert same(*found) and not same(found[0], weights_now(nlp))


def test_optimizer_keeps_no_model_alive() -> None:
    optimizer = make_adamw(use_averages=True, **RATES)
    nlp, examples = started("span_biaffine")
    learn(nlp, examples, optimizer, 1)
    shim: Any = nlp.get_pipe("span_biaffine").model.get_ref("output_layer").shims[0]
    module = ref(shim.module)
    del nlp, examples, shim
    gc.collect()
    assert module() is None
    # Thinc's own layers cannot be noted; their keys fit no other model.
    assert not any(isinstance(key, str) for key in optimizer.averages or {})


# --------------------------------------------------------------- spacy train

AVERAGED = """
[training.optimizer]
@optimizers = "spacy_spanner.AdamW.v1"
encoder = 0.02
head = 0.02
use_averages = true
average_decay = 0.6
"""


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_corpus(tmp_path_factory.mktemp("data") / "corpus.spacy")


def test_spacy_train_evaluates_and_stores_averages(
    corpus: Path, tmp_path: Path
) -> None:
    found = run(make_config(corpus, AVERAGED), tmp_path / "averaged")
    plain = AVERAGED.replace("true", "false")
    without = run(make_config(corpus, plain), tmp_path / "plain")
    losses = [[row["losses"] for row in one.rows] for one in (found, without)]
    assert losses[0] == losses[1]  # the same steps
    scores = [[row["other_scores"] for row in one.rows] for one in (found, without)]
    assert scores[0] != scores[1]
    nlp = spacy.load(found.best)
    best = nlp.meta["performance"]["spans_ents_f"]
    assert nlp.evaluate(list(Corpus(corpus)(nlp)))["spans_ents_f"] == best


def test_resumed_run_equals_the_whole(corpus: Path, tmp_path: Path) -> None:
    stored = callbacks(stored_in(tmp_path / "run"))
    run(make_config(corpus, AVERAGED, stored), tmp_path / "out", stop_at=8)
    resumed = resume(tmp_path / "run", tmp_path / "out")
    whole = run(make_config(corpus, AVERAGED), tmp_path / "whole")
    assert resumed.rows == whole.rows[-len(resumed.rows) :]
    for one, other in ((resumed.last, whole.last), (resumed.best, whole.best)):
        files = [path / "span_biaffine" / "model" for path in (one, other)]
        assert files[0].read_bytes() == files[1].read_bytes()

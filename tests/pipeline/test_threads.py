"""Threads, forks and event loops share a pipeline: results are as in sequence."""

import asyncio
import multiprocessing
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from threading import Event, Thread
from typing import Any, Callable, Dict, Iterable, Iterator, List, Sequence

import pytest
import spacy
import torch
from spacy.language import Language
from spacy.tokens import Doc
from thinc.api import fix_random_seed

from spacy_spanner.layers.torch_head import get_shim

from ..helpers import (
    FACTORIES,
    NESTED,
    Scored,
    blank_pipeline,
    copy_of,
    make_examples,
    scored_spans,
    time_limit,
    train,
    trained_copy,
)
from .component.helpers import UNSEEN

N_THREADS = 8
MANY = [f"{text} It was n{n}." for n in range(10) for text in UNSEEN]


@contextmanager
def frequent_switches() -> Iterator[None]:
    """Let threads interrupt each other far more often than usual."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        yield
    finally:
        sys.setswitchinterval(before)


def in_threads(work: Callable, items: Iterable[Any]) -> List[Any]:
    with frequent_switches(), time_limit(60), ThreadPoolExecutor(N_THREADS) as pool:
        return list(pool.map(work, items))


def read(nlp: Language, texts: Sequence[str] = MANY) -> List[List[Scored]]:
    return [scored_spans(nlp(text)) for text in texts]


def head_of(nlp: Language) -> Any:
    (name,) = nlp.pipe_names
    return get_shim(nlp.get_pipe(name).model.get_ref("output_layer")).module


def weights_of(nlp: Language) -> Dict[str, Any]:
    (name,) = nlp.pipe_names
    state = {key: value.clone() for key, value in head_of(nlp).state_dict().items()}
    for index, node in enumerate(nlp.get_pipe(name).model.walk()):
        for param in node.param_names:
            array = torch.as_tensor(node.get_param(param))
            state[f"{index}.{param}"] = array.clone()
    return state


def assert_same_weights(one: Dict[str, Any], two: Dict[str, Any]) -> None:
    assert one.keys() == two.keys()
    assert all(torch.equal(one[name], two[name]) for name in one)


def learn(nlp: Language, n_steps: int) -> None:
    examples, optimizer = make_examples(nlp, NESTED), nlp.resume_training()
    for _ in range(n_steps):
        nlp.update(examples, sgd=optimizer)


def test_threads_predict_as_one_thread_does(nlp: Language) -> None:
    alone = read(nlp)
    loaded = copy_of(nlp)  # its vocabulary has none of the words
    assert any(alone)
    assert in_threads(lambda text: scored_spans(loaded(text)), MANY) == alone


def test_pipelines_train_and_predict_at_once_as_in_sequence() -> None:
    pipelines = [trained_copy(factory) for factory in FACTORIES * 2]
    twins = [copy_of(nlp) for nlp in pipelines]

    def work(nlp: Language) -> List[List[Scored]]:
        learn(nlp, 2)
        return read(nlp, UNSEEN)

    expected = [work(nlp) for nlp in pipelines]
    assert in_threads(work, twins) == expected
    for one, two in zip(pipelines, twins):
        assert_same_weights(weights_of(one), weights_of(two))


class TestOneComponentThatLearnsAndPredicts:
    """Predictions wait for a step to end, and steps for predictions."""

    def test_a_prediction_waits_for_the_step(
        self, factory: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        nlp = trained_copy(factory)
        codec, modes, done = type(nlp.get_pipe(factory).codec), [], Event()
        loss, module = codec.loss, head_of(nlp)

        def predict() -> None:
            nlp(UNSEEN[0])
            done.set()

        def loss_during_prediction(*args: Any) -> Any:
            thread.start()
            assert not done.wait(0.2)
            modes.append({child.training for child in module.modules()})
            return loss(*args)

        thread = Thread(target=predict)
        monkeypatch.setattr(codec, "loss", loss_during_prediction)
        learn(nlp, 1)
        assert done.wait(10)
        assert modes == [{True}]

    def test_weights_are_those_of_training_alone(self, factory: str) -> None:
        nlp = trained_copy(factory)
        alone, stop = copy_of(nlp), Event()
        for module in (head_of(nlp), head_of(alone)):
            for part in module.modules():
                part.p = 0.5  # of dropout layers

        def predict(_: int) -> None:
            while not stop.is_set():
                nlp(UNSEEN[0])

        fix_random_seed(1)
        learn(alone, 3)
        fix_random_seed(1)
        with frequent_switches(), time_limit(60), ThreadPoolExecutor(4) as pool:
            readers = pool.map(predict, range(4))
            try:
                learn(nlp, 3)
            finally:
                stop.set()
            list(readers)
        assert_same_weights(weights_of(nlp), weights_of(alone))


def test_changes_during_a_prediction_hold_for_the_next(
    factory: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    nlp = trained_copy(factory)
    pipe: Any = nlp.get_pipe(factory)
    pipe.cfg["label_thresholds"] = {}
    expected, encoder = read(nlp, UNSEEN[:1]), pipe.model.get_ref("tok2vec")
    encode = encoder._func

    def change(*args: Any, **kwargs: Any) -> Any:
        found = encode(*args, **kwargs)
        pipe.cfg.update(spans_key="new", threshold=1.0, set_ents="longest")
        pipe.cfg["label_thresholds"]["PER"] = 1.0
        return found

    monkeypatch.setattr(encoder, "_func", change)
    doc = nlp(UNSEEN[0])
    assert [scored_spans(doc)] == expected and expected[0]
    assert "new" not in doc.spans and not doc.ents
    after = nlp(UNSEEN[0])
    assert "ents" not in after.spans and not after.spans["new"]


def test_prediction_between_two_changes_sees_all_of_one_or_none(
    nlp: Language, factory: str
) -> None:
    pipe: Any = copy_of(nlp).get_pipe(factory)
    keys, stop = ("one", "two"), Event()
    lowest = {"one": 0.0, "two": 1.0}

    def change(_: int) -> None:
        while not stop.is_set():
            for key in keys:
                pipe.cfg.update(spans_key=key, threshold=lowest[key])
                pipe.cfg["label_thresholds"].update(PER=0.1, GPE=0.2, ORG=0.3)
                pipe.cfg["label_thresholds"].clear()

    def look(_: int) -> bool:
        made = pipe._reader.read(pipe.cfg).settings
        return bool(made.threshold == lowest[made.spans_key])

    pipe.cfg.update(spans_key="one", threshold=0.0, label_thresholds={})
    with frequent_switches(), time_limit(60), ThreadPoolExecutor(4) as pool:
        changes = [pool.submit(change, 0) for _ in range(2)]
        try:
            seen = list(pool.map(look, range(3000)))
        finally:
            stop.set()
        assert [change.result() for change in changes] == [None, None]
    assert all(seen)


def test_vocabulary_stays_as_it_is_in_rounds_of_threads() -> None:
    """How a server with a pool of threads uses memory zones."""
    nlp = trained_copy("span_biaffine")
    before, sizes = len(nlp.vocab.strings), []
    texts = [f"{text} Nobody else saw zone{n}." for n, text in enumerate(MANY)]
    expected = read(copy_of(nlp), texts)
    for _ in range(2):
        with nlp.memory_zone():
            found = in_threads(lambda text: scored_spans(nlp(text)), texts)
            sizes.append(len(nlp.vocab.strings))
        assert found == expected
        assert len(nlp.vocab.strings) == before
    assert min(sizes) > before


def in_child(nlp: Language, texts: List[str], answers: Any) -> None:
    answers.put(read(nlp, texts))


def test_processes_forked_after_the_first_prediction(nlp: Language) -> None:
    """As gunicorn does with `--preload`."""
    loaded, before = copy_of(nlp), torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        torch.rand(512, 512) @ torch.rand(512, 512)  # starts the threads of torch
        expected = read(loaded, UNSEEN)
        fork = multiprocessing.get_context("fork")
        answers: Any = fork.Queue()
        with time_limit(60):
            children = [
                fork.Process(target=in_child, args=(loaded, UNSEEN, answers))
                for _ in range(2)
            ]
            for child in children:
                child.start()
            found = [answers.get() for _ in children]
            for child in children:
                child.join()
    finally:
        torch.set_num_threads(before)
    assert found == [expected, expected]


def test_event_loop_with_a_pool_of_threads(nlp: Language) -> None:
    async def serve() -> List[Doc]:
        loop = asyncio.get_running_loop()
        with ThreadPoolExecutor(N_THREADS) as pool:
            jobs = [loop.run_in_executor(pool, nlp, text) for text in MANY]
            return list(await asyncio.gather(*jobs))

    expected = read(nlp)
    with time_limit(60):
        assert [scored_spans(doc) for doc in asyncio.run(serve())] == expected


def test_transformer_in_threads_and_forks(tiny_bert: Path) -> None:
    encoder = {
        "@architectures": "spacy_spanner.Transformer.v1",
        "name": str(tiny_bert),
        "layers": 2,
    }
    nlp = blank_pipeline("span_biaffine")
    config = {**nlp.get_pipe_config("span_biaffine")["model"], "tok2vec": encoder}
    nlp = spacy.blank("en")
    nlp.add_pipe("span_biaffine", config={"model": config})
    train(nlp, make_examples(nlp, NESTED), updates=1)
    nlp.get_pipe("span_biaffine").cfg["threshold"] = 0.0
    expected = read(nlp, MANY[:8])
    assert any(expected)
    assert in_threads(lambda text: scored_spans(nlp(text)), MANY[:8]) == expected
    fork = multiprocessing.get_context("fork")
    answers: Any = fork.Queue()
    with time_limit(60):
        child = fork.Process(target=in_child, args=(nlp, MANY[:8], answers))
        child.start()
        assert answers.get() == expected
        child.join()

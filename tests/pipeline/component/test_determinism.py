"""Nothing around a document changes what is predicted for it."""

import random
from typing import List

import numpy as np
import pytest
import torch
from spacy.language import Language
from spacy.tokens import Doc
from thinc.api import fix_random_seed

from ...helpers import NESTED, assert_same_predictions, scored_spans, time_limit
from .helpers import MANY, UNSEEN


@pytest.mark.parametrize("batch_size", [1, 3, 64])
def test_pipe_batch_size_changes_nothing(
    nlp: Language, alone: List[Doc], batch_size: int
) -> None:
    assert any(doc.spans["ents"] for doc in alone)
    assert_same_predictions(nlp.pipe(MANY, batch_size=batch_size), alone)


@pytest.mark.parametrize("seed", [1, 2])
def test_pipe_order_changes_nothing(nlp: Language, alone: List[Doc], seed: int) -> None:
    order = list(range(len(MANY)))
    random.Random(seed).shuffle(order)
    found = list(nlp.pipe([MANY[index] for index in order]))
    assert_same_predictions(found, [alone[index] for index in order])


def test_pipe_long_neighbour_changes_nothing(nlp: Language, alone: List[Doc]) -> None:
    long = " ".join(UNSEEN * 20)
    *found, _ = nlp.pipe([*MANY, long])
    assert_same_predictions(found, alone)


def test_pipe_two_processes_equal_one(nlp: Language, alone: List[Doc]) -> None:
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        # Large enough for torch to start the threads that a fork loses.
        torch.rand(3_000_000).exp().sum()
        torch.rand(512, 512) @ torch.rand(512, 512)
        with time_limit(60):
            found = list(nlp.pipe(MANY, n_process=2, batch_size=8))
    finally:
        torch.set_num_threads(before)
    assert_same_predictions(found, alone)


def test_predict_does_not_change_docs(nlp: Language, factory: str) -> None:
    docs = [nlp.make_doc(text) for text in MANY]
    nlp.get_pipe(factory).predict(docs)
    assert not any(doc.spans or doc.ents for doc in docs)


def test_predict_no_docs(nlp: Language, factory: str) -> None:
    assert nlp.get_pipe(factory).predict([]) == []
    assert list(nlp.pipe([])) == []


def test_predict_leaves_random_state_alone(nlp: Language) -> None:
    fix_random_seed(3)
    expected = torch.rand(1), np.random.rand()
    fix_random_seed(3)
    nlp(MANY[0])
    assert (torch.rand(1), np.random.rand()) == expected


def test_select_pipes_switches_off_and_on(nlp: Language, factory: str) -> None:
    text = NESTED[0][0]
    expected = scored_spans(nlp(text))
    with nlp.select_pipes(disable=factory):
        assert "ents" not in nlp(text).spans
    assert scored_spans(nlp(text)) == expected

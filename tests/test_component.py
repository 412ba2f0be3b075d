"""One life of every component: learn, predict, be stored, go on learning."""

import copy
import pickle
import random
from pathlib import Path
from typing import List

import numpy as np
import pytest
import spacy
import torch
from spacy.language import Language
from spacy.tokens import Doc, DocBin
from spacy.training import Example
from thinc.api import fix_random_seed

from .helpers import (
    DATA,
    NESTED,
    SEVERAL_LABELS,
    annotate,
    assert_same_predictions,
    blank_pipeline,
    copy_of,
    make_examples,
    scored_spans,
    spans_of,
    texts,
    time_limit,
    train,
    trained,
)

UNSEEN = [
    "The mayor of Oslo met the US Supreme Court in Leon County.",
    "Ana Ruiz will hear arguments all day on Friday.",
    "It rained.",
    "Boston, Leon County and the US.",
]
MANY = [*texts(NESTED), *UNSEEN] * 6

ZH = (
    ("北京大学校长见了王宁。", [(0, 4, "ORG"), (0, 2, "GPE"), (8, 10, "PER")]),
    ("昨天下雨。", []),
)


@pytest.fixture
def alone(nlp: Language) -> List[Doc]:
    """Each text as a batch of its own."""
    return [nlp(text) for text in MANY]


def weights(nlp: Language, name: str) -> List[np.ndarray]:
    model = nlp.get_pipe(name).model
    module = model.get_ref("output_layer").shims[0].module
    torch_weights = [value.numpy().copy() for value in module.state_dict().values()]
    return torch_weights + [
        node.get_param(param).copy()
        for node in model.walk()
        for param in node.param_names
        if node.has_param(param)
    ]


# ------------------------------------------------------------------ learning


def test_update_plain_loop_without_settings_learns_by_heart(factory: str) -> None:
    fix_random_seed(0)
    nlp = spacy.blank("en")
    nlp.add_pipe(factory)
    examples = make_examples(nlp, NESTED)
    nlp.initialize(lambda: examples)
    for _ in range(120):
        nlp.update(examples)
    scores = nlp.evaluate(make_examples(nlp, NESTED))
    assert scores["spans_ents_f"] == 1.0


@pytest.mark.parametrize("data", ["nested", "crossing"])
def test_predict_after_training_gives_gold(factory: str, data: str) -> None:
    nlp = trained(factory, data, overlap="any")
    for text, spans in DATA[data]:
        expected = sorted(spans, key=lambda span: (span[0], -span[1], span[2]))
        assert spans_of(nlp(text)) == expected


@pytest.mark.parametrize("factory", SEVERAL_LABELS)
def test_predict_several_labels_on_one_span(factory: str) -> None:
    nlp = trained(factory, "two_labels", **SEVERAL_LABELS[factory])
    for text, spans in DATA["two_labels"]:
        assert spans_of(nlp(text)) == list(spans)


def test_update_blank_zh_learns_characters(factory: str) -> None:
    nlp = blank_pipeline(factory, lang="zh")
    train(nlp, make_examples(nlp, ZH))
    assert spans_of(nlp(ZH[0][0])) == [(0, 4, "ORG"), (0, 2, "GPE"), (8, 10, "PER")]
    assert spans_of(nlp(ZH[1][0])) == []


def test_update_twice_with_one_seed_gives_equal_weights(factory: str) -> None:
    pipelines = []
    for _ in range(2):
        nlp = blank_pipeline(factory)
        train(nlp, make_examples(nlp, NESTED), updates=5)
        pipelines.append(nlp)
    one, two = (weights(nlp, factory) for nlp in pipelines)
    assert len(one) == len(two) > 5
    for first, second in zip(one, two):
        np.testing.assert_array_equal(first, second)


def test_initialize_starts_sampling_from_the_seed(factory: str) -> None:
    draws = []
    for seed, n_before in ((3, 0), (3, 7), (4, 0)):
        nlp = blank_pipeline(factory, seed=seed)
        pipe = nlp.get_pipe(factory)
        pipe.rng.random(n_before)
        nlp.initialize(lambda nlp=nlp: make_examples(nlp, NESTED))
        draws.append(pipe.rng.random())
    assert draws[0] == draws[1] != draws[2]


def test_update_changes_encoder_and_head(factory: str) -> None:
    nlp = blank_pipeline(factory)
    examples = make_examples(nlp, NESTED)
    train(nlp, examples, updates=0)
    before = weights(nlp, factory)
    nlp.update(examples, sgd=nlp.create_optimizer())
    after = weights(nlp, factory)
    same = [np.array_equal(one, two) for one, two in zip(before, after)]
    assert not any(same)


def test_update_adds_to_losses_under_own_name(factory: str) -> None:
    nlp = blank_pipeline(factory, name="entities")
    examples = make_examples(nlp, NESTED)
    train(nlp, examples, updates=0)
    losses = {"entities": 1000.0, "other": 1.0}
    nlp.update(examples, losses=losses)
    assert losses["entities"] > 1000.0
    assert losses["other"] == 1.0


def test_update_without_sgd_waits_for_finish_update(factory: str) -> None:
    nlp = blank_pipeline(factory)
    examples = make_examples(nlp, NESTED)
    train(nlp, examples, updates=0)
    pipe = nlp.get_pipe(factory)
    before = weights(nlp, factory)
    pipe.update(examples)
    for one, two in zip(before, weights(nlp, factory)):
        np.testing.assert_array_equal(one, two)
    pipe.finish_update(nlp.create_optimizer())
    after = weights(nlp, factory)
    assert not any(np.array_equal(one, two) for one, two in zip(before, after))


def test_update_empty_batch_or_empty_docs_gives_no_loss(factory: str) -> None:
    nlp = blank_pipeline(factory)
    train(nlp, make_examples(nlp, NESTED), updates=0)
    pipe = nlp.get_pipe(factory)
    assert pipe.update([]) == {factory: 0.0}
    empty = Example(nlp.make_doc(""), annotate(nlp.make_doc(""), []))
    assert pipe.update([empty, empty]) == {factory: 0.0}


def test_update_dropout_of_the_call_reaches_encoder(factory: str) -> None:
    nlp = blank_pipeline(factory)
    examples = make_examples(nlp, NESTED)
    train(nlp, examples, updates=0)
    pipe = nlp.get_pipe(factory)
    fix_random_seed(1)
    losses = []
    for drop in (0.0, 0.5, 0.0):
        pipe.rng = np.random.default_rng(0)
        losses.append(pipe.update(examples, drop=drop)[factory])
    assert losses[0] != losses[1]
    assert losses[2] == pytest.approx(losses[0])


def test_get_loss_equals_loss_of_update_without_dropout(factory: str) -> None:
    nlp = blank_pipeline(factory)
    examples = make_examples(nlp, NESTED)
    train(nlp, examples, updates=0)
    pipe = nlp.get_pipe(factory)
    measured, gradient = pipe.get_loss(examples)
    assert gradient is None
    assert measured == pytest.approx(pipe.update(examples)[factory], rel=1e-5)


# ------------------------------------------------------------------- storage


def test_to_disk_and_back_predicts_the_same(
    nlp: Language, alone: List[Doc], tmp_path: Path
) -> None:
    nlp.to_disk(tmp_path)
    loaded = spacy.load(tmp_path)
    assert_same_predictions(loaded.pipe(MANY), alone)


def test_to_bytes_and_back_predicts_the_same(nlp: Language, alone: List[Doc]) -> None:
    assert_same_predictions(copy_of(nlp).pipe(MANY), alone)


def test_pickle_and_back_predicts_the_same(nlp: Language, alone: List[Doc]) -> None:
    loaded = pickle.loads(pickle.dumps(nlp))
    assert_same_predictions(loaded.pipe(MANY), alone)


def test_pickled_component_predicts_the_same(nlp: Language, factory: str) -> None:
    pipe = nlp.get_pipe(factory)
    loaded = pickle.loads(pickle.dumps(pipe))
    docs = [nlp.make_doc(text) for text in MANY]
    expected = pipe.predict(docs)
    assert any(expected)
    assert loaded.predict(docs) == expected


def test_deepcopied_model_predicts_the_same_and_is_independent(
    own_nlp: Language, factory: str, alone: List[Doc]
) -> None:
    pipe = own_nlp.get_pipe(factory)
    kept = pipe.model
    pipe.model = copy.deepcopy(kept)
    assert_same_predictions(own_nlp.pipe(MANY), alone)
    examples = make_examples(own_nlp, NESTED[2:3])
    for _ in range(5):
        own_nlp.update(examples, sgd=own_nlp.create_optimizer())
    pipe.model = kept
    assert_same_predictions(own_nlp.pipe(MANY), alone)


def test_sourced_component_predicts_the_same(
    nlp: Language, factory: str, alone: List[Doc]
) -> None:
    other = spacy.blank("en")
    other.add_pipe(factory, source=nlp)
    assert_same_predictions(other.pipe(MANY), alone)


def test_sourced_under_other_name_can_be_stored(
    nlp: Language, factory: str, alone: List[Doc], tmp_path: Path
) -> None:
    other = spacy.blank("en")
    other.add_pipe(factory, name="entities", source=copy_of(nlp))
    other.to_disk(tmp_path)
    assert_same_predictions(spacy.load(tmp_path).pipe(MANY), alone)


def test_update_after_reloading_continues(factory: str) -> None:
    nlp = blank_pipeline(factory)
    examples = make_examples(nlp, NESTED)
    train(nlp, examples, updates=20)
    loaded = copy_of(nlp)
    examples = make_examples(loaded, NESTED)
    pipe = loaded.get_pipe(factory)
    before, _ = pipe.get_loss(examples)
    assert before == pytest.approx(nlp.get_pipe(factory).get_loss(examples)[0], 1e-4)
    optimizer = loaded.resume_training()
    for _ in range(80):
        loaded.update(examples, sgd=optimizer)
    assert pipe.get_loss(examples)[0] < before / 2
    assert loaded.evaluate(make_examples(loaded, NESTED))["spans_ents_f"] == 1.0


def test_a_setting_changed_in_place_is_checked_and_holds(
    own_nlp: Language, factory: str
) -> None:
    pipe = own_nlp.get_pipe(factory)
    special = pipe.cfg["label_thresholds"] = {}
    before = own_nlp(NESTED[0][0])
    assert spans_of(before)
    special.update(dict.fromkeys(pipe.labels, 1.0))
    assert not spans_of(own_nlp(NESTED[0][0]))
    special["GPE"] = 2.0
    with pytest.raises(ValueError, match=r"SP002.*label_thresholds"):
        own_nlp(NESTED[0][0])


def test_settings_changed_in_cfg_are_stored(own_nlp: Language, factory: str) -> None:
    own_nlp.get_pipe(factory).cfg["threshold"] = 1.0
    assert copy_of(own_nlp).get_pipe(factory).settings.threshold == 1.0


# --------------------------------------------------------------- determinism


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


# ---------------------------------------------------------- what is written


def test_scores_are_float32_between_0_and_1(alone: List[Doc]) -> None:
    for doc in alone:
        scores = doc.spans["ents"].attrs["scores"]
        assert scores.dtype == np.float32
        assert scores.shape == (len(doc.spans["ents"]),)
        assert ((scores >= 0) & (scores <= 1)).all()


def test_scores_are_those_of_predict_in_the_order_of_spans(
    nlp: Language, factory: str
) -> None:
    pipe = nlp.get_pipe(factory)
    text = NESTED[0][0]
    (predicted,) = pipe.predict([nlp.make_doc(text)])
    assert len({span.score for span in predicted}) > 1
    assert scored_spans(nlp(text)) == [
        (span.start, span.end, pipe.labels[span.label], pytest.approx(span.score))
        for span in predicted
    ]


def test_scores_survive_doc_to_bytes(nlp: Language) -> None:
    doc = nlp(NESTED[0][0])
    loaded = Doc(nlp.vocab).from_bytes(doc.to_bytes())
    assert scored_spans(loaded) == scored_spans(doc)
    assert loaded.spans["ents"].attrs["scores"].dtype == np.float32


def test_scores_survive_doc_bin(nlp: Language) -> None:
    docs = [nlp(text) for text in texts(NESTED)]
    stored = DocBin(docs=docs).to_bytes()
    loaded = DocBin().from_bytes(stored).get_docs(nlp.vocab)
    for doc, other in zip(docs, loaded):
        assert scored_spans(other) == scored_spans(doc)


def test_spans_are_written_in_document_order(nlp: Language) -> None:
    assert spans_of(nlp(NESTED[0][0])) == [(0, 4, "ORG"), (1, 2, "GPE"), (8, 10, "GPE")]


@pytest.mark.parametrize("factory", SEVERAL_LABELS)
def test_labels_of_one_span_are_written_in_order(factory: str) -> None:
    nlp = trained(factory, "two_labels", **SEVERAL_LABELS[factory])
    doc = nlp("Georgia beat Spain in Turin.")
    assert spans_of(doc)[:2] == [(0, 1, "GPE"), (0, 1, "TEAM")]


def test_empty_doc_gets_an_empty_group(nlp: Language) -> None:
    assert scored_spans(nlp("")) == []

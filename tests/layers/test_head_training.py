"""Loss and gradients of a head, by hand and of every model."""

from typing import List, Tuple

import numpy as np
import pytest
import torch
from spacy.training import Example
from thinc.api import Model, fix_random_seed
from torch import Tensor, nn

from spacy_spanner.layers.head_work import HeadWork
from spacy_spanner.layers.torch_head import (
    get_shim,
    learn_from_readings,
    loss_and_gradients,
    measure_loss,
)
from spacy_spanner.models.codec import SpanCodec, WindowBatch
from spacy_spanner.spans.table import SpanTable
from spacy_spanner.spans.windows import WindowPlan, spans_in_windows

from ..helpers import NESTED, blank_pipeline, make_examples, train
from .heads import WIDTH, TokenCodec, gold_of, head_of, plan_of, vectors_of, work_of


class SumCodec(TokenCodec):
    """A loss that adds up all vectors, also those of padding."""

    def loss(
        self, module: nn.Module, batch: WindowBatch, targets: List[SpanTable]
    ) -> Tensor:
        return batch.vectors.sum() + 0 * module(batch.vectors).sum()


def run(
    head: Model, vectors: List, work: HeadWork, gold: List[SpanTable]
) -> Tuple[float, List, List]:
    """Go forward and backward; return loss, gradients of vectors and of weights."""
    module = get_shim(head).module
    module.zero_grad()
    loss, d_vectors = loss_and_gradients(head, vectors, work, gold_of(gold))
    return loss, d_vectors, [p.grad.clone() for p in module.parameters()]


# ---------------------------------------------------------------- training


def test_head_loss_and_gradient_by_hand() -> None:
    docs = [np.zeros((2, WIDTH), dtype="f"), np.zeros((1, WIDTH), dtype="f")]
    gold = [SpanTable.of([(1, 2, 0)]), SpanTable.empty()]
    loss, (first, second), _ = run(head_of(), docs, work_of(plan_of([2, 1])), gold)
    # Nine times -log(1/2), over two windows; gradients are (1/2 - target) / 2.
    assert loss == pytest.approx(9 * np.log(2) / 2)
    np.testing.assert_allclose(first, [[0.25, 0.25, 0.25], [-0.25, 0.25, 0.25]])
    np.testing.assert_allclose(second, [[0.25, 0.25, 0.25]])


@pytest.mark.parametrize("max_cells", [1, 30])
def test_head_groups_do_not_change_loss_and_gradients(max_cells: int) -> None:
    lengths = [5, 0, 2, 9, 1]
    docs, plan = vectors_of(*lengths), plan_of(lengths, max_window=4, stride=2)
    gold = [SpanTable.of([(0, 1, index % 3)]) for index in range(plan.n_windows)]
    head = head_of()
    one, d_one, weights_one = run(head, docs, work_of(plan), gold)
    few = work_of(plan, max_cells=max_cells)
    two, d_two, weights_two = run(head, docs, few, gold)
    assert two == pytest.approx(one, rel=1e-5)
    for first, second in zip(d_one, d_two, strict=True):
        np.testing.assert_allclose(first, second, atol=1e-6)
    for first, second in zip(weights_one, weights_two, strict=True):
        torch.testing.assert_close(first, second, atol=1e-5, rtol=1e-5)


def test_head_padding_gets_no_gradient() -> None:
    # The tokens of the second document follow those of the first.
    docs = vectors_of(1, 3)
    gold = [SpanTable.empty(), SpanTable.empty()]
    work = work_of(plan_of([1, 3]), SumCodec())
    loss, gradients, _ = run(head_of(), docs, work, gold)
    assert loss == pytest.approx(sum(doc.sum() for doc in docs) / 2, rel=1e-4)
    assert [gradient.tolist() for gradient in gradients] == [
        [[0.5] * 3],
        [[0.5] * 3] * 3,
    ]


def test_head_token_in_two_windows_gets_both_gradients() -> None:
    plan = plan_of([5], max_window=3, stride=1)
    gold = [SpanTable.empty()] * 2
    _, (gradient,), _ = run(head_of(), vectors_of(5), work_of(plan, SumCodec()), gold)
    assert gradient[:, 0].tolist() == [0.5, 0.5, 1.0, 0.5, 0.5]


def test_head_token_outside_all_windows_gets_no_gradient() -> None:
    plan = WindowPlan(*(column[:1] for column in plan_of([2, 3])))
    gold = [SpanTable.of([(0, 1, 0)])]
    _, (first, second), _ = run(head_of(), vectors_of(2, 3), work_of(plan), gold)
    assert first.all()
    assert second.shape == (3, WIDTH)
    assert not second.any()


def test_head_no_windows_give_no_loss() -> None:
    head = head_of()
    work = work_of(plan_of([]))
    loss, gradients = loss_and_gradients(head, vectors_of(2), work, gold_of([]))
    assert loss == 0.0
    assert [gradient.tolist() for gradient in gradients] == [[[0.0] * 3] * 2]


def test_head_gradients_add_up_until_they_are_used() -> None:
    head, docs = head_of(), vectors_of(2)
    work, gold = work_of(plan_of([2])), [SpanTable.empty()]
    _, _, once = run(head, docs, work, gold)
    loss_and_gradients(head, docs, work, gold_of(gold))
    twice = [p.grad for p in get_shim(head).module.parameters()]
    for one, two in zip(once, twice, strict=True):
        torch.testing.assert_close(2 * one, two)


def test_head_does_not_change_vectors() -> None:
    docs = vectors_of(2, 3)
    before = [doc.copy() for doc in docs]
    run(head_of(), docs, work_of(plan_of([2, 3])), [SpanTable.empty()] * 2)
    for doc, other in zip(docs, before):
        np.testing.assert_array_equal(doc, other)


def test_head_loss_without_training_leaves_no_gradient() -> None:
    head = head_of()
    work, gold = work_of(plan_of([2])), [SpanTable.of([(0, 1, 0)])]
    docs = vectors_of(2)
    loss = run(head, docs, work, gold)[0]
    assert measure_loss(head, docs, work, gold_of(gold)) == loss
    get_shim(head).module.zero_grad()
    measure_loss(head, docs, work, gold_of(gold))
    assert all(p.grad is None for p in get_shim(head).module.parameters())


def test_head_loss_that_is_not_finite_leaves_no_gradient() -> None:
    class Broken(TokenCodec):
        def loss(
            self, module: nn.Module, batch: WindowBatch, targets: List[SpanTable]
        ) -> Tensor:
            return super().loss(module, batch, targets) * float("nan")

    head, work = head_of(), work_of(plan_of([2]), Broken())
    with pytest.raises(ValueError, match="SP010"):
        loss_and_gradients(head, vectors_of(2), work, gold_of([SpanTable.empty()]))
    assert all(p.grad is None for p in get_shim(head).module.parameters())


# ----------------------------------------------------------- of every model


def model_work(
    factory: str,
) -> Tuple[Model, HeadWork, List[SpanTable], List[Example]]:
    """Make an untrained head of a model, and work for it with gold."""
    nlp = blank_pipeline(factory)
    examples = make_examples(nlp, NESTED[:2])
    train(nlp, examples, updates=0)
    pipe = nlp.get_pipe(factory)
    plan = plan_of([len(example.predicted) for example in examples])
    ids = pipe.label_ids
    gold = [
        spans_in_windows(
            SpanTable.of([(start, end, ids[label]) for start, end, label in spans]),
            plan.start[[index]],
            plan.end[[index]],
        ).spans[0]
        for index, (_, spans) in enumerate(NESTED[:2])
    ]
    head = pipe.model.get_ref("output_layer")
    return head, HeadWork(pipe.codec, plan, 10**6), gold, examples


def test_head_gradient_of_vectors_against_finite_differences(factory: str) -> None:
    if factory == "span_diffusion":
        pytest.skip("its loss jumps where its own pointers choose other spans")
    head, work, gold, examples = model_work(factory)
    rng = np.random.default_rng(2)
    width = head.get_dim("nI")
    docs = [rng.normal(size=(len(eg.predicted), width)) for eg in examples]
    move = [rng.normal(size=doc.shape) for doc in docs]

    def loss_at(step: float) -> Tuple[float, List[np.ndarray]]:
        moved = [(doc + step * way).astype("f") for doc, way in zip(docs, move)]
        fix_random_seed(0)
        return loss_and_gradients(head, moved, work, gold_of(gold))

    step = 3e-3
    expected = (loss_at(step)[0] - loss_at(-step)[0]) / (2 * step)
    gradients = loss_at(0.0)[1]
    found = sum(float((way * grad).sum()) for way, grad in zip(move, gradients))
    assert abs(found) > 0.05
    assert found == pytest.approx(expected, rel=0.02, abs=0.01)


# ----------------------------------------------------------------- two passes


def test_two_equal_passes_learn_as_one_does(factory: str) -> None:
    head, work, gold, examples = model_work(factory)
    rng = np.random.default_rng(2)
    width = head.get_dim("nI")
    docs = [rng.normal(size=(len(eg.predicted), width)) for eg in examples]
    docs = [doc.astype("f") for doc in docs]
    loss, once = loss_and_gradients(head, docs, work, gold_of(gold))
    work = work._replace(r_drop=2.0)
    both, (one, two) = learn_from_readings(head, [docs, docs], work, gold_of(gold))
    assert both == pytest.approx(loss, rel=1e-5)
    for first, again, expected in zip(one, two, once):
        np.testing.assert_allclose(first + again, expected, atol=1e-4)


def test_two_passes_that_differ_are_drawn_together(factory: str) -> None:
    head, work, gold, examples = model_work(factory)
    rng = np.random.default_rng(2)
    width = head.get_dim("nI")
    shapes = [(len(eg.predicted), width) for eg in examples]
    docs, others = ([rng.normal(size=s).astype("f") for s in shapes] for _ in "ab")

    def losses(weight: float) -> float:
        changed = work._replace(r_drop=weight)
        return learn_from_readings(head, [docs, others], changed, gold_of(gold))[0]

    plain, half, whole = losses(0.0), losses(100.0), losses(200.0)
    assert half - plain > 0.1
    assert whole - plain == pytest.approx(2 * (half - plain), rel=1e-3)


def test_two_passes_of_a_model_that_compares_nothing_have_the_mean_loss() -> None:
    class Plain(TokenCodec):
        learn_pass = SpanCodec.learn_pass

    head, gold = head_of(), gold_of([SpanTable.of([(0, 1, 0)])])
    one, two = vectors_of(2), [-doc for doc in vectors_of(2)]
    work = work_of(plan_of([2]), Plain(), r_drop=3.0)
    losses = [measure_loss(head, docs, work, gold) for docs in (one, two)]
    both, _ = learn_from_readings(head, [one, two], work, gold)
    assert both == pytest.approx(sum(losses) / 2)

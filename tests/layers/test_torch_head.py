"""The bridge to torch: groups, gradients, odd inputs, on a head with known answers."""

from typing import Any, List, Optional, Sequence, Tuple

import numpy as np
import pytest
import torch
from spacy.training import Example
from thinc.api import Model, fix_random_seed
from torch import Tensor, nn

from spacy_spanner.codec import Candidates, WindowBatch
from spacy_spanner.layers.torch_head import (
    HeadInput,
    HeadOutput,
    HeadTask,
    build_torch_head,
    get_shim,
)
from spacy_spanner.layers.typed_vectors import TypedVectors
from spacy_spanner.types import Bools, Floats, Ints, SpanTable
from spacy_spanner.windows import WindowPlan, plan_windows, spans_in_windows

from ..helpers import NESTED, blank_pipeline, make_examples, train

WIDTH = 3


class TokenCodec:
    """Label single tokens, each label by its own sigmoid."""

    def learnable(self, spans: SpanTable) -> Bools:
        return spans.end - spans.start == 1

    def targets(
        self, gold: Sequence[SpanTable], lengths: Ints, **_: Any
    ) -> List[SpanTable]:
        return list(gold)

    def loss(
        self, module: nn.Module, batch: WindowBatch, targets: List[SpanTable]
    ) -> Tensor:
        logits = module(batch.vectors)  # (batch, token, label)
        loss = nn.functional.softplus(logits[batch.mask]).sum()
        for window, spans in enumerate(targets):
            loss = loss - logits[window, spans.start, spans.label].sum()
        return loss

    def candidates(
        self, module: nn.Module, batch: WindowBatch, thresholds: Tensor
    ) -> Candidates:
        scores = module(batch.vectors).sigmoid()
        found = (scores >= thresholds) & batch.mask[..., None]
        window, start, label = found.nonzero(as_tuple=True)
        return Candidates(window, start, start + 1, label, scores[found])

    def rescore(self, spans: SpanTable, window: Ints) -> Floats:
        return spans.score


class SumCodec(TokenCodec):
    """A loss that adds up all vectors, also those of padding."""

    def loss(
        self, module: nn.Module, batch: WindowBatch, targets: List[SpanTable]
    ) -> Tensor:
        return batch.vectors.sum() + 0 * module(batch.vectors).sum()


def head_of(n_labels: int = WIDTH) -> Model:
    """Build a head whose logit of a label is one value of the vector."""
    head = build_torch_head(nn.Linear)
    head.set_dim("nI", WIDTH)
    head.set_dim("nO", n_labels)
    head.initialize()
    with torch.no_grad():
        module = get_shim(head).module
        module.weight.copy_(torch.eye(n_labels, WIDTH))
        module.bias.zero_()
    return head


def plan_of(lengths: Sequence[int], **settings: Any) -> WindowPlan:
    defaults = {"mode": "doc", "max_window": 100, "stride": 0}
    return plan_windows(lengths, [None] * len(lengths), **{**defaults, **settings})


def task_of(plan: WindowPlan, gold: Any = None, **changes: Any) -> HeadTask:
    thresholds = np.full(WIDTH, 0.5, dtype="f")
    rng = np.random.default_rng(0)
    return HeadTask(TokenCodec(), plan, 1000, thresholds, gold, rng)._replace(**changes)


def vectors_of(*lengths: int) -> List[np.ndarray]:
    rng = np.random.default_rng(1)
    return [rng.normal(size=(length, WIDTH)).astype("f") for length in lengths]


def run(head: Model, vectors: List, task: HeadTask) -> Tuple[HeadOutput, List, List]:
    """Go forward and backward; give the gradients of vectors and weights."""
    module = get_shim(head).module
    module.zero_grad()
    output, backprop = head(HeadInput(vectors, task), is_train=True)
    d_vectors = backprop(output)
    return output, d_vectors, [p.grad.clone() for p in module.parameters()]


class TypeCodec(TokenCodec):
    """Learns the label vectors alone: the gradient of each window's is its number."""

    def loss(
        self, module: nn.Module, batch: WindowBatch, targets: List[SpanTable]
    ) -> Tensor:
        assert batch.types is not None
        number = torch.as_tensor([len(spans.start) for spans in targets])
        return (number[:, None, None] * batch.types).sum()

    def candidates(
        self, module: nn.Module, batch: WindowBatch, thresholds: Tensor
    ) -> Candidates:
        assert batch.types is not None
        window = torch.arange(len(batch.lengths))
        zero = torch.zeros_like(window)
        score = batch.types[:, 0, 0]
        return Candidates(window, zero, zero + 1, zero, score)


# -------------------------------------------------------------- label vectors


def typed(vectors: List[np.ndarray], segment: Sequence[int]) -> TypedVectors:
    """Number the segments: each value of a label vector tells its segment."""
    n_segments = max(segment) + 1
    types = np.ones((n_segments, 1, WIDTH), dtype="f")
    types *= np.arange(1, n_segments + 1, dtype="f")[:, None, None] / 10
    return TypedVectors(vectors, types, np.asarray(segment))


def test_head_gives_each_window_the_label_vectors_of_its_first_token() -> None:
    # Windows of document 0: tokens 0-2, 2-4, 3-5; its segments: tokens 0-3, 3-5.
    vectors = typed(vectors_of(5, 2), [0, 0, 0, 1, 1, 2, 2])
    plan = plan_of([5, 2], max_window=2, stride=0)
    assert plan.flat_start.tolist() == [0, 2, 3, 5]
    thresholds = np.zeros(WIDTH, dtype="f")
    task = task_of(plan, codec=TypeCodec(), thresholds=thresholds)
    output = head_of().predict(HeadInput(vectors, task))
    found = dict(zip(output.window.tolist(), output.spans.score.tolist()))
    assert found == pytest.approx({0: 0.1, 1: 0.1, 2: 0.2, 3: 0.3})


def test_head_adds_up_gradients_of_label_vectors_by_segment() -> None:
    vectors = typed(vectors_of(5, 2), [0, 0, 0, 1, 1, 2, 2])
    plan = plan_of([5, 2], max_window=2, stride=0)
    one = SpanTable.of([(0, 1, 0)])
    gold = [one, one, SpanTable.empty(), one]
    task = task_of(plan, gold, codec=TypeCodec())
    output, backprop = head_of()(HeadInput(vectors, task), is_train=True)
    gradient = backprop(output)
    # Two of the windows of four begin in segment 0, one in each other, one is empty.
    assert gradient.types[:, 0, 0].tolist() == pytest.approx([2 / 4, 0, 1 / 4])
    assert gradient.segment.tolist() == vectors.segment.tolist()


def test_head_without_label_vectors_gives_none() -> None:
    seen = []

    class Codec(TokenCodec):
        def candidates(self, module: Any, batch: WindowBatch, _: Tensor) -> Candidates:
            seen.append(batch.types)
            return super().candidates(module, batch, torch.full((WIDTH,), 2.0))

    head_of().predict(HeadInput(vectors_of(3), task_of(plan_of([3]), codec=Codec())))
    assert seen == [None]


# -------------------------------------------------------------- prediction


def test_head_candidates_by_hand() -> None:
    docs = [
        np.asarray([[9, -9, -9], [-9, -9, -9]], dtype="f"),
        np.asarray([[-9, -9, 9]], dtype="f"),
    ]
    output = head_of().predict(HeadInput(docs, task_of(plan_of([2, 1]))))
    found = zip(output.window.tolist(), output.spans.rows())
    assert sorted((window, *span[:3]) for window, span in found) == [
        (0, 0, 1, 0),
        (1, 0, 1, 2),
    ]
    np.testing.assert_allclose(output.spans.score, 1 / (1 + np.exp(-9.0)), rtol=1e-5)


def test_head_thresholds_go_by_label() -> None:
    docs = [np.zeros((1, WIDTH), dtype="f")]
    thresholds = np.asarray([0.5, 0.51, 0.4], dtype="f")
    task = task_of(plan_of([1]), thresholds=thresholds)
    output = head_of().predict(HeadInput(docs, task))
    assert output.spans.label.tolist() == [0, 2]


def test_head_candidates_below_threshold_after_rescore_are_dropped() -> None:
    class Halved(TokenCodec):
        def rescore(self, spans: SpanTable, window: Ints) -> Floats:
            return np.where(spans.label == 0, spans.score / 2, spans.score)

    docs = [np.full((1, WIDTH), 9.0, dtype="f")]
    task = task_of(plan_of([1]), codec=Halved())
    output = head_of().predict(HeadInput(docs, task))
    assert output.spans.label.tolist() == [1, 2]


@pytest.mark.parametrize("max_cells", [1, 30, 100_000])
def test_head_groups_do_not_change_candidates(max_cells: int) -> None:
    docs = vectors_of(5, 0, 2, 9, 1)
    plan = plan_of([5, 0, 2, 9, 1], max_window=4, stride=2)
    output = head_of().predict(HeadInput(docs, task_of(plan, max_cells=max_cells)))
    found = {
        (plan.doc[window], plan.start[window] + span.start, span.label)
        for window, span in zip(output.window, output.spans.rows())
    }
    expected = {
        (index, token, label)
        for index, doc in enumerate(docs)
        for token, label in zip(*np.nonzero(doc >= 0))
    }
    assert found == expected


class CountingCodec(TokenCodec):
    """Notes how many windows it is shown at once."""

    def __init__(self) -> None:
        self.sizes: List[int] = []

    def candidates(
        self, module: nn.Module, batch: WindowBatch, thresholds: Tensor
    ) -> Candidates:
        self.sizes.append(len(batch.lengths))
        return super().candidates(module, batch, thresholds)


@pytest.mark.parametrize("declared,sizes", [(None, [4]), (8, [2, 2]), (99, [1] * 4)])
def test_head_groups_by_the_scores_that_a_module_computes_for_a_pair(
    declared: Optional[int], sizes: List[int]
) -> None:
    head, codec = head_of(), CountingCodec()
    if declared is not None:
        get_shim(head).module.scores_per_pair = declared  # type: ignore[assignment]
    # Four windows of 16 tokens; without a declaration a pair has 4 scores.
    task = task_of(plan_of([16] * 4), codec=codec, max_cells=16 * 16 * 4 * 4)
    head.predict(HeadInput(vectors_of(*[16] * 4), task))
    assert codec.sizes == sizes


def test_head_no_docs_and_empty_docs_give_nothing() -> None:
    head = head_of()
    assert head.predict(HeadInput([], task_of(plan_of([])))).spans.n_spans == 0
    # Some encoders give empty documents no width.
    docs = [np.zeros((0, 0), dtype="f"), *vectors_of(0)]
    output = head.predict(HeadInput(docs, task_of(plan_of([0, 0]))))
    assert (output.spans.n_spans, output.loss) == (0, 0.0)


def test_head_other_width_fails() -> None:
    docs = [np.zeros((2, WIDTH + 1), dtype="f")]
    with pytest.raises(ValueError, match=r"SP009.*4 wide.*expect 3"):
        head_of().predict(HeadInput(docs, task_of(plan_of([2]))))


# ---------------------------------------------------------------- training


def test_head_loss_and_gradient_by_hand() -> None:
    docs = [np.zeros((2, WIDTH), dtype="f"), np.zeros((1, WIDTH), dtype="f")]
    gold = [SpanTable.of([(1, 2, 0)]), SpanTable.empty()]
    output, (first, second), _ = run(head_of(), docs, task_of(plan_of([2, 1]), gold))
    # Nine times -log(1/2), over two windows; gradients are (1/2 - target) / 2.
    assert output.loss == pytest.approx(9 * np.log(2) / 2)
    np.testing.assert_allclose(first, [[0.25, 0.25, 0.25], [-0.25, 0.25, 0.25]])
    np.testing.assert_allclose(second, [[0.25, 0.25, 0.25]])


@pytest.mark.parametrize("max_cells", [1, 30])
def test_head_groups_do_not_change_loss_and_gradients(max_cells: int) -> None:
    lengths = [5, 0, 2, 9, 1]
    docs, plan = vectors_of(*lengths), plan_of(lengths, max_window=4, stride=2)
    gold = [SpanTable.of([(0, 1, index % 3)]) for index in range(plan.n_windows)]
    head = head_of()
    task = task_of(plan, gold)
    one, d_one, weights_one = run(head, docs, task)
    two, d_two, weights_two = run(head, docs, task._replace(max_cells=max_cells))
    assert two.loss == pytest.approx(one.loss, rel=1e-5)
    for first, second in zip(d_one, d_two, strict=True):
        np.testing.assert_allclose(first, second, atol=1e-6)
    for first, second in zip(weights_one, weights_two, strict=True):
        torch.testing.assert_close(first, second, atol=1e-5, rtol=1e-5)


def test_head_padding_gets_no_gradient() -> None:
    # Behind the first window's end stand the tokens of the second document.
    docs = vectors_of(1, 3)
    gold = [SpanTable.empty(), SpanTable.empty()]
    task = task_of(plan_of([1, 3]), gold, codec=SumCodec())
    output, gradients, _ = run(head_of(), docs, task)
    assert output.loss == pytest.approx(sum(doc.sum() for doc in docs) / 2, rel=1e-4)
    assert [gradient.tolist() for gradient in gradients] == [
        [[0.5] * 3],
        [[0.5] * 3] * 3,
    ]


def test_head_token_in_two_windows_gets_both_gradients() -> None:
    plan = plan_of([5], max_window=3, stride=1)
    gold = [SpanTable.empty()] * 2
    task = task_of(plan, gold, codec=SumCodec())
    _, (gradient,), _ = run(head_of(), vectors_of(5), task)
    assert gradient[:, 0].tolist() == [0.5, 0.5, 1.0, 0.5, 0.5]


def test_head_token_outside_all_windows_gets_no_gradient() -> None:
    plan = WindowPlan(*(column[:1] for column in plan_of([2, 3])))
    task = task_of(plan, [SpanTable.of([(0, 1, 0)])])
    _, (first, second), _ = run(head_of(), vectors_of(2, 3), task)
    assert first.all()
    assert second.shape == (3, WIDTH)
    assert not second.any()


def test_head_no_windows_give_no_loss() -> None:
    head = head_of()
    task = task_of(plan_of([]), [])
    output, backprop = head(HeadInput(vectors_of(2), task), is_train=True)
    assert output.loss == 0.0
    assert [gradient.tolist() for gradient in backprop(output)] == [[[0.0] * 3] * 2]


def test_head_gradients_add_up_until_they_are_used() -> None:
    head, docs = head_of(), vectors_of(2)
    task = task_of(plan_of([2]), [SpanTable.empty()])
    _, _, once = run(head, docs, task)
    head(HeadInput(docs, task), is_train=True)
    twice = [p.grad for p in get_shim(head).module.parameters()]
    for one, two in zip(once, twice, strict=True):
        torch.testing.assert_close(2 * one, two)


def test_head_does_not_change_vectors() -> None:
    docs = vectors_of(2, 3)
    before = [doc.copy() for doc in docs]
    run(head_of(), docs, task_of(plan_of([2, 3]), [SpanTable.empty()] * 2))
    for doc, other in zip(docs, before):
        np.testing.assert_array_equal(doc, other)


def test_head_loss_without_training_leaves_no_gradient() -> None:
    head = head_of()
    task = task_of(plan_of([2]), [SpanTable.of([(0, 1, 0)])])
    docs = vectors_of(2)
    assert head.predict(HeadInput(docs, task)).loss == run(head, docs, task)[0].loss
    get_shim(head).module.zero_grad()
    head.predict(HeadInput(docs, task))
    assert all(p.grad is None for p in get_shim(head).module.parameters())


# ----------------------------------------------------------- of every model


def model_task(factory: str) -> Tuple[Model, HeadTask, List[Example]]:
    """Make an untrained head of a model, and a task of one batch with gold."""
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
    return head, HeadTask(pipe.codec, plan, 10**6, pipe.thresholds(), gold), examples


def test_head_gradient_of_vectors_against_finite_differences(factory: str) -> None:
    if factory == "span_diffusion":
        pytest.skip("its loss jumps where its own pointers choose other spans")
    head, task, examples = model_task(factory)
    rng = np.random.default_rng(2)
    width = head.get_dim("nI")
    docs = [rng.normal(size=(len(eg.predicted), width)) for eg in examples]
    move = [rng.normal(size=doc.shape) for doc in docs]

    def loss_at(step: float) -> Tuple[float, List[np.ndarray]]:
        moved = [(doc + step * way).astype("f") for doc, way in zip(docs, move)]
        fix_random_seed(0)
        sampling = task._replace(rng=np.random.default_rng(0))
        output, backprop = head(HeadInput(moved, sampling), is_train=True)
        return output.loss, backprop(output)

    step = 3e-3
    expected = (loss_at(step)[0] - loss_at(-step)[0]) / (2 * step)
    gradients = loss_at(0.0)[1]
    found = sum(float((way * grad).sum()) for way, grad in zip(move, gradients))
    assert abs(found) > 0.05
    assert found == pytest.approx(expected, rel=0.02, abs=0.01)

"""The torch half of a component as one Thinc layer: token vectors in, spans out.

All four models share this layer. It concatenates the token vectors of a batch once,
cuts windows out of it by index, and visits them in groups of similar length of which
none exceeds `max_cells`. In prediction, a group leaves only its candidates behind. In
training, a group's loss runs backward at once, so that only one group's graph is alive:
both directions need memory for one group, however long the documents are.
"""

from contextlib import contextmanager
from itertools import accumulate, pairwise
from math import isfinite
from typing import (
    Callable,
    Iterator,
    List,
    NamedTuple,
    Optional,
    Sequence,
    Tuple,
    cast,
)

import numpy as np
import torch
from thinc.api import Model
from thinc.types import Floats2d, Floats3d
from thinc.util import torch2xp, xp2torch
from torch import Tensor

from ..errors import Errors
from ..models.codec import SpanCodec, WindowBatch
from ..spans.table import Floats, Ints, SpanTable
from ..spans.windows import WindowPlan, batch_windows
from .torch_shim import LazyShim, ModuleBuilder, switch
from .typed_vectors import TypedVectors

# In shorter windows, tokens cost more memory than pairs of tokens do.
SHORT = 16


class HeadTask(NamedTuple):
    """What a head shall do with the token vectors of a batch of documents.

    codec (SpanCodec): the model's mathematics and settings.
    plan (WindowPlan): which windows to visit.
    max_cells (int): bound of windows × longest² × classes visited at once.
    thresholds (Floats): lowest score to report, by label. Shape: (label,)
    gold (Optional[List[SpanTable]]): spans of each window; asks for the loss instead
        of candidates.
    rng (Optional[Generator]): source of sampling for the targets.
    n_windows (Optional[int]): of how many windows the loss is a mean, where those of
        the plan are a share of a batch; of those of the plan if None.
    """

    codec: SpanCodec
    plan: WindowPlan
    max_cells: int
    thresholds: Floats
    gold: Optional[List[SpanTable]] = None
    rng: Optional[np.random.Generator] = None
    n_windows: Optional[int] = None


class HeadInput(NamedTuple):
    """Token vectors of each document, and what to do with them."""

    vectors: List[Floats2d]
    task: HeadTask


class HeadOutput(NamedTuple):
    """Candidates of all windows with the window that each stands in, or the loss."""

    spans: SpanTable
    window: Ints
    loss: float


def build_torch_head(build: ModuleBuilder) -> Model[HeadInput, HeadOutput]:
    """Wrap a torch module as the head of a span model.

    build (ModuleBuilder): makes the module from the width of the token vectors and the
        number of labels.
    RETURNS (Model): dimensions `nI` (width) and `nO` (labels) must be set before it is
        initialized.
    """
    return Model(
        "torch_head",
        forward,
        init=init,
        dims={"nI": None, "nO": None},
        shims=[LazyShim(build)],
    )


def init(
    model: Model, X: Optional[HeadInput] = None, Y: Optional[HeadOutput] = None
) -> None:
    """Build the module with new weights."""
    get_shim(model).create(model.get_dim("nI"), model.get_dim("nO"))


def get_shim(model: Model) -> LazyShim:
    """RETURNS (LazyShim): the holder of the head's torch module."""
    shim = model.shims[0]
    assert isinstance(shim, LazyShim)  # for the type checker: built by build_torch_head
    return shim


def forward(
    model: Model, inputs: HeadInput, is_train: bool
) -> Tuple[HeadOutput, Callable]:
    """Find candidates, or compute the loss where gold is given.

    With `is_train`, the gradients of the loss are added to the module's parameters, and
    the callback, which needs no gradient from above, returns those of the vectors.
    """
    vectors, task = inputs
    source = _read_source(model, vectors)
    if task.gold is None:
        with torch.inference_mode():
            return _find_candidates(model, source, task), lambda _: []
    leaf = source.map(lambda tensor: tensor.detach().requires_grad_(is_train))
    with torch.set_grad_enabled(is_train), _whole_or_no_gradient(model, is_train):
        loss = _total_loss(model, leaf, task, is_train)

    def backprop(_: HeadOutput) -> List[Floats2d]:
        gradient = leaf.map(_gradient_of)
        d_flat = cast(Floats2d, torch2xp(gradient.flat[:-1]))
        bounds = [0, *accumulate(len(doc) for doc in vectors)]
        d_vectors = [d_flat[start:end] for start, end in pairwise(bounds)]
        if gradient.types is None or gradient.segment is None:
            return d_vectors
        d_types = cast(Floats3d, torch2xp(gradient.types))
        return TypedVectors(d_vectors, d_types, gradient.segment)

    return HeadOutput(SpanTable.empty(), np.zeros(0, dtype=np.int64), loss), backprop


class _Source(NamedTuple):
    """What windows are cut out of.

    flat (Tensor): documents behind each other, and a row of zeros. (token + 1, width)
    types (Optional[Tensor]), segment (Optional[Ints]): see `TypedVectors`.
    """

    flat: Tensor
    types: Optional[Tensor] = None
    segment: Optional[Ints] = None

    def map(self, function: Callable[[Tensor], Tensor]) -> "_Source":
        """RETURNS (_Source): the function's results for the tensors."""
        types = None if self.types is None else function(self.types)
        return self._replace(flat=function(self.flat), types=types)


def _gradient_of(leaf: Tensor) -> Tensor:
    return torch.zeros_like(leaf) if leaf.grad is None else leaf.grad


def _read_source(model: Model, vectors: Sequence[Floats2d]) -> _Source:
    """Bring what the encoder returned to torch, without copies where it is there."""
    flat = _flatten(model, vectors)
    if isinstance(vectors, TypedVectors):
        return _Source(flat, xp2torch(vectors.types), vectors.segment)
    return _Source(flat)


def _flatten(model: Model, vectors: Sequence[Floats2d]) -> Tensor:
    """Concatenate documents, and put a row of zeros behind: (token + 1, width)."""
    width = model.get_dim("nI")
    for doc in vectors:
        # Some encoders give empty documents no width.
        if len(doc) and doc.shape[1] != width:
            raise ValueError(
                Errors.SP009.format(
                    component=model.name, seen=doc.shape[1], expected=width
                )
            )
    parts = [doc for doc in vectors if len(doc)]
    padding = model.ops.alloc2f(1, width)
    return xp2torch(model.ops.xp.concatenate([*parts, padding]))


def _groups(
    model: Model, source: _Source, task: HeadTask
) -> Iterator[Tuple[Ints, WindowBatch]]:
    """Yield groups of windows with their padded vectors.

    A module that computes more than one score for each label, and one for "no entity",
    tells how many with `scores_per_pair`.
    """
    flat = source.flat
    lengths = task.plan.lengths
    module = get_shim(model).module
    per_pair = getattr(module, "scores_per_pair", model.get_dim("nO") + 1)
    max_spans = task.max_cells // per_pair
    for group in batch_windows(lengths, max_spans, shortest=SHORT):
        position = np.arange(int(lengths[group].max()))
        index = task.plan.flat_start[group][:, None] + position  # (batch, token)
        # Positions behind a window's end read the row of zeros.
        index[position >= lengths[group][:, None]] = flat.shape[0] - 1
        index_tensor = torch.as_tensor(index, device=flat.device)
        types = _types_of(source, task.plan.flat_start[group])
        yield group, WindowBatch(flat[index_tensor], lengths[group], types)


def _types_of(source: _Source, first: Ints) -> Optional[Tensor]:
    """Find the label vectors of windows: those of the segments where they begin.

    first (Ints): the first token of each window in all documents. Shape: (batch,)
    RETURNS (Optional[Tensor]): (batch, label, width)
    """
    if source.types is None or source.segment is None:
        return None
    segment = torch.as_tensor(source.segment[first], device=source.types.device)
    return source.types[segment]


def _find_candidates(model: Model, source: _Source, task: HeadTask) -> HeadOutput:
    """Score all windows, and bring the candidates of all to the host at once."""
    module = switch(get_shim(model).module, False)
    device = source.flat.device
    thresholds = torch.as_tensor(task.thresholds, device=device)
    indices = [torch.zeros(4, 0, dtype=torch.int64, device=device)]
    scores = [torch.zeros(0, device=device)]
    for group, batch in _groups(model, source, task):
        found = task.codec.candidates(module, batch, thresholds)
        window = torch.as_tensor(group, device=device)[found.window]
        indices.append(torch.stack([window, found.start, found.end, found.label]))
        scores.append(found.score.float())
    window, start, end, label = torch.cat(indices, dim=1).cpu().numpy()
    spans = SpanTable(start, end, label, torch.cat(scores).cpu().numpy())
    spans = spans._replace(score=task.codec.rescore(spans, window))
    kept = spans.score >= task.thresholds[spans.label]
    return HeadOutput(spans.take(kept), window[kept], 0.0)


@contextmanager
def _whole_or_no_gradient(model: Model, is_train: bool) -> Iterator[None]:
    """Leave no part of the gradient behind when the work ends half done: whoever goes
    on after an error would learn from it.
    """
    try:
        yield
    except BaseException:
        if is_train:
            get_shim(model).module.zero_grad()
        raise


def _total_loss(model: Model, leaf: _Source, task: HeadTask, is_train: bool) -> float:
    """Add up the loss of all groups, divided by the number of windows."""
    module = switch(get_shim(model).module, is_train)
    assert task.gold is not None and task.rng is not None
    n_windows = task.plan.n_windows if task.n_windows is None else task.n_windows
    total = leaf.flat.new_zeros(())
    for group, batch in _groups(model, leaf, task):
        targets = task.codec.targets(
            [task.gold[window] for window in group.tolist()],
            batch.lengths,
            rng=task.rng,
        )
        loss = task.codec.loss(module, batch, targets) / n_windows
        if is_train:
            loss.backward()
        total += loss.detach()
    value = float(total)
    if is_train and not isfinite(value):
        module.zero_grad()  # the component refuses it, and may be asked to go on
    return value

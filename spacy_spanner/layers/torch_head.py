"""The torch half of a component as a Thinc layer, with one door for each direction.

- `head.predict((vectors, work, thresholds))` finds candidates.
- `loss_and_gradients(head, vectors, work, gold)` trains.

All four models share this layer. It concatenates the token vectors of a batch, cuts
windows out of them by index, and visits the windows in groups of similar length, each
within `max_cells`. In prediction, only the candidates of a group are kept, up to
`max_candidates` of each window. In training, each group runs backward before the next
group runs forward. So both directions need memory for one group, however long the
documents are.
"""

from contextlib import contextmanager
from functools import partial
from math import isfinite
from typing import Any, Callable, Iterator, List, Optional, Sequence, Tuple, cast

import torch
from numpy.typing import NDArray
from thinc.api import Model
from thinc.types import Floats2d, Floats3d
from thinc.util import torch2xp
from torch import Tensor, nn

from ..errors import Errors
from ..models.blocks.divergence import disagreement
from ..models.bound import keep_best, keep_best_of_parts
from ..models.codec import WindowBatch
from ..models.scored_spans import Candidates
from ..spans.table import Floats, SpanTable
from .devices import NUMBERS_PER_CELL, cells_that_fit, to_module
from .doc_arrays import TypedVectors, split_rows
from .head_work import HeadGold, HeadWork
from .predict_only import no_way_back
from .torch_shim import LazyShim, ModuleBuilder, get_shim, switch
from .window_groups import Group, Source, plan_groups, read_group

# Tokens of a group in prediction on a CPU, so that its tensors stay in the caches.
TOKENS_IN_CACHE = 2048
# Candidates of a group that a GPU need not reduce to the best of each window.
UNCUT = 100_000


HeadInput = Tuple[List[Floats2d], HeadWork, Floats]


def build_torch_head(build: ModuleBuilder) -> Model[HeadInput, SpanTable]:
    """Wrap a torch module as the head of a span model.

    build (ModuleBuilder): makes the module from the width of the token vectors and the
        number of labels.
    RETURNS (Model): set its dimensions `nI` (width) and `nO` (labels) before it is
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
    model: Model, X: Optional[HeadInput] = None, Y: Optional[SpanTable] = None
) -> None:
    """Build the module with new weights."""
    get_shim(model).create(model.get_dim("nI"), model.get_dim("nO"))


def forward(
    model: Model, inputs: HeadInput, is_train: bool
) -> Tuple[SpanTable, Callable]:
    """Find the candidates of all windows, and copy them to the host at once.

    inputs (HeadInput): token vectors of each document, what to visit, and the lowest
        score to report by label. Shape: (label,)
    RETURNS (Tuple[SpanTable, Callable]): spans on the tokens of all documents, and a
        callback that fails: training has a door of its own.
    """
    vectors, work, thresholds = inputs
    with torch.inference_mode():
        return _find_candidates(model, vectors, work, thresholds), no_way_back


def loss_and_gradients(
    model: Model, vectors: List[Floats2d], work: HeadWork, gold: HeadGold
) -> Tuple[float, List[Floats2d]]:
    """Learn from the gold of all windows; see `learn_from_readings`.

    vectors (List[Floats2d]): token vectors of each document.
    RETURNS (Tuple[float, List[Floats2d]]): the loss, and the gradients of the vectors.
    """
    loss, (gradients,) = learn_from_readings(model, [vectors], work, gold)
    return loss, gradients


def learn_from_readings(
    model: Model, readings: Sequence[List[Floats2d]], work: HeadWork, gold: HeadGold
) -> Tuple[float, List[List[Floats2d]]]:
    """Learn from the gold of all windows.

    Gradients of the weights are added to those that the module has. If the work fails,
    the gradients are reset, so that nobody learns from a part of them.

    readings (Sequence[List[Floats2d]]): token vectors of each document, once, or twice
        with other dropout.
    RETURNS (Tuple[float, List[List[Floats2d]]]): the loss, and the gradients of the
        vectors.
    RAISES (ValueError): SP010 if the loss is not finite.
    """
    sources = [_read_source(model, vectors) for vectors in readings]
    leaves = [
        source.map(lambda tensor: tensor.detach().requires_grad_(True))
        for source in sources
    ]
    with torch.enable_grad(), _whole_or_no_gradient(model):
        losses = _losses(model, leaves, work, gold, is_train=True)
        loss = _add_up(losses, backward=True)
        if not isfinite(loss):
            raise ValueError(Errors.SP010.format(component=model.name, value=loss))
    lengths = [len(doc) for doc in readings[0]]
    return loss, [_split_gradients(leaf, lengths) for leaf in leaves]


def measure_loss(
    model: Model, vectors: List[Floats2d], work: HeadWork, gold: HeadGold
) -> float:
    """RETURNS (float): the loss, without dropout and without gradients."""
    with torch.no_grad():
        source = _read_source(model, vectors)
        return _add_up(_losses(model, [source], work, gold, is_train=False))


def _read_source(model: Model, vectors: Sequence[Floats2d]) -> Source:
    """Bring the encoder's output to torch, if possible without copies."""
    flat = _flatten(model, vectors)
    if isinstance(vectors, TypedVectors):
        types = to_module(vectors.types, get_shim(model).module)
        return Source(flat, types, vectors.segment)
    return Source(flat)


def _flatten(model: Model, vectors: Sequence[Floats2d]) -> Tensor:
    """Concatenate documents, and append a row of zeros: (token + 1, width)."""
    width = model.get_dim("nI")
    for doc in vectors:
        # Some encoders return no width for empty documents.
        if len(doc) and doc.shape[1] != width:
            raise ValueError(
                Errors.SP009.format(
                    component=model.name, seen=doc.shape[1], expected=width
                )
            )
    parts = [doc for doc in vectors if len(doc)]
    padding = model.ops.alloc2f(1, width)
    flat = model.ops.xp.concatenate([*parts, padding])
    return to_module(flat, get_shim(model).module)


def _plan(
    model: Model,
    source: Source,
    work: HeadWork,
    extra: Sequence[NDArray] = (),
    *,
    in_training: bool,
    n_passes: int = 1,
) -> Tuple[List[Group], List[Tensor], int]:
    """Group the windows, see `plan_groups`; with the limit that was used, which passes
    share.

    A module that keeps more or less of a cell for the backward pass than most has the
    number in its attribute `numbers_per_cell`.
    """
    module, n_labels = get_shim(model).module, model.get_dim("nO")
    each = getattr(module, "numbers_per_cell", NUMBERS_PER_CELL)
    max_cells = cells_that_fit(work.max_cells, source.flat.device, each) // n_passes
    cells = partial(work.codec.cells, module, n_labels, in_training=in_training)
    in_cache = source.flat.is_cpu and not in_training
    most = TOKENS_IN_CACHE if in_cache else None
    groups, copies = plan_groups(source, work.plan, max_cells, cells, most, extra)
    return groups, copies, max_cells


def _find_candidates(
    model: Model, vectors: List[Floats2d], work: HeadWork, thresholds: Floats
) -> SpanTable:
    source = _read_source(model, vectors)
    module = switch(get_shim(model).module, False)
    groups, (lowest,), max_cells = _plan(
        model, source, work, [thresholds], in_training=False
    )
    # Asking a GPU whether a window has too many takes longer than copying some more.
    most, slack = work.max_candidates, 0 if source.flat.is_cpu else UNCUT
    columns = [torch.zeros(5, 0, dtype=torch.int64, device=source.flat.device)]
    for group in groups:
        batch = read_group(source, group, max_cells)
        parts = work.codec.candidate_parts(module, batch, lowest)
        n_windows = len(group.windows)
        found, cut = keep_best_of_parts(parts, most, n_windows, slack)
        if cut:
            work.report_cut()
        window = group.numbers.index_select(0, found.window)
        # As whole numbers with the same bits, to copy them with the others.
        score = found.score.float().view(torch.int32).long()
        columns.append(
            torch.stack([window, found.start, found.end, found.label, score])
        )
    window, start, end, label, bits = torch.cat(columns, dim=1).cpu()
    found = Candidates(window, start, end, label, bits.int().view(torch.float32))
    if slack:
        found = found.real()
    if slack and most is not None:
        best = keep_best(found, most)
        if len(best.score) < len(found.score):
            work.report_cut()
        found = best
    numbers, *places = (column.numpy() for column in found)
    spans = SpanTable(*places)
    spans = spans._replace(score=work.codec.rescore(spans, numbers))
    return spans.shift(work.plan.flat_start[numbers])


@contextmanager
def _whole_or_no_gradient(model: Model) -> Iterator[None]:
    try:
        yield
    except BaseException:
        get_shim(model).module.zero_grad()
        raise


def _losses(
    model: Model,
    sources: Sequence[Source],
    work: HeadWork,
    gold: HeadGold,
    *,
    is_train: bool,
) -> Iterator[Tensor]:
    """Yield each group's share of the loss."""
    module = switch(get_shim(model).module, is_train)
    groups, _, max_cells = _plan(
        model, sources[0], work, in_training=True, n_passes=len(sources)
    )
    for group in groups:
        spans = gold.of(group.windows)
        targets = work.codec.targets(spans, group.lengths, rng=gold.rng)
        batches = [read_group(source, group, max_cells) for source in sources]
        rates = gold.missing_rates(group.windows, group.lengths, model.get_dim("nO"))
        if rates is not None:
            on_device = torch.as_tensor(rates, device=sources[0].flat.device)
            batches = [batch._replace(missing=on_device) for batch in batches]
        yield _loss_of(work, module, batches, targets) / gold.n_windows


def _loss_of(
    work: HeadWork, module: nn.Module, batches: Sequence[WindowBatch], targets: Any
) -> Tensor:
    """RETURNS (Tensor): the loss of one pass; or the mean of two, plus how far these
    disagree, if the model can tell.
    """
    if len(batches) == 1:
        return work.codec.loss(module, batches[0], targets)
    one = work.codec.learn_pass(module, batches[0], targets)
    two = work.codec.learn_pass(module, batches[1], targets, one)
    loss = (one.loss + two.loss) / 2
    if one.scored:
        loss = loss + work.r_drop * disagreement(one.scored, two.scored)
    return loss


def _add_up(losses: Iterator[Tensor], *, backward: bool = False) -> float:
    """Sum the losses of groups; with `backward`, free each graph before the next."""
    total: Optional[Tensor] = None
    for loss in losses:
        if backward:
            loss.backward()
        value = loss.detach()
        total = value if total is None else total + value
    return 0.0 if total is None else float(total)


def _split_gradients(leaf: Source, lengths: Sequence[int]) -> List[Floats2d]:
    """RETURNS (List[Floats2d]): gradients in the form of the encoder's output."""
    gradient = leaf.map(_gradient_of)
    d_vectors = split_rows(gradient.flat[:-1], lengths)
    if gradient.types is None or gradient.segment is None:
        return d_vectors
    d_types = cast(Floats3d, torch2xp(gradient.types))
    return TypedVectors(d_vectors, d_types, gradient.segment)


def _gradient_of(leaf: Tensor) -> Tensor:
    return torch.zeros_like(leaf) if leaf.grad is None else leaf.grad

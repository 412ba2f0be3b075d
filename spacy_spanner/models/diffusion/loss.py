"""Match proposals with gold, and the losses of boundaries and classes.

The assignment of least cost is found on the host by SciPy, a window at a time, on one
copy of the costs of the batch.
"""

from typing import Iterator, Optional, Tuple

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F

from ...spans.table import Bools, Floats, Ints
from ..blocks.cell_losses import log_unsaid
from ..blocks.divergence import Scored, yes_or_no_scores
from ..blocks.padded_rows import GoldTensors
from .noise import TokenSpans, join_spans
from .proposals import Proposals, log_probabilities

NOBODY = -1  # in place of the gold span of a proposal
PADDED = -1  # in place of a class


def boundary_distances(spans: TokenSpans, gold: GoldTensors) -> Tensor:
    """RETURNS (Tensor): tokens between the starts plus tokens between the last tokens.
    Shape: (batch, span, gold)
    """
    start = spans.start[:, :, None] - gold.start[:, None]
    last = spans.last[:, :, None] - gold.last[:, None]
    return start.abs() + last.abs()


def matching_costs(
    proposals: Proposals, classes: Optional[Tensor], gold: GoldTensors
) -> Tensor:
    """Compute -(P^l + P^r + P^c) of each proposal at each gold span (Equation 11).

    classes (Optional[Tensor]): scores of the classes. Shape: (batch, span, class)
    RETURNS (Tensor): (batch, span, gold)
    """
    n_spans = proposals.start.shape[1]

    def at(log_scores: Tensor, index: Tensor) -> Tensor:
        index = index[:, None].expand(-1, n_spans, -1)
        return log_scores.detach().gather(2, index).exp()

    kind = proposals.kind
    total = at(log_probabilities(proposals.start, kind), gold.start)
    total = total + at(log_probabilities(proposals.last, kind), gold.last)
    if classes is not None:
        total = total + at(classes.log_softmax(dim=-1), gold.label + 1)
    return -total


def match(costs: Floats, taught: Bools, repeats: Optional[int] = None) -> Ints:
    """Give each gold span the proposals that cost least; a proposal has one gold span.

    costs (Floats): Shape: (batch, span, gold)
    taught (Bools): gold spans that take part. Shape: (batch, gold)
    repeats (Optional[int]): largest number of proposals for each gold span; if None,
        every proposal of a window with gold is matched.
    RETURNS (Ints): the gold span of each proposal, or `NOBODY`. Shape: (batch, span)
    """
    # Needed in training only, and slow to import.
    from scipy.optimize import linear_sum_assignment

    n_windows, n_spans, _ = costs.shape
    # SciPy rejects NaN. The loss is NaN, too, and is reported elsewhere.
    costs = np.nan_to_num(costs)
    matched = np.full((n_windows, n_spans), NOBODY, dtype=np.int64)
    for window in range(n_windows):
        (gold,) = np.nonzero(taught[window])
        if len(gold):
            columns = gold[repeated(len(gold), n_spans, repeats)]
            rows, chosen = linear_sum_assignment(costs[window][:, columns])
            matched[window, rows] = columns[chosen]
    return matched


def repeated(n_gold: int, n_spans: int, repeats: Optional[int]) -> Ints:
    """List gold spans in turns until there is one for each proposal.

    RETURNS (Ints): indices of gold spans, each at most `repeats` times, but each at
        least once.
    """
    size = n_spans if repeats is None else min(n_spans, repeats * n_gold)
    return np.arange(max(size, n_gold)) % n_gold


def pointer_loss(scores: Tensor, target: Tensor, mask: Tensor, kind: str) -> Tensor:
    """Compare the scores of tokens with the boundary of the matched gold span.

    scores (Tensor): (batch, span, token)
    target (Tensor): the right token. Shape: (batch, span)
    mask (Tensor): True for real tokens. Shape: (batch, token)
    kind (str): cross entropy of the "softmax", or as in the paper the binary one of
        each token's "sigmoid".
    RETURNS (Tensor): (batch, span)
    """
    if kind == "softmax":
        chosen = scores.log_softmax(dim=-1).gather(-1, target[:, :, None])
        return -chosen.squeeze(dim=-1)
    wanted = F.one_hot(target, scores.shape[-1]).to(scores.dtype)
    each = F.binary_cross_entropy_with_logits(scores, wanted, reduction="none")
    return (each * mask[:, None]).sum(dim=-1)


def boundary_loss(
    proposals: Proposals, matched: Tensor, gold: GoldTensors, mask: Tensor
) -> Tensor:
    """Compare the boundaries of proposals with the gold that they are matched with.

    matched (Tensor): gold span of each proposal, or `NOBODY`. Shape: (batch, span)
    mask (Tensor): True for real tokens. Shape: (batch, token)
    RETURNS (Tensor): the loss of both pointers, summed over matched proposals.
    """
    chosen = matched.clamp(min=0)
    start, last = gold.start.gather(1, chosen), gold.last.gather(1, chosen)
    loss = pointer_loss(proposals.start, start, mask, proposals.kind)
    loss = loss + pointer_loss(proposals.last, last, mask, proposals.kind)
    return (loss * (matched != NOBODY)).sum()


def pointer_scores(
    proposals: Proposals, matched: Tensor, weight: float
) -> Iterator[Scored]:
    """YIELDS (Scored): the scores of both boundaries of matched proposals.

    matched (Tensor): gold span of each proposal, or `NOBODY`. Shape: (batch, span)
    weight (float): of each proposal.
    """
    rows = (matched != NOBODY) * weight
    for scores in (proposals.start, proposals.last):
        if proposals.kind == "softmax":
            yield Scored(scores, rows)
        else:
            yield yes_or_no_scores(scores, rows[:, :, None])


def exact_classes(spans: TokenSpans, gold: GoldTensors) -> Tensor:
    """RETURNS (Tensor): the class of the gold span with exactly these boundaries, or 0
    for "no entity". Shape: (batch, span)
    """
    same = (spans.start[:, :, None] == gold.start[:, None]) & gold.mask[:, None]
    same &= spans.last[:, :, None] == gold.last[:, None]
    return (same * (gold.label + 1)[:, None]).amax(dim=-1)


def matched_classes(matched: Tensor, gold: GoldTensors) -> Tensor:
    """RETURNS (Tensor): the class of the gold span that each proposal is matched with,
    or 0 for "no entity". Shape: (batch, span)
    """
    label = gold.label.gather(1, matched.clamp(min=0))
    return torch.where(matched == NOBODY, 0, label + 1)


def taught_spans(
    denoised: TokenSpans, noisy: TokenSpans, gold: GoldTensors
) -> Tuple[TokenSpans, Tensor]:
    """Collect the spans on which a classifier of denoised spans is trained: denoised
    spans, as in prediction; noisy spans, for more that are no entity; and the gold.

    RETURNS (Tuple[TokenSpans, Tensor]): spans and their classes. (batch, span)
    """
    both = join_spans(denoised, noisy)
    gold_class = torch.where(gold.mask, gold.label + 1, PADDED)
    classes = torch.cat([exact_classes(both, gold), gold_class], dim=1)
    return join_spans(both, TokenSpans(gold.start, gold.last)), classes


def class_loss(
    classes: Tensor,
    target: Tensor,
    no_entity_weight: float,
    missing: Optional[Tensor] = None,
) -> Tensor:
    """RETURNS (Tensor): cross entropy, summed.

    classes (Tensor): scores. Shape: (batch, span, class)
    target (Tensor): classes; `PADDED` is ignored. Shape: (batch, span)
    no_entity_weight (float): weight of "no entity".
    missing (Optional[Tensor]): share of entities without annotation, 0 if None. Shape:
        (batch, span, label)
    """
    classes, target = classes.flatten(0, 1), target.flatten()
    if missing is not None:
        log_p = classes.log_softmax(dim=-1)
        unsaid = log_unsaid(log_p, missing.flatten(0, 1))
        # The first class is now "not annotated", so rows no longer add up to 1.
        classes = torch.cat([unsaid[:, None], log_p[:, 1:]], dim=1)
    else:
        classes = classes.log_softmax(dim=-1)
    weight = classes.new_ones(classes.shape[-1])
    weight[0] = no_entity_weight
    return F.nll_loss(classes, target, weight, reduction="sum", ignore_index=PADDED)

"""The spans that pointers propose, their scores, and their repeats."""

from typing import NamedTuple, Sequence, Tuple

import torch
from torch import Tensor
from torch.nn import functional as F

from .noise import TokenSpans, join_spans

SCORES = ("class", "mean")
BOUNDARY_CHOICES = ("pair", "each")
POINTER_LOSSES = ("softmax", "sigmoid")


class Proposals(NamedTuple):
    """The denoised spans of a step.

    spans (TokenSpans): the best boundaries by the pointers; if these choose on their
        own, a span may end before it starts.
    start, last (Tensor): scores of tokens as boundaries. Shapes: (batch, span, token)
    kind (str): one of `POINTER_LOSSES`, which turns these scores into probabilities.
    state (Tensor): the denoiser's vectors. Shape: (batch, span, width)
    """

    spans: TokenSpans
    start: Tensor
    last: Tensor
    kind: str
    state: Tensor

    @property
    def ordered(self) -> TokenSpans:
        """The spans; those that end before they start have one token."""
        return in_order(self.spans)


def in_order(spans: TokenSpans) -> TokenSpans:
    """RETURNS (TokenSpans): those that end before they start with one token."""
    return TokenSpans(spans.start, torch.maximum(*spans))


def log_probabilities(scores: Tensor, kind: str) -> Tensor:
    """Turn the scores of tokens as a boundary into logarithms of probabilities.

    scores (Tensor): (batch, span, token)
    kind (str): "softmax" over the tokens, or "sigmoid" for each.
    RETURNS (Tensor): (batch, span, token)
    """
    if kind == "softmax":
        return scores.log_softmax(dim=-1)
    return F.logsigmoid(scores)


def propose(
    start: Tensor, last: Tensor, kind: str, state: Tensor, choice: str = "pair"
) -> Proposals:
    """Choose the most probable spans. See `Proposals` for the other arguments.

    choice (str): "pair" for the best boundaries in the right order, or as in the paper
        the best of "each" pointer.
    RETURNS (Proposals): the spans, with the scores.
    """
    if choice == "each":
        spans = TokenSpans(start.argmax(dim=-1), last.argmax(dim=-1))
        return Proposals(spans, start, last, kind, state)
    ranks = start.detach(), last.detach()
    if kind == "sigmoid":  # a softmax keeps the order of the sums
        ranks = F.logsigmoid(ranks[0]), F.logsigmoid(ranks[1])
    return Proposals(best_spans(*ranks), start, last, kind, state)


def best_spans(start: Tensor, last: Tensor) -> TokenSpans:
    """Find the boundaries with the best sum of scores among those in the right order.

    start, last (Tensor): scores of tokens as boundaries. Shapes: (batch, span, token)
    RETURNS (TokenSpans): both ends inclusive. Shapes: (batch, span)
    """
    best, where = start.cummax(dim=-1)  # the best start up to each token
    chosen = (best + last).argmax(dim=-1, keepdim=True)
    return TokenSpans(where.gather(-1, chosen).squeeze(-1), chosen.squeeze(-1))


def class_probabilities(classes: Tensor) -> Tensor:
    """RETURNS (Tensor): of the labels, from the scores of all classes. (..., label)"""
    return classes.softmax(dim=-1)[..., 1:]


def label_scores(proposals: Proposals, classes: Tensor, kind: str) -> Tensor:
    """Score the labels of proposals.

    classes (Tensor): scores of the classes. Shape: (batch, span, class)
    kind (str): "class" for the probability of the label; "mean" for the paper's sum of
        the probabilities of both boundaries and of the label, divided by three, or 0
        where "no entity" is more probable than the label.
    RETURNS (Tensor): scores in [0, 1]. Shape: (batch, span, label)
    """
    label = class_probabilities(classes)
    if kind == "class":
        return label
    # Certain boundaries do not make an entity of it.
    named = classes[..., 1:] >= classes[..., :1]
    boundaries = zip((proposals.start, proposals.last), proposals.spans)
    start, last = (
        log_probabilities(scores, proposals.kind).gather(-1, boundary[:, :, None]).exp()
        for scores, boundary in boundaries
    )
    return ((start + last + label) / 3).where(named, 0.0)


def without_repeats(spans: TokenSpans, n_tokens: int) -> Tuple[TokenSpans, Tensor]:
    """Drop repeated spans. Windows with fewer distinct spans are filled up with
    repeats. On a GPU, which would have to wait for their number, all repeats stay.

    spans (TokenSpans): (batch, span)
    n_tokens (int): tokens of the longest window.
    RETURNS (Tuple[TokenSpans, Tensor]): the distinct ones in order, then repeats, and
        True for the distinct ones. Shapes: (batch, distinct), on a GPU (batch, span)
    """
    cell = (spans.start * n_tokens + spans.last).sort(dim=1).values
    is_new = F.pad(cell[:, 1:] != cell[:, :-1], (1, 0), value=True)
    if cell.is_cpu:
        most = int(is_new.sum(dim=1).max())
        order = (~is_new).to(torch.uint8).argsort(dim=1, stable=True)[:, :most]
        cell, is_new = cell.gather(1, order), is_new.gather(1, order)
    spans = TokenSpans(cell.div(n_tokens, rounding_mode="floor"), cell % n_tokens)
    return spans, is_new


def first_of_equals(spans: TokenSpans, score: Tensor, n_tokens: int) -> Tensor:
    """Choose one proposal for each pair of boundaries: the best, the first of equals.

    spans (TokenSpans): (batch, span)
    score (Tensor): (batch, span)
    n_tokens (int): tokens of the longest window.
    RETURNS (Tensor): True where chosen. Shape: (batch, span)
    """
    n_spans = score.shape[1]
    cell = spans.start * n_tokens + spans.last
    shape = (len(score), n_tokens**2)
    best = score.new_zeros(shape).scatter_reduce(1, cell, score, "amax")
    position = torch.arange(n_spans, device=score.device).expand_as(cell)
    rival = position.where(score >= best.gather(1, cell), n_spans)
    first = cell.new_full(shape, n_spans).scatter_reduce(1, cell, rival, "amin")
    return position == first.gather(1, cell)


def score_steps(
    steps: Sequence[Tuple[Proposals, Tensor]], kind: str, n_tokens: int
) -> Tuple[TokenSpans, Tensor, Tensor]:
    """Collect the proposals of several denoising steps.

    steps (Sequence[Tuple[Proposals, Tensor]]): proposals, and scores of their classes.
    kind (str): see `label_scores`.
    RETURNS (Tuple[TokenSpans, Tensor, Tensor]): all spans, the scores of their labels,
        and True for the best of equal spans that do not end before they start. Shapes:
        (batch, span), (batch, span, label), (batch, span)
    """
    spans = join_spans(*(one.spans for one, _ in steps))
    scores = torch.cat([label_scores(*step, kind) for step in steps], dim=1)
    chosen = first_of_equals(spans, scores.amax(dim=-1), n_tokens)
    return spans, scores, chosen & (spans.start <= spans.last)

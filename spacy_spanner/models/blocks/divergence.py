"""How far two passes of a batch with different dropout disagree (R-Drop, Liang et al.,
NeurIPS 2021).
"""

from typing import List, NamedTuple, Sequence, Union

import torch
from torch import Tensor


class Scored(NamedTuple):
    """Scores of classes that exclude each other, before the softmax.

    scores (Tensor): (..., class)
    weight (Union[float, Tensor]): of the rows, as in the loss. Shape: (...)
    """

    scores: Tensor
    weight: Union[float, Tensor] = 1.0


def yes_or_no_scores(logits: Tensor, weight: Union[float, Tensor] = 1.0) -> Scored:
    """RETURNS (Scored): the two classes of each logit of a sigmoid."""
    return Scored(torch.stack([torch.zeros_like(logits), logits], dim=-1), weight)


def disagreement(one: Sequence[Scored], two: Sequence[Scored]) -> Tensor:
    """Add up the divergences of two passes: for each row, the mean of KL(p, q) and
    KL(q, p), which is Σ (p - q)(s - t) / 2 for scores s and t: the normalizers of both
    cancel out.

    one, two (Sequence[Scored]): the scores of both, and the weights of the first count.
    RETURNS (Tensor): a scalar.
    """
    found: List[Tensor] = []
    for (scores, weight), (others, _) in zip(one, two, strict=True):
        # With the rows in a row for each class, a softmax takes a tenth of the time.
        s, t = scores.movedim(-1, 0), others.movedim(-1, 0)
        rows = ((s.softmax(dim=0) - t.softmax(dim=0)) * (s - t)).sum(dim=0)
        found.append((rows * weight).sum() / 2)
    return torch.stack(found).sum()

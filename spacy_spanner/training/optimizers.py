"""`spacy_spanner.AdamW.v1`: AdamW with parameter groups and a global clip.

The recipe by which encoders are fine-tuned in the papers: encoder and head have their
own learning rates and schedules, biases and norms do not decay, and the gradient is
clipped by its norm over the whole model of a component. It treats tensors of Thinc and
of torch alike, with torch's fused kernel.
"""

import re
from collections import defaultdict
from typing import Any, Dict, List, NamedTuple, Optional, Tuple, Union, cast

import torch
from spacy.util import registry
from thinc.api import Model, Optimizer, PyTorchShim
from thinc.types import FloatsXd
from thinc.util import xp2torch
from torch import Tensor
from torch.optim.adamw import adamw

from ..settings import Rule, at_least, fraction, require
from .parameters import ENCODER, HEAD, Key, Owner, owner_of

Schedule = Any  # a number, or an iterator of numbers such as Thinc's schedules
NOT_DECAYED = re.compile(r"(^|[._])(b|bias|G|beta|gamma)$|norm", re.IGNORECASE)

not_negative = Rule("a number of at least 0", lambda value: value >= 0)


@registry.optimizers("spacy_spanner.AdamW.v1")
def make_adamw(
    *,
    encoder: Schedule = 5e-5,
    head: Schedule = 1e-3,
    weight_decay: float = 0.01,
    grad_clip: float = 1.0,
    beta1: float = 0.9,
    beta2: float = 0.999,
    eps: float = 1e-8,
    frozen_steps: int = 0,
    use_averages: bool = False,
) -> Optimizer:
    """Make the optimizer of the papers, for `[training.optimizer]`.

    encoder, head (Schedule): learning rate of each part, a number or a schedule.
    weight_decay (float): decoupled decay; biases and norms have none.
    grad_clip (float): bound of the gradient's norm over a component; 0 for none.
    beta1, beta2, eps (float): as in Adam.
    frozen_steps (int): the encoder stays as it is for this many steps.
    use_averages (bool): must be false: averages do not reach torch weights.
    RETURNS (Optimizer): see `AdamW`.
    """
    require(Rule("false", lambda value: value is False), use_averages=use_averages)
    return AdamW(
        {ENCODER: encoder, HEAD: head},
        weight_decay=weight_decay,
        grad_clip=grad_clip,
        betas=(beta1, beta2),
        eps=eps,
        frozen_steps=frozen_steps,
    )


class State(NamedTuple):
    """Moments of one tensor, and the number of its updates."""

    mean: Tensor
    square: Tensor
    step: Tensor


class AdamW(Optimizer):
    """Thinc's optimizer interface on torch's fused AdamW.

    Tensors that nobody registered (see `parameters`) count as head, and are clipped
    alone.
    """

    def __init__(
        self,
        learn_rates: Dict[str, Schedule],
        *,
        weight_decay: float,
        grad_clip: float,
        betas: Tuple[float, float],
        eps: float,
        frozen_steps: int,
    ) -> None:
        """Take the recipe over.

        learn_rates (Dict[str, Schedule]): by part of a model.
        RAISES (ValueError): SP002 for a value out of its limits.
        """
        require(not_negative, weight_decay=weight_decay, grad_clip=grad_clip, eps=eps)
        require(fraction, beta1=betas[0], beta2=betas[1])
        require(at_least(0), frozen_steps=frozen_steps)
        super().__init__(
            0.0,
            L2=weight_decay,
            beta1=betas[0],
            beta2=betas[1],
            eps=eps,
            grad_clip=grad_clip,
            use_averages=False,
        )
        self.frozen_steps = frozen_steps
        self.states: Dict[Key, State] = {}
        self._clips: Dict[str, float] = {}
        self._clipped: Dict[str, set] = defaultdict(set)
        for part, rate in learn_rates.items():
            self._set_rate(part, rate)

    def _set_rate(self, part: str, rate: Union[float, Any]) -> None:
        name = f"learn_rate_{part}"
        self._set_attr_or_schedule(name, rate)
        if part == HEAD:
            self.learn_rate = getattr(self, name)  # what spaCy prints

    def step_schedules(self) -> None:
        """Move every learning rate on by one step."""
        super().step_schedules()
        self.learn_rate = getattr(self, f"learn_rate_{HEAD}")

    def __call__(
        self,
        key: Key,
        weights: FloatsXd,
        gradient: FloatsXd,
        *,
        lr_scale: float = 1.0,
    ) -> Tuple[FloatsXd, FloatsXd]:
        """Update one tensor in place, and set its gradient to zero.

        key (Key): id of the layer, and name of the tensor.
        weights, gradient (FloatsXd): arrays of Thinc, or views of torch tensors.
        lr_scale (float): factor on the learning rate.
        RETURNS (Tuple[FloatsXd, FloatsXd]): the same arrays.
        """
        owner = owner_of(key)
        part = HEAD if owner is None else owner.part
        tensor, grad = xp2torch(weights), xp2torch(gradient)
        factor = self._clip_factor(key, owner, grad)
        self.nr_update[key] += 1
        if part != ENCODER or self.nr_update[key] > self.frozen_steps:
            grad.mul_(factor)
            name = key[1] if owner is None else owner.name
            rate = lr_scale * getattr(self, f"learn_rate_{part}")
            self._update(key, tensor, grad, rate, decays=not NOT_DECAYED.search(name))
        grad.zero_()
        return weights, gradient

    def _update(
        self, key: Key, tensor: Tensor, grad: Tensor, rate: float, *, decays: bool
    ) -> None:
        """Take one step of AdamW on one tensor."""
        if key not in self.states:
            step = torch.zeros((), device=tensor.device)
            mean, square = torch.zeros_like(tensor), torch.zeros_like(tensor)
            self.states[key] = State(mean, square, step)
        mean, square, step = self.states[key]
        adamw(
            [tensor],
            [grad],
            [mean],
            [square],
            [],
            [step],
            fused=True,
            amsgrad=False,
            maximize=False,
            beta1=self.b1,
            beta2=self.b2,
            lr=rate,
            weight_decay=self.L2 if decays else 0.0,
            eps=self.eps,
        )

    def _clip_factor(self, key: Key, owner: Optional[Owner], grad: Tensor) -> float:
        """Compute once a step, at the first tensor of a model, how much all shrink.

        RETURNS (float): as `torch.nn.utils.clip_grad_norm_` multiplies by.
        """
        if not self.grad_clip:
            return 1.0
        if owner is None:
            return self._factor([grad])
        seen = self._clipped[owner.component]
        if key in seen or not seen:
            seen.clear()
            self._clips[owner.component] = self._factor(gradients(owner.pipe().model))
        seen.add(key)
        return self._clips[owner.component]

    def _factor(self, grads: List[Tensor]) -> float:
        norm = torch.linalg.vector_norm(torch.stack([g.norm() for g in grads]))
        return min(1.0, self.grad_clip / (float(norm) + 1e-6))


def gradients(model: Model) -> List[Tensor]:
    """RETURNS (List[Tensor]): all gradients of a model, of Thinc and of torch."""
    found: List[Tensor] = []
    for node in model.walk():
        for name in node.param_names:
            if node.has_grad(name):
                found.append(xp2torch(cast(FloatsXd, node.get_grad(name))))
        for shim in node.shims:
            if isinstance(shim, PyTorchShim):
                tensors = (tensor.grad for tensor in shim._model.parameters())
                found.extend(grad for grad in tensors if grad is not None)
    return found

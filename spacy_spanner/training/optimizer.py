"""`spacy_spanner.AdamW.v1`: AdamW with parameter groups and a global clip.

The recipe by which encoders are fine-tuned in the papers: encoder and head have their
own learning rates and schedules, biases and norms do not decay, and the gradient is
clipped by its norm over the whole model of a component. It treats tensors of Thinc and
of torch alike, with torch's fused kernel.
"""

import warnings
from collections import defaultdict
from math import isfinite
from typing import (
    Any,
    Callable,
    Dict,
    List,
    NamedTuple,
    Optional,
    Sequence,
    Set,
    Tuple,
    cast,
)
from weakref import WeakSet

import torch
from spacy.util import registry
from thinc.api import Model, Optimizer
from thinc.types import FloatsXd
from thinc.util import xp2torch
from torch import Tensor
from torch.optim.adamw import adamw

from ..errors import Errors, Warnings
from ..settings import Rule, at_least, fraction, require
from .groups import Group, Schedule, default_groups, group_of, not_negative, read_groups
from .owners import HEAD, Key, Owner, is_frozen, known_owners, owner_of, torch_shims

# Optimizers that have moved weights; who stores the state of training looks here.
in_use: "WeakSet[AdamW]" = WeakSet()


@registry.optimizers("spacy_spanner.AdamW.v1")
def make_adamw(
    *,
    encoder: Schedule = 5e-5,
    head: Schedule = 1e-3,
    groups: Optional[Dict[str, Dict[str, Any]]] = None,
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
        Learned prompts count as head.
    groups (Optional[Dict[str, Dict[str, Any]]]): tensors with other rates, see
        `groups.read_groups`; the first group whose pattern fits wins.
    weight_decay (float): decoupled decay; biases and norms have none.
    grad_clip (float): bound of the gradient's norm over a component; 0 for none.
    beta1, beta2, eps (float): as in Adam.
    frozen_steps (int): the encoder stays as it is for this many steps.
    use_averages (bool): must be false: averages do not reach torch weights.
    RETURNS (Optimizer): see `AdamW`.
    """
    require(Rule("false", lambda value: value is False), use_averages=use_averages)
    require(not_negative, weight_decay=weight_decay)
    require(at_least(0), frozen_steps=frozen_steps)
    own = read_groups(groups or {}, weight_decay)
    return AdamW(
        [*own, *default_groups(encoder, head, weight_decay, frozen_steps)],
        grad_clip=grad_clip,
        betas=(beta1, beta2),
        eps=eps,
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
        groups: Sequence[Group],
        *,
        grad_clip: float,
        betas: Tuple[float, float],
        eps: float,
    ) -> None:
        """Take the recipe over.

        groups (Sequence[Group]): the first that fits a tensor holds.
        RAISES (ValueError): SP002 for a value out of its limits.
        """
        require(not_negative, grad_clip=grad_clip, eps=eps)
        require(fraction, beta1=betas[0], beta2=betas[1])
        super().__init__(
            0.0,
            beta1=betas[0],
            beta2=betas[1],
            eps=eps,
            grad_clip=grad_clip,
            use_averages=False,
        )
        self.groups = groups
        self.states: Dict[Key, State] = {}
        self.n_schedule_steps = 0
        self._patterns_to_check = {group.name for group in groups if group.pattern}
        self._group_of: Dict[Tuple[Key, str], Group] = {}
        self._unknown: Set[Key] = set()
        self._clips: Dict[str, float] = {}
        self._clipped: Dict[str, set] = defaultdict(set)
        for group in groups:
            self._set_attr_or_schedule(_rate_name(group.name), group.learn_rate)
        self._show_rate()

    def _show_rate(self) -> None:
        self.learn_rate = getattr(self, _rate_name(HEAD))  # what spaCy prints

    def step_schedules(self) -> None:
        """Move every learning rate on by one step."""
        super().step_schedules()
        self.n_schedule_steps += 1
        # A step is over: no factor of it holds for a tensor that was not in it.
        self._clipped.clear()
        self._show_rate()

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
        owner = self._owner(key)
        grad = xp2torch(gradient)
        if not is_frozen(key):
            factor = self._clip_factor(key, owner, grad)
            group = self._group(key, owner)
            self.nr_update[key] += 1
            if self.nr_update[key] > group.frozen_steps:
                rate = lr_scale * getattr(self, _rate_name(group.name))
                tensor = xp2torch(weights)
                decay = group.decay_of(key[1], tensor.ndim, owner)
                self._update(key, tensor, grad, factor, rate, decay)
        if owner is None or not owner.in_torch:  # Thinc clears those of torch itself
            grad.zero_()
        return weights, gradient

    def _owner(self, key: Key) -> Optional[Owner]:
        if key in self._unknown:
            return None
        owner = owner_of(key)
        if owner is None:
            if not self._unknown:
                warnings.warn(Warnings.SW005.format(tensor=key[1]), stacklevel=3)
            self._unknown.add(key)
        return owner

    def _group(self, key: Key, owner: Optional[Owner]) -> Group:
        """Find the group of a tensor, and tell of patterns that fit none."""
        place = key, "" if owner is None else owner.name
        if place not in self._group_of:
            self._group_of[place] = group_of(self.groups, owner)
        elif self._patterns_to_check and self.nr_update[key] == 1:
            self._check_patterns()
        return self._group_of[place]

    def _check_patterns(self) -> None:
        """Tell once, in the second step, of patterns that fit no tensor."""
        # Frozen tensors count: without a gradient they are never handed over.
        fitting = {group_of(self.groups, owner).name for owner in known_owners()}
        unused, self._patterns_to_check = self._patterns_to_check - fitting, set()
        if unused:
            message = Warnings.SW006.format(groups=", ".join(sorted(unused)))
            warnings.warn(message, stacklevel=4)

    def _stays(self, key: Key) -> bool:
        """RETURNS (bool): whether a tensor will not move in the step that begins."""
        if is_frozen(key):
            return True
        return self.nr_update[key] < self._group(key, owner_of(key)).frozen_steps

    def _update(
        self,
        key: Key,
        tensor: Tensor,
        grad: Tensor,
        factor: float,
        rate: float,
        decay: float,
    ) -> None:
        """Take one step of AdamW on one tensor."""
        if key not in self.states:
            in_use.add(self)
            step = torch.zeros((), device=tensor.device)
            mean, square = torch.zeros_like(tensor), torch.zeros_like(tensor)
            self.states[key] = State(mean, square, step)
        mean, square, step = self.states[key]
        # The kernel divides by the scale, which saves a pass over the gradient.
        scale = None if factor == 1.0 else torch.tensor(1 / factor).to(grad.device)
        adamw(
            [tensor],
            [grad],
            [mean],
            [square],
            [],
            [step],
            fused=True,
            grad_scale=scale,
            amsgrad=False,
            maximize=False,
            beta1=self.b1,
            beta2=self.b2,
            lr=rate,
            weight_decay=decay,
            eps=self.eps,
        )

    def _clip_factor(self, key: Key, owner: Optional[Owner], grad: Tensor) -> float:
        """Compute once a step, at the first tensor of a model, how much all shrink.

        RETURNS (float): as `torch.nn.utils.clip_grad_norm_` multiplies by.
        """
        if not self.grad_clip:
            return 1.0
        if owner is None:
            return self._factor([grad], key[1])
        seen = self._clipped[owner.component]
        if key in seen or not seen:
            seen.clear()
            found = gradients(owner.pipe().model, self._stays)
            self._clips[owner.component] = self._factor(found, owner.component)
        seen.add(key)
        return self._clips[owner.component]

    def _factor(self, grads: List[Tensor], owner: str) -> float:
        if not grads:  # all that got one stay as they are
            return 1.0
        norms = torch.stack([grad.norm() for grad in grads])
        norm = float(torch.linalg.vector_norm(norms))
        if not isfinite(norm):
            raise ValueError(Errors.SP147.format(component=owner, norm=norm))
        return min(1.0, self.grad_clip / (norm + 1e-6))


def gradients(model: Model, stays: Callable[[Key], bool] = is_frozen) -> List[Tensor]:
    """Collect the gradients of what learns.

    stays (Callable): tells of a tensor whether to leave it out.
    RETURNS (List[Tensor]): of Thinc and of torch.
    """
    found: List[Tensor] = []
    for node in model.walk():
        for name in node.param_names:
            if node.has_grad(name) and not stays((node.id, name)):
                found.append(xp2torch(cast(FloatsXd, node.get_grad(name))))
        for shim in torch_shims(node):
            if shim._grad_scaler.found_inf:
                continue  # it lets this step out, and scales the next loss lower
            for name, tensor in shim._model.named_parameters():
                if tensor.grad is not None and not stays((shim.id, name)):
                    found.append(tensor.grad)
    return found


def _rate_name(group: str) -> str:
    return f"learn_rate_{group}"

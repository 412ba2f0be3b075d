"""`spacy_spanner.AdamW.v1`: AdamW with parameter groups and a global clip.

The usual recipe for fine-tuning encoders: encoder and head have their own learning
rates and schedules, biases and norms have no weight decay, and the gradient is clipped
by its norm over the whole model of a component. Tensors of Thinc and of torch are
treated alike, with torch's fused kernel.
"""

import math
from types import FrameType
from typing import (
    Any,
    Dict,
    List,
    Optional,
    Sequence,
    Set,
    Tuple,
    cast,
)

import torch
from spacy.util import registry
from thinc.api import Model, Optimizer
from thinc.types import FloatsXd
from thinc.util import torch2xp
from torch import Tensor

from ..errors import Errors
from ..internals import internal
from ..layers.devices import set_to_zero, view_of
from ..settings import Rule, at_least, fraction, is_number, require, yes_or_no
from .averages import Averages
from .frozen import Learned, gradients
from .groups import (
    Group,
    Schedule,
    default_groups,
    not_negative,
    own_schedules,
    read_groups,
)
from .kernels import State, gradient_norm, take_step
from .owners import HEAD, Key, running_update
from .plans import ModelPlan, Plans

share = Rule(
    "a number above 0 and at most 1", lambda value: is_number(value) and 0 < value <= 1
)


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
    average_decay: float = 0.999,
    layer_decay: float = 1.0,
) -> Optimizer:
    """Create the optimizer, for `[training.optimizer]`.

    encoder, head (Schedule): learning rate of each part, a number or a schedule, which
        may be the same object. Learned prompts count as head.
    groups (Optional[Dict[str, Dict[str, Any]]]): further parameter groups, see
        `groups.read_groups`; a tensor belongs to the first that matches.
    weight_decay (float): decoupled weight decay, not for biases and norms.
    grad_clip (float): maximum norm of a component's gradient; 0 for no clipping.
    beta1, beta2, eps (float): as in Adam.
    frozen_steps (int): number of steps at the start with a frozen encoder.
    use_averages (bool): whether moving averages of all weights are evaluated and
        stored instead of the weights, which are trained as without them.
    average_decay (float): the highest weight of the average so far in the new one. In
        the first steps it is lower: (1 + step) / (10 + step).
    layer_decay (float): the rate of each layer of a transformer in proportion to that
        of the layer above it; the rate `encoder` is that of the top layer.
    RETURNS (Optimizer): see `AdamW`.

    >>> nlp, optimizer = spacy.load("model"), make_adamw(encoder=1e-5, head=1e-3)
    >>> losses = nlp.update(list(Corpus("dev.spacy")(nlp)), sgd=optimizer)
    """
    require(yes_or_no, use_averages=use_averages)
    require(fraction, average_decay=average_decay)
    require(share, layer_decay=layer_decay)
    require(not_negative, weight_decay=weight_decay)
    require(at_least(0), frozen_steps=frozen_steps)
    own = read_groups(groups or {}, weight_decay)
    return AdamW(
        [*own, *default_groups(encoder, head, weight_decay, frozen_steps)],
        grad_clip=grad_clip,
        betas=(beta1, beta2),
        eps=eps,
        moving=Averages(average_decay) if use_averages else None,
        layer_decay=layer_decay,
    )


class AdamW(Optimizer):
    """Thinc's optimizer interface on torch's fused AdamW.

    It must be called by `Model.finish_update`, as in all of spaCy's training loops.

    >>> isinstance(make_adamw(encoder=1e-5, head=1e-3), AdamW)
    True
    """

    def __init__(
        self,
        groups: Sequence[Group],
        *,
        grad_clip: float,
        betas: Tuple[float, float],
        eps: float,
        moving: Optional[Averages] = None,
        layer_decay: float = 1.0,
    ) -> None:
        """moving (Optional[Averages]): None for no averages.
        layer_decay (float): see `layer_rates.layer_factors`.

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
        self.moving = moving
        self.states: Dict[Key, State] = {}
        self._plans = Plans(groups, layer_decay=layer_decay)
        set_rate = internal(self, "_set_attr_or_schedule")
        for group in own_schedules(groups):
            set_rate(_rate_name(group.name), group.learn_rate)
        self._show_rate()

    @property
    def averages(self) -> Optional[Dict[Any, Any]]:
        """The averages as `nlp.use_params` takes them; None without."""
        return None if self.moving is None else self.moving.as_params()

    @averages.setter
    def averages(self, value: Any) -> None:
        """Ignore what Thinc's optimizer sets when it is made: none of its own."""

    def _show_rate(self) -> None:
        self.learn_rate = getattr(self, _rate_name(HEAD))  # what spaCy prints

    def step_schedules(self) -> None:
        """Advance every learning rate by one step."""
        super().step_schedules()
        self._plans.end_step()
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
        lr_scale (float): factor on the learning rate, the same for all tensors.
        RETURNS (Tuple[FloatsXd, FloatsXd]): the updated weights, mostly the same array,
            and the gradient.
        RAISES (ValueError): SP021 if no model is being updated, SP022 for a tensor in
            no known part and no group, SP023 for one of neither Thinc nor torch,
            SP147 for a gradient that is not finite.
        """
        model, call = running_update(key[1])
        plan = self._plans.of(model)
        # Every tensor with a gradient comes once in each step.
        if key not in plan.due:
            updated = self._take_step(plan, model, key, call, lr_scale)
            if key in updated and not _shares_memory(weights, updated[key]):
                weights = cast(FloatsXd, torch2xp(updated[key]))
        plan.due.discard(key)
        self.nr_update[key] += key not in plan.frozen
        return weights, gradient

    def _take_step(
        self,
        plan: ModelPlan,
        model: Model,
        key: Key,
        call: FrameType,
        lr_scale: float,
    ) -> Dict[Key, Tensor]:
        """Update all tensors of a model that learn in this step, when the first of them
        comes: a GPU then waits for the host once a step, not once a tensor.

        RETURNS (Dict[Key, Tensor]): the updated tensors.
        """
        found = list(gradients(model))
        keys = {key, *(one.key for one in found)}
        self._forget(self._plans.begin_step(model, call, keys))
        learning = [one for one in found if self._learns(plan, one.key)]
        factor = self._factor(learning, plan.owners[key].component)
        self._move(plan, learning, factor, lr_scale)
        if self.moving is not None:
            self.moving.know(model)
            self.moving.update(learning, self.nr_update)
        # Thinc resets gradients of torch itself.
        of_thinc = [one for one in found if not plan.owners[one.key].in_torch]
        set_to_zero([one.gradient for one in of_thinc])
        plan.due = {one.key for one in found}
        return {one.key: one.weights for one in learning}

    def _factor(self, learning: Sequence[Learned], component: str) -> float:
        """RETURNS (float): what gradients are multiplied by to clip their norm, as in
        `torch.nn.utils.clip_grad_norm_`; 1 with `grad_clip = 0`.

        RAISES (ValueError): SP147 if the norm is not finite; the gradients are zero
            then, so that whoever catches the error can go on.
        """
        if not learning:
            return 1.0
        grads = [one.gradient for one in learning]
        norm = gradient_norm(grads)
        if not math.isfinite(norm):
            set_to_zero(grads)
            raise ValueError(Errors.SP147.format(component=component, norm=norm))
        return min(1.0, self.grad_clip / (norm + 1e-6)) if self.grad_clip else 1.0

    def _move(
        self,
        plan: ModelPlan,
        learning: Sequence[Learned],
        factor: float,
        lr_scale: float,
    ) -> None:
        """Update tensors, those with the same rate, decay, device and type at once.

        factor (float): on the gradients.
        """
        groups: Dict[Tuple, List[Learned]] = {}
        for one in learning:
            group = plan.groups[one.key]
            decay = group.decay_of(one.weights.ndim, plan.owners[one.key])
            rate = getattr(self, _rate_name(group.name)) * plan.layer_factor(one.key)
            place = rate, decay, one.weights.device, one.weights.dtype
            groups.setdefault(place, []).append(one)
        scales: Dict[torch.device, Optional[Tensor]] = {}
        for (rate, decay, device, _), members in groups.items():
            if device not in scales:
                scale = torch.tensor(1 / factor).to(device)
                scales[device] = None if factor == 1.0 else scale
            take_step(
                members,
                self.states,
                scales[device],
                lr=lr_scale * rate,
                weight_decay=decay,
                beta1=self.b1,
                beta2=self.b2,
                eps=self.eps,
            )

    def _forget(self, keys: Set[Key]) -> None:
        """Free the states of tensors that no model has any more."""
        for key in keys:
            self.states.pop(key, None)
            self.nr_update.pop(key, None)
            if self.moving is not None:
                self.moving.of.pop(key, None)

    def _learns(self, plan: ModelPlan, key: Key) -> bool:
        """RETURNS (bool): whether a tensor is updated in this step."""
        if key in plan.frozen:
            return False
        return self.nr_update[key] >= plan.groups[key].frozen_steps


def _shares_memory(array: FloatsXd, tensor: Tensor) -> bool:
    """RETURNS (bool): whether an array is a view of a tensor."""
    return view_of(array).data_ptr() == tensor.data_ptr()


def _rate_name(group: str) -> str:
    return f"learn_rate_{group}"

"""`spacy_spanner.AdamW.v1`: AdamW with parameter groups and a global clip.

The usual recipe for fine-tuning encoders: encoder and head have their own learning
rates and schedules, biases and norms have no weight decay, and the gradient is clipped
by its norm over the whole model of a component. Tensors of Thinc and of torch are
treated alike, with torch's fused kernel.
"""

import math
import warnings
from dataclasses import dataclass, field
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

from ..errors import Errors, Warnings
from ..internals import internal
from ..layers.devices import set_to_zero, view_of
from ..settings import Rule, at_least, fraction, is_number, require, yes_or_no
from .averages import Averages
from .frozen import Learned, frozen_keys, gradients
from .groups import (
    Group,
    Schedule,
    default_groups,
    find_group,
    group_of,
    not_negative,
    read_groups,
)
from .kernels import State, gradient_norm, take_step
from .layer_rates import layer_factors
from .owners import (
    ENCODER,
    HEAD,
    Key,
    Named,
    Owner,
    components_around,
    owners_of,
    running_update,
)

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

    encoder, head (Schedule): learning rate of each part, a number or a schedule.
        Learned prompts count as head.
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


@dataclass
class ModelPlan:
    """What an optimizer knows about a model; it holds no reference to the model.

    owners (Dict[Key, Owner]): by key, in the order of updates.
    groups (Dict[Key, Group]): of the tensors that were updated.
    layers (Dict[Key, float]): factors on the rates of the layers of an encoder.
    frozen (Set[Key]): tensors without updates in this step.
    factor (float): factor on the gradients of this step.
    due (Set[Key]): tensors that were updated, and that Thinc will still pass.
    """

    owners: Dict[Key, Owner] = field(default_factory=dict)
    groups: Dict[Key, Group] = field(default_factory=dict)
    layers: Dict[Key, float] = field(default_factory=dict)
    frozen: Set[Key] = field(default_factory=set)
    factor: float = 1.0
    due: Set[Key] = field(default_factory=set)


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
        self.groups, self.moving, self.layer_decay = groups, moving, layer_decay
        self.states: Dict[Key, State] = {}
        self._patterns_to_check = {group.name for group in groups if group.pattern}
        self._layers_to_check = layer_decay < 1
        self._plans: Dict[int, ModelPlan] = {}  # by id of the model
        set_rate = internal(self, "_set_attr_or_schedule")
        for group in groups:
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
        for plan in self._plans.values():
            plan.due.clear()
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
        plan = self._plans.setdefault(model.id, ModelPlan())
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
        self._begin_step(plan, model, key, call, [one.key for one in found])
        learning = [one for one in found if self._learns(plan, one.key)]
        plan.factor = self._factor(learning, plan.owners[key].component)
        self._move(plan, learning, lr_scale)
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
        `torch.nn.utils.clip_grad_norm_`.

        RAISES (ValueError): SP147 if the norm is not finite; the gradients are zero
            then, so that whoever catches the error can go on.
        """
        if not learning or not self.grad_clip:
            return 1.0
        grads = [one.gradient for one in learning]
        norm = gradient_norm(grads)
        if not math.isfinite(norm):
            set_to_zero(grads)
            raise ValueError(Errors.SP147.format(component=component, norm=norm))
        return min(1.0, self.grad_clip / (norm + 1e-6))

    def _move(
        self, plan: ModelPlan, learning: Sequence[Learned], lr_scale: float
    ) -> None:
        """Update tensors, those with the same rate, decay, device and type at once."""
        groups: Dict[Tuple, List[Learned]] = {}
        for one in learning:
            owner, group = plan.owners[one.key], self._group(plan, one.key)
            decay = group.decay_of(one.weights.ndim, owner)
            factor = plan.layers.get(one.key, 1.0) if group.name == ENCODER else 1.0
            rate = factor * getattr(self, _rate_name(group.name))
            place = rate, decay, one.weights.device, one.weights.dtype
            groups.setdefault(place, []).append(one)
        scales: Dict[torch.device, Optional[Tensor]] = {}
        for (rate, decay, device, _), members in groups.items():
            if device not in scales:
                scale = torch.tensor(1 / plan.factor).to(device)
                scales[device] = None if plan.factor == 1.0 else scale
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

    def _begin_step(
        self,
        plan: ModelPlan,
        model: Model,
        key: Key,
        call: FrameType,
        keys: Sequence[Key],
    ) -> None:
        """Find the owners of all tensors, and which of them are frozen.

        keys (Sequence[Key]): of the tensors with a gradient.
        """
        if self._patterns_to_check and plan.owners:
            self._check_patterns(components_around(model, call))
        if self._layers_to_check and plan.owners:
            self._check_layers()
        if not {key, *keys} <= plan.owners.keys():
            before = plan.owners.keys()
            plan.owners = owners_of(model, components_around(model, call))
            plan.groups.clear()
            plan.layers = {}
            if self.layer_decay < 1:
                plan.layers = layer_factors(plan.owners, self.layer_decay)
            self._forget(before - plan.owners.keys())
        if key not in plan.owners:
            raise ValueError(Errors.SP023.format(tensor=key[1], model=model.name))
        plan.frozen = frozen_keys(model)

    def _forget(self, keys: Set[Key]) -> None:
        """Free the states of tensors that no model has any more, such as those of a
        head that was adapted to other labels.
        """
        known = [plan.owners for plan in self._plans.values()]
        for key in keys:
            if not any(key in owners for owners in known):
                self.states.pop(key, None)
                self.nr_update.pop(key, None)
                if self.moving is not None:
                    self.moving.of.pop(key, None)

    def _learns(self, plan: ModelPlan, key: Key) -> bool:
        """RETURNS (bool): whether a tensor is updated in this step."""
        if key in plan.frozen:
            return False
        return self.nr_update[key] >= self._group(plan, key).frozen_steps

    def _group(self, plan: ModelPlan, key: Key) -> Group:
        if key not in plan.groups:
            plan.groups[key] = group_of(self.groups, plan.owners[key])
        return plan.groups[key]

    def _check_patterns(self, components: Sequence[Named]) -> None:
        """Warn once, in the second step, about patterns that match no tensor."""
        # Frozen tensors count too, although they have no gradient and are never passed.
        models = [getattr(pipe, "model", None) for _, pipe in components]
        owners = [plan.owners for plan in self._plans.values()]
        owners += [owners_of(m, components) for m in models if isinstance(m, Model)]
        found = [find_group(self.groups, o) for known in owners for o in known.values()]
        fitting = {group.name for group in found if group is not None}
        unused, self._patterns_to_check = self._patterns_to_check - fitting, set()
        if unused:
            message = Warnings.SW006.format(groups=", ".join(sorted(unused)))
            warnings.warn(message, stacklevel=4)

    def _check_layers(self) -> None:
        """Warn once, in the second step, if no encoder has numbered layers."""
        self._layers_to_check = False
        if not any(plan.layers for plan in self._plans.values()):
            message = Warnings.SW010.format(value=self.layer_decay)
            warnings.warn(message, stacklevel=5)


def _shares_memory(array: FloatsXd, tensor: Tensor) -> bool:
    """RETURNS (bool): whether an array is a view of a tensor."""
    return view_of(array).data_ptr() == tensor.data_ptr()


def _rate_name(group: str) -> str:
    return f"learn_rate_{group}"

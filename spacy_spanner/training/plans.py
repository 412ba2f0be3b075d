"""What an optimizer knows about each model that it updates: the owner and the group of
every tensor, the rates of the layers, and what is frozen.
"""

import warnings
from dataclasses import dataclass, field
from types import FrameType
from typing import Dict, List, Sequence, Set

from thinc.api import Model

from ..errors import Errors, Warnings
from .frozen import frozen_keys
from .groups import Group, find_group, group_of
from .layer_rates import layer_factors
from .owners import ENCODER, Key, Named, Owner, components_around, owners_of


@dataclass
class ModelPlan:
    """What is known about a model; there is no reference to the model itself.

    owners (Dict[Key, Owner]): by key, in the order of updates.
    groups (Dict[Key, Group]): of the tensors that were updated.
    layers (Dict[Key, float]): factors on the rates of the layers of an encoder.
    frozen (Set[Key]): tensors without updates in this step.
    due (Set[Key]): tensors that were updated, and that Thinc will still pass.
    """

    owners: Dict[Key, Owner] = field(default_factory=dict)
    groups: Dict[Key, Group] = field(default_factory=dict)
    layers: Dict[Key, float] = field(default_factory=dict)
    frozen: Set[Key] = field(default_factory=set)
    due: Set[Key] = field(default_factory=set)

    def layer_factor(self, key: Key) -> float:
        """RETURNS (float): the factor on the rate of a tensor."""
        is_encoder = self.groups[key].name == ENCODER
        return self.layers.get(key, 1.0) if is_encoder else 1.0


class Plans:
    """The plans of all models of one optimizer.

    >>> plans = Plans(default_groups(5e-5, 1e-3, 0.01, 0), layer_decay=1.0)
    """

    def __init__(self, groups: Sequence[Group], *, layer_decay: float) -> None:
        """groups (Sequence[Group]): a tensor belongs to the first that matches.
        layer_decay (float): see `layer_rates.layer_factors`.
        """
        self.groups, self.layer_decay = groups, layer_decay
        self._of: Dict[int, ModelPlan] = {}  # by id of the model
        self._patterns_to_check = {group.name for group in groups if group.pattern}
        self._layers_to_check = layer_decay < 1

    def of(self, model: Model) -> ModelPlan:
        """RETURNS (ModelPlan): the plan of a model, empty before its first step."""
        return self._of.setdefault(model.id, ModelPlan())

    def end_step(self) -> None:
        """Forget which tensors Thinc will still pass."""
        for plan in self._of.values():
            plan.due.clear()

    def begin_step(self, model: Model, call: FrameType, keys: Set[Key]) -> Set[Key]:
        """Find the owners and groups of tensors, and which of them are frozen.

        call (FrameType): the running `Model.finish_update`.
        keys (Set[Key]): of the tensors with a gradient.
        RETURNS (Set[Key]): tensors that no model has any more, such as those of a head
            that was adapted to other labels.
        RAISES (ValueError): SP022 for a tensor in no known part and no group, SP023 for
            one of neither Thinc nor torch.
        """
        plan = self.of(model)
        if plan.owners:
            self._check_once(model, call)
        gone: Set[Key] = set()
        if not keys <= plan.owners.keys():
            gone = self._find_owners(plan, model, call)
        plan.frozen = frozen_keys(model)
        for key in keys - plan.groups.keys() - plan.frozen:
            if key not in plan.owners:
                raise ValueError(Errors.SP023.format(tensor=key[1], model=model.name))
            plan.groups[key] = group_of(self.groups, plan.owners[key])
        return gone

    def _find_owners(self, plan: ModelPlan, model: Model, call: FrameType) -> Set[Key]:
        """RETURNS (Set[Key]): tensors that no model has any more."""
        before = plan.owners.keys()
        plan.owners = owners_of(model, components_around(model, call))
        plan.groups.clear()
        decays = self.layer_decay < 1
        plan.layers = layer_factors(plan.owners, self.layer_decay) if decays else {}
        return before - {key for known in self._of.values() for key in known.owners}

    def _check_once(self, model: Model, call: FrameType) -> None:
        """Warn in the second step, when the first has shown all models."""
        if self._patterns_to_check:
            self._check_patterns(components_around(model, call))
        if self._layers_to_check:
            self._check_layers()

    def _check_patterns(self, components: Sequence[Named]) -> None:
        """Warn about patterns that match no tensor."""
        # Frozen tensors count too, although they have no gradient and are never passed.
        models = [getattr(pipe, "model", None) for _, pipe in components]
        owners: List[Dict[Key, Owner]] = [plan.owners for plan in self._of.values()]
        owners += [owners_of(m, components) for m in models if isinstance(m, Model)]
        found = [find_group(self.groups, o) for known in owners for o in known.values()]
        fitting = {group.name for group in found if group is not None}
        unused, self._patterns_to_check = self._patterns_to_check - fitting, set()
        if unused:
            message = Warnings.SW006.format(groups=", ".join(sorted(unused)))
            warnings.warn(message, stacklevel=6)

    def _check_layers(self) -> None:
        """Warn if no encoder has numbered layers."""
        self._layers_to_check = False
        if not any(plan.layers for plan in self._of.values()):
            message = Warnings.SW010.format(value=self.layer_decay)
            warnings.warn(message, stacklevel=6)

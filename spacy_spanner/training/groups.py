"""Parameter groups: patterns, learning rates and weight decay."""

import re
from itertools import tee
from typing import Any, Dict, List, NamedTuple, Optional, Sequence

from ..errors import Errors
from ..settings import Rule, at_least, not_negative, one_of, optional, require
from .owners import ENCODER, HEAD, Owner

Schedule = Any  # a number, or an iterator of numbers such as Thinc's schedules
PARTS = (ENCODER, HEAD)
SETTINGS = ("pattern", "learn_rate", "weight_decay", "frozen_steps")
# Biases, and gain and bias of norms, by the name inside the layer. Those of an LSTM are
# called bias_hh_l0; a look-up table of biases has the word in the middle.
NOT_DECAYED = re.compile(r"(^|[._])(bias|(b|G|beta|gamma)$)|norm", re.IGNORECASE)


def _is_pattern(value: Any) -> bool:
    try:
        return isinstance(value, str) and bool(value) and bool(re.compile(value))
    except re.error:
        return False


pattern_rule = Rule("a regular expression", _is_pattern)
group_name = Rule(
    "a valid identifier", lambda value: isinstance(value, str) and value.isidentifier()
)
schedule_rule = Rule(
    "a number of at least 0, or a schedule",
    lambda value: hasattr(value, "__next__") or not_negative.accepts(value),
)


class Group(NamedTuple):
    """A parameter group.

    name (str): "encoder", "head", or the name of a user's group.
    pattern (str): regular expression, searched in component.part.layer.tensor; empty
        for encoder and head.
    learn_rate (Schedule): a number or a schedule.
    weight_decay (float): for tensors that are neither biases nor gains.
    frozen_steps (int): number of steps without updates at the start.
    """

    name: str
    pattern: str
    learn_rate: Schedule
    weight_decay: float
    frozen_steps: int

    def fits(self, owner: Owner) -> bool:
        """RETURNS (bool): whether a tensor belongs here."""
        if self.pattern:
            return bool(re.search(self.pattern, owner.name))
        return self.name == owner.part

    def decay_of(self, n_axes: int, owner: Owner) -> float:
        """RETURNS (float): the decay of a tensor; 0 for biases, gains and norms."""
        decays = n_axes > 1 and not owner.in_norm
        decays = decays and not NOT_DECAYED.search(owner.tensor)
        return self.weight_decay if decays else 0.0


def read_groups(blocks: Dict[str, Dict[str, Any]], weight_decay: float) -> List[Group]:
    """Read `[training.optimizer.groups.*]`.

    blocks (Dict[str, Dict[str, Any]]): by name of the group: `pattern` and
        `learn_rate`, and optionally `frozen_steps` and `weight_decay`.
    RETURNS (List[Group]): in the order of the config.
    RAISES (ValueError): SP002 for a value out of its limits.
    """
    groups = []
    for name, block in blocks.items():
        where = f"groups.{name}"
        require(group_name, **{where: name})
        taken = Rule("a name other than encoder and head", lambda v: v not in PARTS)
        require(taken, **{where: name})
        for setting in block:
            require(one_of(SETTINGS), **{where: setting})
        require(pattern_rule, **{f"{where}.pattern": block.get("pattern")})
        require(schedule_rule, **{f"{where}.learn_rate": block.get("learn_rate")})
        decay, steps = block.get("weight_decay"), block.get("frozen_steps", 0)
        require(optional(not_negative), **{f"{where}.weight_decay": decay})
        require(at_least(0), **{f"{where}.frozen_steps": steps})
        decay = weight_decay if decay is None else decay
        groups.append(Group(name, block["pattern"], block["learn_rate"], decay, steps))
    return groups


def default_groups(
    encoder: Schedule, head: Schedule, weight_decay: float, frozen_steps: int
) -> List[Group]:
    """RETURNS (List[Group]): the groups of encoder and head."""
    require(schedule_rule, encoder=encoder, head=head)
    return [
        Group(ENCODER, "", encoder, weight_decay, frozen_steps),
        Group(HEAD, "", head, weight_decay, 0),
    ]


def own_schedules(groups: Sequence[Group]) -> List[Group]:
    """Give every group a schedule of its own: one that several groups share would
    advance once for each of them in a step.

    RETURNS (List[Group]): the groups, with the same rates.
    """
    copies: Dict[int, Schedule] = {id(one.learn_rate): one.learn_rate for one in groups}
    own = []
    for group in groups:
        rate = group.learn_rate
        if hasattr(rate, "__next__") and _n_uses(rate, groups) > 1:
            copies[id(rate)], rate = tee(copies[id(rate)])
        own.append(group._replace(learn_rate=rate))
    return own


def _n_uses(rate: Schedule, groups: Sequence[Group]) -> int:
    """RETURNS (int): number of groups with this very object as their rate."""
    return sum(group.learn_rate is rate for group in groups)


def find_group(groups: Sequence[Group], owner: Owner) -> Optional[Group]:
    """RETURNS (Optional[Group]): the first that matches a tensor."""
    return next((group for group in groups if group.fits(owner)), None)


def group_of(groups: Sequence[Group], owner: Owner) -> Group:
    """RETURNS (Group): the first that matches a tensor.
    RAISES (ValueError): SP022 if none does.
    """
    group = find_group(groups, owner)
    if group is None:
        pattern = re.escape(f"{owner.component}.{owner.part}.")
        raise ValueError(Errors.SP022.format(tensor=owner.name, pattern=pattern))
    return group

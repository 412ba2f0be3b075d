"""The settings that all components share, and the rules that settings obey.

A component keeps all its settings in `cfg`, which is saved with it; the dataclasses
here and in the codecs say their names, defaults and limits, once.
"""

from dataclasses import dataclass, field
from math import inf
from typing import Any, Callable, Dict, NamedTuple

from .errors import Errors
from .spans.geometry import OVERLAP_POLICIES
from .spans.windows import WINDOW_MODES

DEFAULT_SPANS_KEY = "ents"
SET_ENTS_MODES = ("off", "score", "longest")


class Rule(NamedTuple):
    """What a setting must be: in words, and as a test."""

    expected: str
    accepts: Callable[[Any], bool]


def is_number(value: Any) -> bool:
    """RETURNS (bool): whether a value is a number, which true and false are not."""
    return isinstance(value, (int, float)) and not isinstance(value, bool)


fraction = Rule(
    "a number from 0 to below 1", lambda value: is_number(value) and 0 <= value < 1
)
probability = Rule(
    "a number from 0 to 1", lambda value: is_number(value) and 0 <= value <= 1
)
not_negative = Rule(
    "a number of at least 0", lambda value: is_number(value) and 0 <= value < inf
)
probabilities = Rule(
    "a mapping of labels to numbers from 0 to 1",
    lambda value: (
        isinstance(value, dict)
        and all(isinstance(label, str) for label in value)
        and all(probability.accepts(number) for number in value.values())
    ),
)
above_0 = Rule("a number above 0", lambda value: is_number(value) and 0 < value < inf)
yes_or_no = Rule("true or false", lambda value: isinstance(value, bool))
text = Rule(
    "a text that is not empty", lambda value: isinstance(value, str) and bool(value)
)


def at_least(minimum: int) -> Rule:
    """RETURNS (Rule): whole numbers from `minimum` on that arrays can hold."""
    return Rule(
        f"a whole number of at least {minimum}, and below 2**63",
        lambda value: (
            isinstance(value, int)
            and not isinstance(value, bool)
            and minimum <= value < 2**63
        ),
    )


whole_numbers = Rule(
    "a list of whole numbers of at least 1",
    lambda value: (
        isinstance(value, list) and bool(value) and all(map(at_least(1).accepts, value))
    ),
)


def one_of(choices: tuple) -> Rule:
    """RETURNS (Rule): one of the given words."""
    words = ", ".join(map(repr, choices))
    return Rule(f"one of {words}", lambda value: value in choices)


def optional(rule: Rule) -> Rule:
    """RETURNS (Rule): the rule, or nothing."""
    return Rule(
        f"{rule.expected}, or null", lambda value: value is None or rule.accepts(value)
    )


even = Rule(
    "an even number, for two directions of equal size",
    lambda value: at_least(0).accepts(value) and value % 2 == 0,
)


def require(rule: Rule, **values: Any) -> None:
    """Compare values with a rule.

    RAISES (ValueError): SP002 for the first that breaks it.
    """
    for name, value in values.items():
        if not rule.accepts(value):
            raise ValueError(
                Errors.SP002.format(name=name, expected=rule.expected, value=value)
            )


def check(settings: Any, **rules: Rule) -> None:
    """Compare attributes with their rules.

    RAISES (ValueError): SP002 for the first that breaks its rule.
    """
    for name, rule in rules.items():
        require(rule, **{name: getattr(settings, name)})


@dataclass(frozen=True)
class SpanSettings:
    """What every span component understands, whatever its model.

    spans_key (str): key in `doc.spans`: read as gold, written as prediction.
    threshold (float): a span is kept when its score is at least this.
    label_thresholds (Dict[str, float]): other thresholds for single labels.
    temperature (float): divides the log-odds of scores, before thresholds are applied;
        fitted by `spanner tune`, so that scores say how often spans are right.
    overlap (str): which spans may stand together: "flat" (no shared token), "nested"
        (one inside another, but no crossing) or "any". The higher score wins.
    set_ents (str): whether `doc.ents` gets a choice without overlaps too: "off",
        "score" (the more confident first) or "longest" (the longer first).
    overwrite (bool): whether spans and entities that are there already are replaced,
        or kept and added to.
    window (str): what the model sees at once: "sentence" (where the document has
        boundaries), "doc" or "strided".
    max_window (int): longest window, in tokens; what is longer is cut.
    stride (int): tokens that consecutive windows of a cut text share.
    max_cells (int): scores of spans (one for each label and one for "no entity"; with
        span_offset one for each class and channel of each label) that are computed at
        once: less needs less memory, and more time. A single window is not cut any
        further.
    seed (int): seed of the sampling in training, for models that sample, and of the
        noise of span_diffusion in prediction.
    """

    spans_key: str = DEFAULT_SPANS_KEY
    threshold: float = 0.5
    label_thresholds: Dict[str, float] = field(default_factory=dict)
    temperature: float = 1.0
    overlap: str = "nested"
    set_ents: str = "off"
    overwrite: bool = True
    window: str = "sentence"
    max_window: int = 256
    stride: int = 64
    max_cells: int = 2_000_000
    seed: int = 0

    def __post_init__(self) -> None:
        check(
            self,
            spans_key=text,
            threshold=probability,
            label_thresholds=probabilities,
            temperature=above_0,
            overlap=one_of(OVERLAP_POLICIES),
            set_ents=one_of(SET_ENTS_MODES),
            overwrite=yes_or_no,
            window=one_of(WINDOW_MODES),
            max_window=at_least(1),
            stride=at_least(0),
            max_cells=at_least(1),
            seed=at_least(0),
        )
        limit = f"smaller than max_window, which is {self.max_window}"
        require(Rule(limit, lambda value: value < self.max_window), stride=self.stride)

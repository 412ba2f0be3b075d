"""The settings that all components share, and what can be done with any settings.

Settings are frozen dataclasses: here those that all components share, in the codecs
those of a model, and next to the torch modules those of an architecture. A dataclass
holds the names, types, defaults, limits and descriptions of its settings; signatures,
default configs, comments and tables of settings are made from it.
"""

import inspect
import re
from dataclasses import MISSING, Field, dataclass, field, fields
from inspect import Parameter, Signature
from math import inf
from typing import (
    Any,
    Callable,
    Dict,
    List,
    NamedTuple,
    Optional,
    Type,
    Union,
    get_type_hints,
)

from .errors import Errors
from .spans.overlap import OVERLAP_POLICIES
from .spans.windows import WINDOW_MODES

DEFAULT_SPANS_KEY = "ents"
SET_ENTS_MODES = ("off", "score", "longest")

# `name, name (type): text` in a docstring, and the indented lines that continue it.
ENTRY = re.compile(r"^(\w[\w, ]*) \([^)]*\): (.*(?:\n {4}.*)*)", re.MULTILINE)
RESULTS = re.compile(r"^(?=RAISES|RETURNS)", re.MULTILINE)


class Rule(NamedTuple):
    """What values a setting accepts: in words, and as a test."""

    expected: str
    accepts: Callable[[Any], bool]


def is_number(value: Any) -> bool:
    """RETURNS (bool): whether a value is a number; true and false are not."""
    return isinstance(value, (int, float)) and not isinstance(value, bool)


fraction = Rule(
    "a number of at least 0 and below 1",
    lambda value: is_number(value) and 0 <= value < 1,
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
finite = Rule("a number", lambda value: is_number(value) and -inf < value < inf)
yes_or_no = Rule("true or false", lambda value: isinstance(value, bool))
text = Rule("a non-empty string", lambda value: isinstance(value, str) and bool(value))


def at_least(minimum: int) -> Rule:
    """RETURNS (Rule): integers of at least `minimum` that fit into an array."""
    return Rule(
        f"an integer of at least {minimum} and below 2**63",
        lambda value: (
            isinstance(value, int)
            and not isinstance(value, bool)
            and minimum <= value < 2**63
        ),
    )


whole_numbers = Rule(
    "a non-empty list of integers of at least 1",
    lambda value: (
        isinstance(value, list) and bool(value) and all(map(at_least(1).accepts, value))
    ),
)


def one_of(choices: tuple) -> Rule:
    """RETURNS (Rule): one of the given strings."""
    words = ", ".join(map(repr, choices))
    return Rule(f"one of {words}", lambda value: value in choices)


def optional(rule: Rule) -> Rule:
    """RETURNS (Rule): the rule, or None."""
    return Rule(
        f"{rule.expected}, or null", lambda value: value is None or rule.accepts(value)
    )


AUTO = "auto"
CELLS_ON_CPU = 2_000_000


def or_auto(rule: Rule) -> Rule:
    """RETURNS (Rule): the rule, or "auto"."""
    return Rule(
        f'{rule.expected}, or "auto"',
        lambda value: value == AUTO or rule.accepts(value),
    )


def multiple_of(number: int, of_what: str) -> Rule:
    """RETURNS (Rule): multiples of a number, which is that of something."""
    return Rule(
        f"a multiple of the {number} {of_what}",
        lambda value: at_least(1).accepts(value) and value % number == 0,
    )


even = Rule(
    "an even integer of at least 0 (half for each direction)",
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


def setting(default: Any, rule: Rule) -> Any:
    """RETURNS (Any): a field of a settings class, whose values must follow the rule."""
    if isinstance(default, (list, dict)):
        return field(default_factory=default.copy, metadata={"rule": rule})
    return field(default=default, metadata={"rule": rule})


@dataclass(frozen=True)
class Settings:
    """Base of all classes of settings: compares values with the rules of their fields.

    RAISES (ValueError): SP002 for the first that breaks its rule.
    """

    def __post_init__(self) -> None:
        for one in fields(self):
            if "rule" in one.metadata:
                require(one.metadata["rule"], **{one.name: getattr(self, one.name)})


class Description(NamedTuple):
    """What a docstring says about one setting, or about several that share a text."""

    names: List[str]
    text: str


def describe(thing: Any) -> List[Description]:
    """Read the descriptions of arguments or fields from a docstring in spaCy's style.

    thing (Any): a function or a class.
    RETURNS (List[Description]): in the order of the docstring.
    """
    return [
        Description(names.split(", "), " ".join(words.split()))
        for names, words in ENTRY.findall(inspect.cleandoc(thing.__doc__ or ""))
        if names.islower()  # RETURNS and RAISES look alike
    ]


def documented(thing: Any) -> Dict[str, str]:
    """RETURNS (Dict[str, str]): the description of each argument or field, by name."""
    return {name: found.text for found in describe(thing) for name in found.names}


def defaults_of(settings_type: Type[Any]) -> Dict[str, Any]:
    """RETURNS (Dict[str, Any]): the default of each field of a settings class."""
    return {one.name: _default(one) for one in fields(settings_type)}


def _default(one: Field) -> Any:
    if one.default_factory is not MISSING:
        return one.default_factory()
    return one.default


def expand(function: Callable, *settings_types: Type[Any], **defaults: Any) -> Callable:
    """Replace `**settings` in the signature of a function by the fields of classes.

    The validation of configs reads names, types and defaults from the signature and
    the annotations; the docstring gets the descriptions of the classes.

    function (Callable): takes the settings as `**settings`.
    *settings_types (Type): dataclasses; where two have the same field, the last counts.
    **defaults: defaults that differ from those of the classes.
    RETURNS (Callable): the function.
    """
    values: Dict[str, Any] = {}
    hints: Dict[str, Any] = {}
    for settings_type in settings_types:
        values.update(defaults_of(settings_type))
        hints.update(get_type_hints(settings_type))
    values.update(defaults)
    own = inspect.signature(function).parameters.values()
    parameters = [one for one in own if one.kind is not Parameter.VAR_KEYWORD]
    parameters += [
        Parameter(name, Parameter.KEYWORD_ONLY, default=value, annotation=hints[name])
        for name, value in values.items()
    ]
    function.__signature__ = Signature(parameters)  # type: ignore[attr-defined]
    function.__annotations__.update({name: hints[name] for name in values})
    function.__doc__ = _insert_descriptions(function.__doc__ or "", *settings_types)
    return function


def _insert_descriptions(docstring: str, *settings_types: Type[Any]) -> str:
    """RETURNS (str): the docstring, with those of the classes after the arguments."""
    own, *results = RESULTS.split(inspect.cleandoc(docstring), maxsplit=1)
    parts = [inspect.getdoc(one) or "" for one in settings_types]
    added = [part.partition("\n\n")[2] for part in parts]
    return "\n".join([own.rstrip("\n"), *added, *results])


@dataclass(frozen=True)
class SpanSettings(Settings):
    """The settings of every span component, whatever its model.

    spans_key (str): key in `doc.spans`: read as gold, written as prediction.
    threshold (Union[float, str]): a span is kept when its score is at least this. With
        "auto", `spacy_spanner.auto_threshold.v1` chooses it on the dev data whenever
        `spacy train` stores the pipeline. Until then, and so during training, it is the
        default of the component.
    label_thresholds (Dict[str, float]): other thresholds for single labels.
    temperature, bias (float): before thresholds are applied, the log-odds of scores are
        divided by the temperature, and the bias is added. Fitted by `spanner tune`.
    overlap (str): which spans may be kept together: "flat" (no shared token), "nested"
        (one inside another, but no crossing) or "any". The higher score wins.
    set_ents (str): whether `doc.ents` is set, too, to a choice without overlaps: "off",
        "score" (highest score first) or "longest" (longest span first).
    overwrite (bool): whether existing spans and entities are replaced, also those of
        earlier components with the same spans_key; otherwise they are kept, and new
        ones are added.
    window (str): what the model sees at once: "sentence" (if the document has sentence
        boundaries), "doc" or "strided".
    max_window (int): longest window, in tokens; longer ones are cut.
    stride (int): tokens that consecutive windows of a cut text share.
    max_cells (Union[int, str]): scores of spans (one for each label and one for "no
        entity"; with span_offset one for each class and channel of each label) that are
        computed at once. span_locate_label scores few spans with large networks: there,
        96 bytes that its tokens and seeds need count as one, so 2,000,000 are 190 MB. A
        lower limit needs less memory and more time. A single window is never divided;
        only its labels are, by span_offset in prediction (if conv_types is off). With
        "auto", it is 2,000,000 on a CPU, and on a GPU as many as fit into half of its
        free memory.
    max_candidates (Optional[int]): spans of a window that may reach their threshold;
        of more, as from a model that has hardly been trained, only the best are
        considered. No limit if None.
    missing_rate (float): share of the entities that annotators are assumed to miss
        in incomplete annotation; with 1, spans without annotation teach nothing there.
    r_drop (float): weight of how far two readings of a batch with other dropout
        disagree, in training. Above 0, training takes about twice the time.
    seed (int): seed of the sampling in training, for models that sample, and of the
        noise of span_diffusion in prediction.
    """

    spans_key: str = setting(DEFAULT_SPANS_KEY, text)
    threshold: Union[float, str] = setting(0.5, or_auto(probability))
    label_thresholds: Dict[str, float] = setting({}, probabilities)
    temperature: float = setting(1.0, above_0)
    bias: float = setting(0.0, finite)
    overlap: str = setting("nested", one_of(OVERLAP_POLICIES))
    set_ents: str = setting("off", one_of(SET_ENTS_MODES))
    overwrite: bool = setting(True, yes_or_no)
    window: str = setting("sentence", one_of(WINDOW_MODES))
    max_window: int = setting(256, at_least(1))
    stride: int = setting(64, at_least(0))
    max_cells: Union[int, str] = setting(CELLS_ON_CPU, or_auto(at_least(1)))
    max_candidates: Optional[int] = setting(1_000, optional(at_least(1)))
    missing_rate: float = setting(0.5, probability)
    r_drop: float = setting(0.0, not_negative)
    seed: int = setting(0, at_least(0))

    def __post_init__(self) -> None:
        super().__post_init__()
        limit = f"smaller than max_window ({self.max_window})"
        require(Rule(limit, lambda value: value < self.max_window), stride=self.stride)

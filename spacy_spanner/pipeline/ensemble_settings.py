"""The settings of `span_ensemble`."""

from dataclasses import dataclass
from typing import Dict, List, Union

from ..errors import Errors
from ..settings import (
    DEFAULT_SPANS_KEY,
    SET_ENTS_MODES,
    Rule,
    Settings,
    SpanSettings,
    above_0,
    finite,
    not_negative,
    one_of,
    or_auto,
    probabilities,
    probability,
    require,
    setting,
    text,
    yes_or_no,
)
from ..spans.overlap import OVERLAP_POLICIES
from .calibration import Calibration


def list_of(rule: Rule) -> Rule:
    """RETURNS (Rule): lists of what another rule accepts."""
    return Rule(
        f"a list, each entry {rule.expected}",
        lambda value: (
            isinstance(value, (list, tuple)) and all(map(rule.accepts, value))
        ),
    )


names = Rule(
    "a non-empty list of different names",
    lambda value: (
        list_of(text).accepts(value) and len(set(value)) == len(value) and bool(value)
    ),
)


@dataclass(frozen=True)
class EnsembleSettings(Settings):
    """The settings of `span_ensemble`.

    members (List[str]): components before the ensemble, or the span groups that they
        write.
    weights (List[float]): how much each member counts; all the same if empty. Fitted by
        `spanner tune`.
    temperatures, biases (List[float]): calibrate the scores of each member before they
        are averaged; all 1 and all 0 if empty. Fitted by `spanner tune`.
    spans_key (str): key in `doc.spans` to write to; no member may write there.
    threshold (Union[float, str]): a span is kept when its joint score is at least this;
        "auto" as for other components.
    label_thresholds (Dict[str, float]): other thresholds for single labels.
    temperature, bias (float): calibrate the joint scores, before thresholds are
        applied; fitted by `spanner tune`.
    overlap (str): which spans may be kept together: "flat", "nested" or "any".
    set_ents (str): whether `doc.ents` is set, too: "off", "score" or "longest".
    overwrite (bool): whether existing spans and entities are replaced.
    keep_members (bool): whether the groups of the members stay in the document.
    """

    members: List[str] = setting([], names)
    weights: List[float] = setting([], list_of(not_negative))
    temperatures: List[float] = setting([], list_of(above_0))
    biases: List[float] = setting([], list_of(finite))
    spans_key: str = setting(DEFAULT_SPANS_KEY, text)
    threshold: Union[float, str] = setting(0.3, or_auto(probability))
    label_thresholds: Dict[str, float] = setting({}, probabilities)
    temperature: float = setting(1.0, above_0)
    bias: float = setting(0.0, finite)
    overlap: str = setting("nested", one_of(OVERLAP_POLICIES))
    set_ents: str = setting("off", one_of(SET_ENTS_MODES))
    overwrite: bool = setting(True, yes_or_no)
    keep_members: bool = setting(True, yes_or_no)

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("weights", "temperatures", "biases"):
            values = getattr(self, name)
            if values and len(values) != len(self.members):
                raise ValueError(
                    Errors.SP173.format(
                        name=name, values=len(values), members=len(self.members)
                    )
                )
        if self.weights:
            require(Rule("a list with a number above 0", any), weights=self.weights)

    @property
    def calibrations(self) -> List[Calibration]:
        """Those of the members."""
        n_members = len(self.members)
        temperatures = self.temperatures or [1.0] * n_members
        biases = self.biases or [0.0] * n_members
        return [Calibration(*one) for one in zip(temperatures, biases)]

    @property
    def for_writing(self) -> SpanSettings:
        """The settings that all components share, for what writes their spans."""
        shared = ("spans_key", "overlap", "set_ents", "overwrite")
        return SpanSettings(**{name: getattr(self, name) for name in shared})

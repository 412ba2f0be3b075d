"""What a component knows besides its weights: settings and labels, which live in `cfg`.

`cfg` is the only place for settings: it is stored, spaCy's commands write to it, and
a change takes effect with the next call.
"""

from dataclasses import fields
from typing import Any, Dict, List, NamedTuple, Optional, Sequence, Tuple, Type

from spacy.vocab import Vocab
from thinc.api import Model

from ..errors import Errors
from ..models.codec import SpanCodec
from ..settings import AUTO, SpanSettings, is_number, probability, require

# The labels whose scores the head computes, in order; an entry only as long as they
# differ from the labels of the component, see `label_changes`.
HEAD_LABELS = "head_labels"
# The number that `threshold = "auto"` stands for; no entry before it was chosen.
CHOSEN_THRESHOLD = "chosen_threshold"
# The size of the training data; no entry as long as a component was not trained.
TRAINED_ON = "trained_on"
# Entries of `cfg` that are no settings.
NO_SETTINGS = ("labels", HEAD_LABELS, TRAINED_ON)
# Entries that stored settings may lack. Those of before must not stay then.
MAY_LACK = (HEAD_LABELS, CHOSEN_THRESHOLD, TRAINED_ON)


class MadeSettings(NamedTuple):
    """The settings of a component, checked.

    settings (SpanSettings): those that all span components share.
    codec (SpanCodec): the model's mathematics with its own settings.
    """

    settings: SpanSettings
    codec: SpanCodec


class SettingsReader:
    """Makes settings from `cfg`, and makes them again only when `cfg` has changed."""

    def __init__(self, codec_type: Type[Any], constant: Any) -> None:
        """Make a reader that has not read anything.

        codec_type (Type[SpanCodec]): the codec's class; its fields are settings.
        constant (float): the threshold of "auto" as long as none was chosen.
        """
        self.codec_type, self.constant = codec_type, constant
        # What was last made, from which entries and their types. They are replaced
        # together: another thread may be reading at the same time.
        self._last: Optional[Tuple[Dict[str, Any], List[type], MadeSettings]] = None

    def read(self, cfg: Dict[str, Any]) -> MadeSettings:
        """RETURNS (MadeSettings): settings with their values in `cfg`; the threshold is
        a number.

        RAISES (ValueError): SP002 for a setting out of its limits.
        """
        now, last = cfg.copy(), self._last
        # True equals 1 but is no number, so types count.
        types = [type(value) for value in now.values()]
        if last is not None and (now, types) == last[:2]:
            return last[2]
        now = copied(now)
        in_use = with_number(now, self.constant)
        settings = SpanSettings(**_known(SpanSettings, in_use))
        codec = self.codec_type(**_known(self.codec_type, in_use))
        made = MadeSettings(settings, codec)
        self._last = now, types, made
        return made


def with_number(cfg: Dict[str, Any], constant: float) -> Dict[str, Any]:
    """Replace the threshold "auto" by a number.

    cfg (Dict[str, Any]): settings of a component, which stay as they are.
    constant (float): the threshold if none was chosen.
    RETURNS (Dict[str, Any]): the settings in use.
    RAISES (ValueError): SP002 if what was chosen is no threshold.
    """
    if cfg.get("threshold") != AUTO:
        return cfg
    number = cfg.get(CHOSEN_THRESHOLD, constant)
    require(probability, chosen_threshold=number)
    return {**cfg, "threshold": number}


def threshold_of(pipe: Any) -> Optional[float]:
    """RETURNS (Optional[float]): the threshold that a component uses, of this package
    or of another one; None if it has none.
    """
    value = (getattr(pipe, "cfg", None) or {}).get("threshold")
    if value == AUTO:
        value = getattr(getattr(pipe, "settings", None), "threshold", None)
    return None if value is None or not is_number(value) else float(value)


def copied(value: Any) -> Any:
    """Copy lists and mappings while other threads may change them.

    `deepcopy` fails if a mapping grows while it is copied. Here, each list and mapping
    is copied by a single call, which no other thread can interrupt.

    value (Any): an entry of `cfg`, or `cfg` itself.
    RETURNS (Any): a copy, down to the last list.
    """
    if isinstance(value, dict):
        return {name: copied(entry) for name, entry in value.copy().items()}
    if isinstance(value, list):
        return [copied(entry) for entry in list(value)]
    return value


def _known(settings_type: Type[Any], cfg: Dict[str, Any]) -> Dict[str, Any]:
    names = [field.name for field in fields(settings_type)]
    return {name: cfg[name] for name in names if name in cfg}


def label_ids(cfg: Dict[str, Any]) -> Dict[str, int]:
    """RETURNS (Dict[str, int]): the id of each label, which is its place in `cfg`."""
    return {label: index for index, label in enumerate(cfg["labels"])}


def set_labels(
    cfg: Dict[str, Any], labels: Sequence[str], head: Model, vocab: Vocab
) -> None:
    """Set the labels of a component, whose model gets new weights.

    head (Model): knows its number of labels once it has weights.
    RAISES (ValueError): SP008 if that number differs.
    """
    if head.has_dim("nO") and head.get_dim("nO") != len(labels):
        raise ValueError(
            Errors.SP008.format(
                component=head.name,
                saved=head.get_dim("nO"),
                present=len(labels),
                labels=", ".join(labels),
            )
        )
    cfg["labels"] = list(labels)
    cfg.pop(HEAD_LABELS, None)
    for label in labels:
        vocab.strings.add(label)


def head_labels(cfg: Dict[str, Any]) -> List[str]:
    """RETURNS (List[str]): the labels whose scores the head computes, in order."""
    return list(cfg.get(HEAD_LABELS, cfg["labels"]))


def head_label_ids(cfg: Dict[str, Any]) -> Dict[str, int]:
    """RETURNS (Dict[str, int]): the place in the head of each label that it knows."""
    known = {label: place for place, label in enumerate(head_labels(cfg))}
    return {label: known[label] for label in cfg["labels"] if label in known}


def require_same_labels(
    n_weights: Optional[int], labels: Sequence[str], component: str
) -> None:
    """Compare the number of labels of the weights and of the settings.

    n_weights (Optional[int]): None for weights that do not exist yet.
    RAISES (ValueError): SP007 if they differ.
    """
    if n_weights is not None and n_weights != len(labels):
        raise ValueError(
            Errors.SP007.format(
                component=component,
                weights=n_weights,
                settings=len(labels),
                labels=", ".join(labels),
            )
        )

"""Other labels for a component that is trained already.

A new label is only noted at first: the model stays as it is, so that the component
predicts the same, bit for bit, whatever its model is. A removed label is not reported
any more. The model is adapted when training goes on.
"""

from typing import Any, Dict, List, Sequence

import numpy as np
from thinc.api import Model

from ..errors import Errors
from ..layers.resizing import resize_labels
from ..spans.table import Ints, SpanTable
from .prediction import Thresholds
from .state import HEAD_LABELS, head_labels, label_ids

# Settings with an entry for some labels.
BY_LABEL = "label_thresholds"


def change_labels(cfg: Dict[str, Any], labels: Sequence[str], head: Model) -> None:
    """Set the labels of a component, whose model is adapted later if it has weights.

    head (Model): knows its number of labels once it has weights.
    """
    in_head = head_labels(cfg)
    cfg["labels"] = list(labels)
    cfg.pop(HEAD_LABELS, None)
    if head.has_dim("nO") and in_head != cfg["labels"]:
        cfg[HEAD_LABELS] = in_head


def without(cfg: Dict[str, Any], label: str, component: str) -> List[str]:
    """RETURNS (List[str]): the labels without one, whose threshold is dropped, too.

    RAISES (ValueError): SP250 if it does not exist, SP251 if it is the only one.
    """
    labels = cfg["labels"]
    if label not in labels:
        known = ", ".join(labels)
        raise ValueError(
            Errors.SP250.format(component=component, label=label, labels=known)
        )
    if len(labels) == 1:
        raise ValueError(Errors.SP251.format(component=component, label=label))
    thresholds = cfg.get(BY_LABEL, {})
    if label in thresholds:
        cfg[BY_LABEL] = {one: thresholds[one] for one in thresholds if one != label}
    return [one for one in labels if one != label]


def adapt_model(model: Model, cfg: Dict[str, Any], seed: int) -> None:
    """Give a model the labels of the settings, if they differ from those it has.

    seed (int): of the weights of new labels.
    """
    if HEAD_LABELS not in cfg:
        return
    known = {label: place for place, label in enumerate(cfg[HEAD_LABELS])}
    resize_labels(model, [known.get(label) for label in cfg["labels"]], seed)
    del cfg[HEAD_LABELS]


def thresholds_of_head(
    thresholds: Thresholds, cfg: Dict[str, Any], default: float
) -> Thresholds:
    """RETURNS (Thresholds): of the labels of the head; those that were removed have the
    default and are hidden.
    """
    if HEAD_LABELS not in cfg:
        return thresholds
    places = _places(cfg)
    lowest = np.where(places < 0, np.float32(default), thresholds.lowest[places])
    return thresholds._replace(lowest=lowest, hidden=places < 0)


def with_label_ids(spans: SpanTable, cfg: Dict[str, Any]) -> SpanTable:
    """RETURNS (SpanTable): spans that the head found, with the ids of their labels."""
    if HEAD_LABELS not in cfg:
        return spans
    return spans._replace(label=_places(cfg)[spans.label])


def _places(cfg: Dict[str, Any]) -> Ints:
    """RETURNS (Ints): the id of each label of the head; -1 if it was removed."""
    ids = label_ids(cfg)
    places = [ids.get(label, -1) for label in head_labels(cfg)]
    return np.asarray(places, dtype=np.int64)

"""Confusion of labels, and errors of boundaries."""

from typing import Any, Dict, Iterable, List, Tuple

from .matching import Match

NONE = "(none)"
BOUNDARY_KINDS = {
    "longer": "the predicted span contains the gold span",
    "shorter": "the predicted span lies inside the gold span",
    "shifted": "the spans cross",
}
# Larger offsets are clipped to this one.
MAX_OFFSET = 3


def label_confusion(matches: Iterable[Match]) -> Dict[str, Any]:
    """Compute the confusion matrix of labels.

    matches (Iterable[Match]): matches of all documents.
    RETURNS (Dict[str, Any]): `labels`, and `counts` with gold labels as rows and
        predicted labels as columns. The last row and column, "(none)", count spurious
        and missed spans.
    """
    pairs = [
        (
            match.gold[2] if match.gold else NONE,
            match.predicted[2] if match.predicted else NONE,
        )
        for match in matches
    ]
    present = {label for pair in pairs for label in pair} - {NONE}
    labels = sorted(present)
    place = {label: index for index, label in enumerate([*labels, NONE])}
    counts = [[0] * len(place) for _ in place]
    for gold, predicted in pairs:
        counts[place[gold]][place[predicted]] += 1
    return {"labels": [*labels, NONE], "counts": counts}


def frequent_confusions(confusion: Dict[str, Any], limit: int) -> List[Dict[str, Any]]:
    """List the most frequent confusions of labels.

    confusion (Dict[str, Any]): see `label_confusion`.
    limit (int): maximum length of the list.
    RETURNS (List[Dict[str, Any]]): `gold`, `predicted`, `spans`, most frequent first,
        without missed and spurious spans.
    """
    labels = confusion["labels"][:-1]
    rows = [
        {"gold": gold, "predicted": predicted, "spans": confusion["counts"][i][j]}
        for i, gold in enumerate(labels)
        for j, predicted in enumerate(labels)
        if i != j and confusion["counts"][i][j]
    ]
    return sorted(rows, key=lambda row: -row["spans"])[:limit]


def boundary_errors(matches: Iterable[Match]) -> Dict[str, int]:
    """RETURNS (Dict[str, int]): number of wrong boundaries, by kind of error."""
    counts = dict.fromkeys(BOUNDARY_KINDS, 0)
    for start, end in _offsets(matches):
        if (start, end) != (0, 0):
            counts[boundary_kind(start, end)] += 1
    return counts


def boundary_kind(start: int, end: int) -> str:
    """Classify the error of a predicted span.

    start, end (int): offsets of its boundaries from those of the gold span.
    RETURNS (str): "longer", "shorter" or "shifted".
    """
    if start <= 0 and end >= 0:
        return "longer"
    return "shorter" if start >= 0 and end <= 0 else "shifted"


def offset_table(matches: Iterable[Match], limit: int = MAX_OFFSET) -> Dict[str, Any]:
    """Count the offsets of the boundaries of overlapping spans.

    matches (Iterable[Match]): matches of all documents.
    limit (int): larger offsets are clipped to this one.
    RETURNS (Dict[str, Any]): `offsets`, from -limit to limit, and `counts` with offsets
        of the start as rows and of the end as columns. An offset is the predicted
        boundary minus the gold one.
    """
    offsets = list(range(-limit, limit + 1))
    counts = [[0] * len(offsets) for _ in offsets]
    for start, end in _offsets(matches):
        row, column = (max(-limit, min(limit, value)) + limit for value in (start, end))
        counts[row][column] += 1
    return {"offsets": offsets, "counts": counts}


def _offsets(matches: Iterable[Match]) -> List[Tuple[int, int]]:
    return [
        (match.predicted[0] - match.gold[0], match.predicted[1] - match.gold[1])
        for match in matches
        if match.gold is not None and match.predicted is not None
    ]

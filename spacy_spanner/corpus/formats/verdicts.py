"""What annotators of Label Studio say about regions and texts with the tag `Choices`.

Choices for each region accept or reject it; they have the id of the region. Choices for
the text say whether its annotation is complete.
"""

from typing import Any, Dict, List, NamedTuple, Optional, Set

ACCEPTED, REJECTED = {"accept", "accepted"}, {"reject", "rejected"}
COMPLETE, INCOMPLETE = "complete", "incomplete"
# The origin of regions that no annotator has changed.
PREDICTION = "prediction"


class Judged(NamedTuple):
    """The regions of an annotation.

    entities (List[Dict[str, Any]]): those that are entities.
    rejected (List[Dict[str, Any]]): those that are known to be none.
    incomplete (bool): whether there may be other entities.
    """

    entities: List[Dict[str, Any]]
    rejected: List[Dict[str, Any]]
    incomplete: bool


def judge(results: List[Any]) -> Judged:
    """Divide the regions of an annotation by the choices of the annotator.

    If a region was accepted or rejected, nothing is known about other spans and about
    predicted regions without an answer, unless the text was said to be complete.

    results (List[Any]): the "result" of the annotation.
    RETURNS (Judged): regions in the order of the results.
    """
    chosen: Dict[Any, Set[str]] = {}
    for result in results:
        choices = _value_of(result).get("choices")
        if isinstance(choices, list):
            words = {one.casefold() for one in choices if isinstance(one, str)}
            chosen.setdefault(result.get("id"), set()).update(words)
    regions = [one for one in map(_region_of, results) if one is not None]
    mine = [chosen.get(one["id"], set()) for one in regions]
    said = set().union(*chosen.values())
    asked = any(words & (ACCEPTED | REJECTED) for words in mine)
    incomplete = INCOMPLETE in said or (asked and COMPLETE not in said)
    entities, rejected = [], []
    for region, words in zip(regions, mine):
        if words & REJECTED:
            rejected.append(region)
        elif words & ACCEPTED or not (
            asked and incomplete and region["origin"] == PREDICTION
        ):
            entities.append(region)
    return Judged(entities, rejected, incomplete)


def _value_of(result: Any) -> Dict[str, Any]:
    """RETURNS (Dict[str, Any]): the value of a result; empty without one."""
    value = result.get("value") if isinstance(result, dict) else None
    return value if isinstance(value, dict) else {}


def _region_of(result: Any) -> Optional[Dict[str, Any]]:
    """RETURNS (Optional[Dict[str, Any]]): a span; None for the values of relations, of
    the whole text, and of choices, which repeat the place of their region.
    """
    value = _value_of(result)
    if "start" not in value or "choices" in value:
        return None
    about = {name: result.get(name) for name in ("score", "id", "origin")}
    return {**about, **value}

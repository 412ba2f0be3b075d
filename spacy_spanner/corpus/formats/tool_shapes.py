"""Bring documents of annotation tools and models into Prodigy's shape.

That is `{"text": ..., "spans": [{"start": 0, "end": 2, "label": "A", "score": 0.9}]}`.
The key `spans` may be another of `SPAN_KEYS`; its value is None without annotation.
"""

from typing import Any, Dict, List, NamedTuple, Sequence

from ..text_files import JsonItem, fail
from .verdicts import judge

SPAN_KEYS = ("spans", "label", "labels", "entities", "ner")


class Shaped(NamedTuple):
    """A document in Prodigy's shape.

    value (Dict[str, Any]): the document.
    n_further (int): annotations and predictions in addition to those of the document.
    is_predicted (bool): whether there are only predictions, by a model.
    rejected (List[Any]): spans that are known to be no entities.
    incomplete (bool): whether there may be other entities.
    """

    value: Dict[str, Any]
    n_further: int = 0
    is_predicted: bool = False
    rejected: Sequence[Any] = ()
    incomplete: bool = False


def shape(item: JsonItem, source: str, *, predictions: bool) -> Shaped:
    """Bring a document into Prodigy's shape.

    item (JsonItem): the object of the file.
    source (str): name of the file.
    predictions (bool): take the predictions of a task without annotation.
    RETURNS (Shaped): the document, whose text and spans are not checked yet.
    RAISES (ValueError): SP001 if the object has none of the known shapes.
    """
    value = item.value
    if isinstance(value, list) and len(value) == 2 and isinstance(value[1], dict):
        return Shaped({"text": value[0], "spans": value[1].get("entities")})
    if not isinstance(value, dict):
        fail(source, item.line, "not a JSON object", value)
    if isinstance(value.get("data"), dict):
        return _label_studio(value, source, item.line, predictions)
    key = next((key for key in SPAN_KEYS if key in value), None)
    if key is not None and isinstance(value[key], dict):
        value = {**value, key: _by_label(value[key], source, item.line)}
    return Shaped(value)


def _by_label(groups: Dict[str, Any], source: str, line: int) -> List[Any]:
    """RETURNS (List[Any]): the spans of GLiNER2, which has a list for each label."""
    if not all(isinstance(spans, list) for spans in groups.values()):
        fail(source, line, "the spans are not a list", groups)
    pairs = [(label, span) for label, spans in groups.items() for span in spans]
    if any(isinstance(span, str) for _, span in pairs):
        problem = "the spans have no offsets: for GLiNER2, set include_spans=True"
        fail(source, line, problem, groups)
    return [
        {**span, "label": label} if isinstance(span, dict) else span
        for label, span in pairs
    ]


def _label_studio(
    value: Dict[str, Any], source: str, line: int, predictions: bool
) -> Shaped:
    """RETURNS (Shaped): text and spans of a task, from the first of its annotations."""
    done = _entries(value, "annotations", source, line)
    done = done or _entries(value, "completions", source, line)
    predicted = [] if done else _entries(value, "predictions", source, line)
    texts = [text for text in value["data"].values() if isinstance(text, str)]
    text = value["data"].get("text", texts[0] if len(texts) == 1 else None)
    chosen = predicted if predictions and not done else done
    if not chosen:
        return Shaped({"text": text, "spans": None}, 0, bool(predicted))
    results = chosen[0].get("result", [])
    if not isinstance(results, list):
        fail(source, line, "'result' is not a list", value)
    judged = judge(results)
    value = {"text": text, "spans": judged.entities}
    return Shaped(value, len(chosen) - 1, bool(predicted), *judged[1:])


def _entries(
    value: Dict[str, Any], key: str, source: str, line: int
) -> List[Dict[str, Any]]:
    """RETURNS (List[Dict[str, Any]]): the annotations that nobody cancelled."""
    entries = value.get(key) or []
    if not isinstance(entries, list):
        fail(source, line, f"'{key}' is not a list", value)
    # Exports may contain the ids of predictions instead of the predictions.
    return [one for one in entries if isinstance(one, dict) and not _cancelled(one)]


def _cancelled(entry: Dict[str, Any]) -> bool:
    return bool(entry.get("was_cancelled"))

"""Write documents as tasks of annotation tools, with their spans as a first draft.

All of these files are read back by `formats/offset_json.py` and `formats/brat.py`. Of
the tools, only Label Studio counts characters as browsers do, in UTF-16 code units.
"""

import json
from pathlib import Path
from typing import Any, Callable, Dict, Iterable, List, NamedTuple, Optional, Tuple

import numpy as np
from numpy.typing import NDArray
from spacy.tokens import Doc, Span

from ..files import staged_file
from ..pipeline.annotations import annotated_spans
from ..pipeline.span_scores import scores_of
from .documents import FLAGGED
from .options import check_choice
from .writers import BratWriter, json_doc

# Names of the tools' files, or of the folder for brat.
TOOLS = {
    "prodigy": "prodigy.jsonl",
    "label-studio": "label_studio.json",
    "doccano": "doccano.jsonl",
    "brat": "brat",
}
MODEL_VERSION = "spacy-spanner"


class CharSpan(NamedTuple):
    """A span by characters; `end` is exclusive, `score` is None if unknown."""

    start: int
    end: int
    label: str
    score: Optional[float] = None


class Tags(NamedTuple):
    """The tags of a labeling interface of Label Studio that spans belong to.

    control (str): name of the tag with the labels.
    text (str): name of the tag with the text.
    kind (str): type of the results: "labels", or "hypertextlabels".
    """

    control: str = "label"
    text: str = "text"
    kind: str = "labels"


DEFAULT_TAGS = Tags()


class Task(NamedTuple):
    """A document to annotate or to review.

    doc (Doc): the document; its spans are what annotators see first.
    about (Dict[str, Any]): texts and numbers that are shown with it.
    """

    doc: Doc
    about: Dict[str, Any]


def write_tasks(tasks: Iterable[Task], folder: Path, tool: str, key: str) -> Path:
    """Write the file of a tool, or the folder for brat.

    tasks (Iterable[Task]): in the order of the file. brat shows no `about`.
    folder (Path): the folder for the file.
    tool (str): one of `TOOLS`.
    key (str): the span group.
    RETURNS (Path): the file or folder.
    RAISES (ValueError): SP062 for an unknown tool, SP059 for a label that brat cannot
        have.
    """
    target = folder / TOOLS[check_choice("tool", tool, tuple(TOOLS))]
    tasks = (task._replace(doc=drafted(task.doc, key)) for task in tasks)
    if tool == "brat":
        _write_brat(tasks, target, key)
        return target
    rows = (ROWS[tool](task, key) for task in tasks)
    with staged_file(target) as draft, draft.open("w", encoding="utf8") as file:
        if tool == "label-studio":  # imports an array
            json.dump(list(rows), file, ensure_ascii=False, indent=1)
        else:
            file.writelines(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    return target


def drafted(doc: Doc, key: str) -> Doc:
    """RETURNS (Doc): the document, or a copy in which entities of `doc.ents` are in the
    span group, and without parts of discontinuous entities, which no task can change.
    """
    if key in doc.spans and key + FLAGGED not in doc.spans:
        return doc
    spans = annotated_spans(doc, key)
    doc = doc.copy()
    doc.spans.pop(key + FLAGGED, None)
    if spans is not None and key not in doc.spans:
        doc.spans[key] = [Span(doc, s.start, s.end, label=s.label) for s in spans]
    return doc


def _write_brat(tasks: Iterable[Task], target: Path, key: str) -> None:
    writer = BratWriter(target, key)
    try:
        for task in tasks:
            writer.add(task.doc)
        writer.close()
    except BaseException:  # including KeyboardInterrupt
        writer.discard()
        raise


def _scored(doc: Doc, key: str) -> List[Tuple[Span, Optional[float]]]:
    """RETURNS (List[Tuple[Span, Optional[float]]]): the spans and their scores."""
    if key not in doc.spans:
        return []
    return list(zip(doc.spans[key], scores_of(doc, key)))


def prodigy_row(task: Task, key: str) -> Dict[str, Any]:
    """RETURNS (Dict[str, Any]): a task of Prodigy's recipe `spans.manual`."""
    return {**json_doc(task.doc, key), "meta": task.about}


def label_studio_row(task: Task, key: str) -> Dict[str, Any]:
    """RETURNS (Dict[str, Any]): a task of Label Studio; the tags of its interface are
    called "label" and "text".
    """
    text = task.doc.text
    spans = [
        CharSpan(span.start_char, span.end_char, span.label_, score)
        for span, score in _scored(task.doc, key)
    ]
    results = label_studio_results(text, spans)
    prediction = {"model_version": MODEL_VERSION, "result": results}
    return {"data": {"text": text, **task.about}, "predictions": [prediction]}


def label_studio_results(
    text: str, spans: Iterable[CharSpan], tags: Tags = DEFAULT_TAGS
) -> List[Dict[str, Any]]:
    """RETURNS (List[Dict[str, Any]]): regions of Label Studio.

    text (str): the document.
    spans (Iterable[CharSpan]): its spans.
    tags (Tags): the tags of the labeling interface.
    """
    units = utf16_offsets(text)
    results = []
    for number, (start, end, label, score) in enumerate(spans):
        value = {"start": int(units[start]), "end": int(units[end])}
        result = {
            "id": f"span{number}",
            "from_name": tags.control,
            "to_name": tags.text,
            "type": tags.kind,
            "value": {**value, "text": text[start:end], tags.kind: [label]},
        }
        results.append(result if score is None else {**result, "score": score})
    return results


def utf16_offsets(text: str) -> NDArray[np.int64]:
    """RETURNS (NDArray[np.int64]): the offset of each character in UTF-16 code units,
    and the number of units. Shape: (character + 1,)
    """
    codes = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), dtype="<u4")
    return np.concatenate([[0], np.cumsum(1 + (codes > 0xFFFF))]).astype(np.int64)


def doccano_row(task: Task, key: str) -> Dict[str, Any]:
    """RETURNS (Dict[str, Any]): a text of doccano's sequence labelling."""
    spans = [[s.start_char, s.end_char, s.label_] for s, _ in _scored(task.doc, key)]
    return {"text": task.doc.text, "label": spans, **task.about}


ROWS: Dict[str, Callable[[Task, str], Dict[str, Any]]] = {
    "prodigy": prodigy_row,
    "label-studio": label_studio_row,
    "doccano": doccano_row,
}

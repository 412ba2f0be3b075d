"""Write documents as tasks of annotation tools, with their spans as a first draft.

All of these files are read back by `formats/offset_json.py` and `formats/brat.py`. Of
the tools, only Label Studio counts characters as browsers do, in UTF-16 code units.
"""

import json
from pathlib import Path
from typing import Any, Callable, Dict, Iterable, List, NamedTuple, Optional, Tuple

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
    results = []
    for number, (span, score) in enumerate(_scored(task.doc, key)):
        start, end = (utf16_offset(text, at) for at in (span.start_char, span.end_char))
        value = {"start": start, "end": end, "text": span.text}
        result = {
            "id": f"span{number}",
            "from_name": "label",
            "to_name": "text",
            "type": "labels",
            "value": {**value, "labels": [span.label_]},
        }
        results.append(result if score is None else {**result, "score": score})
    prediction = {"model_version": MODEL_VERSION, "result": results}
    return {"data": {"text": text, **task.about}, "predictions": [prediction]}


def utf16_offset(text: str, offset: int) -> int:
    """RETURNS (int): the offset of a character in UTF-16 code units."""
    return offset + sum(character > "\uffff" for character in text[:offset])


def doccano_row(task: Task, key: str) -> Dict[str, Any]:
    """RETURNS (Dict[str, Any]): a text of doccano's sequence labelling."""
    spans = [[s.start_char, s.end_char, s.label_] for s, _ in _scored(task.doc, key)]
    return {"text": task.doc.text, "label": spans, **task.about}


ROWS: Dict[str, Callable[[Task, str], Dict[str, Any]]] = {
    "prodigy": prodigy_row,
    "label-studio": label_studio_row,
    "doccano": doccano_row,
}

"""Write ranked suspicions as JSON Lines and CSV, and the documents as review tasks."""

import csv
import json
from itertools import chain
from pathlib import Path
from typing import Any, Dict, Iterable, Iterator, List, NamedTuple, Optional, Sequence

from spacy.tokens import Doc

from ..corpus.tasks import Task
from ..evaluation.counts import SpanKey
from ..evaluation.tables import guarded
from ..files import staged_file
from .suspicions import KINDS, Suspicion

UNLABELLED = "(none)"
# Tokens shown before and after a span.
CONTEXT = 12
OF_SPANS = ("start", "end", "text", "label", "score")
COLUMNS = [
    *("rank", "kind", "suspicion", "document"),
    *OF_SPANS,
    *(f"proposed_{name}" for name in OF_SPANS),
    *("elsewhere", "context"),
]


class Reviewed(NamedTuple):
    """What to write about.

    docs (Sequence[Doc]): the annotated documents.
    suspicions (Sequence[Suspicion]): the most suspicious first.
    """

    docs: Sequence[Doc]
    suspicions: Sequence[Suspicion]


def as_rows(found: Reviewed) -> Iterator[Dict[str, Any]]:
    """YIELDS (Dict[str, Any]): each suspicion as plain data: `rank`, `kind`,
    `suspicion`, `document` (from 1), the `gold` and the `proposed` span (`start`,
    `end`, `text`, `label`, `score`; None if there is none), `elsewhere` (how many other
    occurrences of the text have which label) and `context`.
    """
    for rank, one in enumerate(found.suspicions, start=1):
        doc = found.docs[one.doc]
        others = {**one.elsewhere.labels, UNLABELLED: one.elsewhere.unlabelled}
        start, end, _ = one.span
        yield {
            "rank": rank,
            "kind": one.kind,
            "suspicion": round(one.suspicion, 4),
            "document": one.doc + 1,
            "gold": _described(doc, one.gold, one.gold_score),
            "proposed": _described(doc, one.proposed, one.proposed_score),
            "elsewhere": {label: number for label, number in others.items() if number},
            "context": doc[max(start - CONTEXT, 0) : end + CONTEXT].text,
        }


def _described(
    doc: Doc, span: Optional[SpanKey], score: Optional[float]
) -> Optional[Dict[str, Any]]:
    if span is None:
        return None
    tokens = doc[span[0] : span[1]]
    return {
        "start": tokens.start_char,
        "end": tokens.end_char,
        "text": tokens.text,
        "label": span[2],
        "score": round(score or 0.0, 4),
    }


def write_jsonl(path: Path, rows: Iterable[Dict[str, Any]]) -> None:
    """Write rows as JSON Lines."""
    with staged_file(path) as draft, draft.open("w", encoding="utf8") as file:
        file.writelines(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)


def write_csv(path: Path, rows: Iterable[Dict[str, Any]]) -> None:
    """Write rows as a table for spreadsheets."""
    write_table(path, COLUMNS, map(_cells, rows))


def write_table(path: Path, header: Sequence[str], rows: Iterable[List[Any]]) -> None:
    """Write a table for spreadsheets.

    header (Sequence[str]): names of the columns.
    rows (Iterable[List[Any]]): cells.
    """
    with (
        staged_file(path) as draft,
        draft.open("w", encoding="utf-8-sig", newline="") as file,
    ):
        writer = csv.writer(file)
        for row in chain([header], rows):
            writer.writerow([guarded(cell) for cell in row])


def _cells(row: Dict[str, Any]) -> List[Any]:
    """RETURNS (List[Any]): the cells of a row, in the order of `COLUMNS`. A span that
    is missing is only proposed.
    """
    gold, proposed = row["gold"] or {}, row["proposed"] or {}
    others = ", ".join(f"{label}: {n}" for label, n in row["elsewhere"].items())
    return [
        *(row[name] for name in COLUMNS[:4]),
        *(gold.get(name, "") for name in OF_SPANS),
        *(proposed.get(name, "") for name in OF_SPANS),
        others,
        row["context"],
    ]


def explained(row: Dict[str, Any]) -> str:
    """RETURNS (str): a row of `as_rows` in words."""
    gold, proposed = row["gold"], row["proposed"]
    parts = [f"{KINDS[row['kind']]}:"]
    if gold is not None:
        parts.append(f"{gold['label']} “{gold['text']}” (score {gold['score']:.2f})")
    if gold is not None and proposed is not None:
        parts.append("or rather")
    if proposed is not None:
        score = f"(score {proposed['score']:.2f})"
        parts.append(f"{proposed['label']} “{proposed['text']}” {score}")
    if row["elsewhere"]:
        others = ", ".join(f"{n} × {label}" for label, n in row["elsewhere"].items())
        parts.append(f"– the text elsewhere: {others}")
    return " ".join(parts)


def review_tasks(found: Reviewed, key: str, *, limit: int) -> Iterator[Task]:
    """Make tasks for the documents of the first suspicions.

    key (str): the span group of the tasks.
    limit (int): number of suspicions.
    YIELDS (Task): each document once, the most suspicious first, with its annotated
        spans.
    """
    rows = list(as_rows(found._replace(suspicions=found.suspicions[:limit])))
    by_doc: Dict[int, List[str]] = {}
    for row in rows:
        by_doc.setdefault(row["document"], []).append(explained(row))
    for number, reasons in by_doc.items():
        doc = found.docs[number - 1]
        yield Task(doc, {"document": number, "suspicious": "; ".join(reasons)})

"""Write agreement as JSON, as tables for spreadsheets, and as a page."""

from pathlib import Path
from typing import Any, Dict, List

from ..files import staged_folder, write_json, write_text
from .agreement import GAMMA, Agreement
from .agreement_page import render_page
from .pairwise import STRICT
from .reports import write_table

SCORES = ["first", "second", "label", "measure", "value", "low", "high"]


def write_agreement(found: Agreement, output: Path, *, limit: int) -> None:
    """Write `agreement.json`, `.csv` and `.html`, and `documents.csv`.

    output (Path): folder; files with other names stay.
    limit (int): number of sentences on the page.
    """
    with staged_folder(output) as folder:
        write_json(folder / "agreement.json", as_data(found))
        write_table(folder / "agreement.csv", SCORES, score_rows(found))
        names = [version.name for version in found.versions]
        header = ["document", STRICT, GAMMA, "not_shared"]
        header += [*(f"spans of {name}" for name in names), "text"]
        rows = [
            [*list(row.values())[:4], *row["spans"].values(), row["text"]]
            for row in found.by_doc
        ]
        write_table(folder / "documents.csv", header, rows)
        write_text(folder / "agreement.html", render_page(found, limit=limit))


def as_data(found: Agreement) -> Dict[str, Any]:
    """RETURNS (Dict[str, Any]): everything as plain data."""
    versions = [
        {"name": version.name, "spans": sum(map(len, version.spans))}
        for version in found.versions
    ]
    return {
        "versions": versions,
        "documents": len(found.by_doc),
        "tokens": found.n_tokens,
        "labels": found.labels,
        "overlapping": found.overlapping,
        "scores": [score._asdict() for score in found.scores],
        "by_document": found.by_doc,
    }


def score_rows(found: Agreement) -> List[List[Any]]:
    """RETURNS (List[List[Any]]): a row for each score, with empty cells for none."""
    return [
        [*score[:4], score.value, *(score.interval or (None, None))]
        for score in found.scores
    ]

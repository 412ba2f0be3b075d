"""Count a converted dataset and compare the counts with those of the papers."""

from pathlib import Path
from typing import Dict, List, NamedTuple

import srsly
import typer
from datasets import ROOT, SPANS_KEY, SPLITS
from wasabi import msg

from spacy_spanner.corpus.conversion import read_plain_docs
from spacy_spanner.corpus.count_tables import as_markdown, lay_out
from spacy_spanner.corpus.statistics import Reach, Statistics, count_docs
from spacy_spanner.evaluation.tables import markdown_table

EXPECTED = ROOT / "scripts" / "expected_counts.json"
Counts = Dict[str, Dict[str, int]]


class Comparison(NamedTuple):
    """A count and the numbers of the papers, which may differ from each other."""

    part: str
    what: str
    counted: int
    expected: List[int]

    @property
    def agrees(self) -> bool:
        """Whether one of the papers has this number."""
        return self.counted in self.expected


def compare(counts: Dict[str, Statistics], expected: dict) -> List[Comparison]:
    """Compare the counts of a dataset with those of the papers.

    counts (Dict[str, Statistics]): by part.
    expected (dict): by part and count; parts may be joined, as in "train+dev".
    RETURNS (List[Comparison]): one per expected number.
    """
    return [
        Comparison(
            part,
            what,
            sum(getattr(counts[split], what) for split in part.split("+")),
            numbers,
        )
        for part, values in expected.items()
        for what, numbers in values.items()
    ]


def render(dataset: str, counts: Dict[str, Statistics], rows: List[Comparison]) -> str:
    """RETURNS (str): a Markdown page with all tables."""
    page = f"# Counts of {dataset}\n\n{as_markdown(lay_out(counts))}"
    if not rows:
        return page
    table = [
        [
            f"{row.part}, {row.what}",
            f"{row.counted:,}",
            " or ".join(f"{number:,}" for number in row.expected),
            "" if row.agrees else f"{row.counted - row.expected[0]:+,}",
        ]
        for row in rows
    ]
    header = ["", "counted", "papers", "difference"]
    return (
        f"{page}\n### Comparison with the papers\n\n{markdown_table(header, table)}\n"
    )


def main(
    dataset: str = typer.Argument(..., help="Name of the dataset"),
    corpus: Path = typer.Argument(..., help="Folder with its .spacy files"),
    output: Path = typer.Argument(..., help="Page to write"),
) -> None:
    """Count the parts of DATASET in CORPUS."""
    counts = {
        split: count_docs(
            read_plain_docs(corpus / f"{split}.spacy"), SPANS_KEY, Reach()
        )
        for split in SPLITS
    }
    rows = compare(counts, srsly.read_json(EXPECTED).get(dataset, {}))
    output.parent.mkdir(parents=True, exist_ok=True)
    output.write_text(render(dataset, counts, rows), encoding="utf8")
    for row in rows:
        expected = " or ".join(f"{number:,}" for number in row.expected)
        text = f"{row.part}: {row.counted:,} {row.what}, papers: {expected}"
        (msg.good if row.agrees else msg.warn)(text)
    if not rows:
        msg.info(f"The papers have no counts of {dataset}")
    msg.good(f"Wrote {output}")


if __name__ == "__main__":
    typer.run(main)

"""Write a Markdown page with the scores of all models on a dataset."""

from pathlib import Path
from typing import Any, Dict

import srsly
import typer
from wasabi import msg

from spacy_spanner.evaluation.tables import markdown_table, percent

COLUMNS = {
    "P": "spans_ents_p",
    "R": "spans_ents_r",
    "F1": "spans_ents_f",
    "F1 flat": "spans_ents_flat_f",
    "F1 nested": "spans_ents_nested_f",
    "ECE": "spans_ents_ece",
}


def render(dataset: str, scores: Dict[str, Dict[str, Any]]) -> str:
    """Render the page.

    dataset (str): name of the dataset.
    scores (Dict[str, Dict[str, Any]]): scores by model.
    RETURNS (str): Markdown.
    """
    overview = [
        [model, *(percent(found.get(key)) for key in COLUMNS.values())]
        for model, found in scores.items()
    ]
    parts = [
        f"# Results on {dataset}",
        "Scores on the test part, in percent: boundaries and label must be right.",
        markdown_table(["model", *COLUMNS], overview),
    ]
    for model, found in scores.items():
        by_type = sorted((found.get("spans_ents_per_type") or {}).items())
        rows = [[label, *(percent(prf[x]) for x in "prf")] for label, prf in by_type]
        parts += [f"## {model}", markdown_table(["label", "P", "R", "F1"], rows)]
    return "\n\n".join(parts) + "\n"


def main(dataset: str, metrics: Path, output: Path) -> None:
    """Collect the JSON files in METRICS into the page OUTPUT."""
    scores = {
        path.stem: srsly.read_json(path) for path in sorted(metrics.glob("*.json"))
    }
    page = render(dataset, scores)
    output.write_text(page, encoding="utf8")
    print(page)
    msg.good(f"Wrote {output}")


if __name__ == "__main__":
    typer.run(main)

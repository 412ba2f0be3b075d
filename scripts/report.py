"""Write a Markdown page with the scores of all models on a dataset."""

from pathlib import Path
from typing import Any, Dict

import runs
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
# What a pipeline was trained with.
TRAINED = ("recipe", "train parts", "encoder")


def render(dataset: str, scores: Dict[str, Dict[str, Any]]) -> str:
    """Render the page.

    dataset (str): name of the dataset.
    scores (Dict[str, Dict[str, Any]]): scores by model.
    RETURNS (str): Markdown.
    """
    overview = [
        [
            model,
            *(found.get(key, "-") for key in TRAINED),
            *(percent(found.get(key)) for key in COLUMNS.values()),
        ]
        for model, found in scores.items()
    ]
    parts = [
        f"# Results on {dataset}",
        "Scores on the test part, in percent: boundaries and label must be right.",
        markdown_table(["model", *TRAINED, *COLUMNS], overview),
    ]
    for model, found in scores.items():
        by_type = sorted((found.get("spans_ents_per_type") or {}).items())
        rows = [[label, *(percent(prf[x]) for x in "prf")] for label, prf in by_type]
        parts += [f"## {model}", markdown_table(["label", "P", "R", "F1"], rows)]
    return "\n\n".join(parts) + "\n"


def main(
    dataset: str = typer.Argument(..., help="Name of the dataset"),
    metrics: Path = typer.Argument(..., help="Folder with groups of scores"),
    recipe: str = runs.RECIPE,
    encoder: str = runs.ENCODER,
) -> None:
    """Collect the scores of the group in METRICS that recipe and encoder name on a page
    next to METRICS.
    """
    group = runs.group_of(recipe, encoder)
    scores = {
        path.stem: srsly.read_json(path)
        for path in sorted((metrics / group).glob("*.json"))
    }
    page = render(dataset, scores)
    output = metrics.with_name(f"{metrics.name}_{group}.md")
    output.write_text(page, encoding="utf8")
    print(page)
    msg.good(f"Wrote {output}")


if __name__ == "__main__":
    typer.run(main)

"""Train the variations of the papers' ablation tables, one Markdown table a paper.

Started again, only what is missing is trained.
"""

from pathlib import Path
from typing import Any, Dict, List, Optional

import srsly
import typer
from datasets import ROOT
from train import budget, config_path, overrides
from wasabi import msg

from spacy_spanner.cli.shell import track
from spacy_spanner.evaluation.tables import markdown_table, mean_and_spread
from spacy_spanner.files import write_json, write_text
from spacy_spanner.jobs.search.search import run_variants
from spacy_spanner.jobs.search.summaries import (
    LENGTH_GROUPS,
    by_name,
    summarize,
)
from spacy_spanner.jobs.search.trials import Plan
from spacy_spanner.jobs.search.variants import Variant, with_seeds
from spacy_spanner.jobs.spacy_commands import setup_gpu

TABLES = ROOT / "configs" / "ablations.yml"
BASE = "as configured"
COLUMNS = {
    "P": "p",
    "R": "r",
    "F1": "f",
    "F1 nested": "nested_f",
    **{f"F1 {group}": group for group in LENGTH_GROUPS},
    "ECE": "ece",
}


def read_tables() -> Dict[str, Dict[str, Any]]:
    """RETURNS (Dict[str, Dict[str, Any]]): title and rows of each model's table."""
    return srsly.read_yaml(TABLES)


def variants_of(model: str, seeds: List[int]) -> List[Variant]:
    """List the trainings of a table.

    model (str): name of the model, as in the names of configs.
    seeds (List[int]): each row is trained with every seed.
    RETURNS (List[Variant]): the first is the config as it is; changes after training
        are scored with that one.
    """
    table = read_tables()[model]
    block = f"components.span_{model}"
    rows: Dict[str, Dict[str, Any]] = {BASE: {}, **table["rows"]}
    variants = [
        Variant(
            name,
            {f"{block}.{key}": value for key, value in changes.items()},
            table["later"] if name == BASE else {},
        )
        for name, changes in rows.items()
    ]
    return with_seeds(variants, seeds)


def with_later(runs: List[Dict[str, Any]]) -> List[Dict[str, Any]]:
    """RETURNS (List[Dict[str, Any]]): the runs, followed by a row for each change
    after training.
    """
    later = [
        {"name": name, "scores": scores}
        for run in runs
        for name, scores in run["later"].items()
    ]
    return [*runs, *later]


def render(title: str, dataset: str, runs: List[Dict[str, Any]], note: str) -> str:
    """RETURNS (str): the table of one paper, as Markdown."""
    rows = []
    base: Optional[float] = None
    for name, group in by_name(with_later(runs)).items():
        summary = summarize(group)
        f_score = summary["f"]["mean"]
        base = f_score if base is None else base
        change = "-" if None in (f_score, base) else f"{100 * (f_score - base):+.1f}"
        cells = [mean_and_spread(**summary[key]) for key in COLUMNS.values()]
        rows.append([name, *cells, change if rows else ""])
    table = markdown_table(["variant", *COLUMNS, "change of F1"], rows)
    words = f"On the test part of {dataset}, in percent; lengths in tokens. {note}"
    return f"# {title}\n\n{words}\n\n{table}\n"


def main(
    dataset: str = typer.Argument(..., help="Name of the dataset"),
    corpus: Path = typer.Argument(..., help="Folder with its .spacy files"),
    test: Path = typer.Argument(..., help="Its test part"),
    output: Path = typer.Argument(..., help="Folder for tables and data"),
    models: str = typer.Option(..., help="Names of models, with spaces between"),
    encoder: str = typer.Option("cnn", help="Which config of each model"),
    steps: int = typer.Option(300, help="Batches of each training"),
    seeds: str = typer.Option("0", help="Numbers, with spaces between"),
    gpu: int = typer.Option(-1, help="GPU, or -1 for the CPU"),
) -> None:
    """Run the ablation table of each model on DATASET."""
    setup_gpu(gpu, silent=True)
    numbers = [int(seed) for seed in seeds.split()]
    for model in models.split():
        path = config_path(model, encoder)
        shared = {**overrides(path, dataset, corpus, 0), **budget(path, steps)}
        msg.divider(model)
        plan = Plan(path, shared, test)
        runs = run_variants(plan, variants_of(model, numbers), output, track=track)
        title = read_tables()[model]["title"]
        note = f"Best of {steps} steps by the dev part, seeds: {seeds}."
        page = render(title, dataset, runs, note)
        write_text(output / f"{model}_{encoder}.md", page)
        write_json(output / f"{model}_{encoder}.json", runs)
        print(page)
    msg.good(f"Wrote {output}")


if __name__ == "__main__":
    typer.run(main)

"""Train the variants of a table, such as the papers' recipes and ours, at one budget.

python benchmarks/variants.py DATA benchmarks/recipes.yml --results FOLDER --page a.md
python benchmarks/variants.py DATA benchmarks/claims.yml --results FOLDER --seeds 0,1

A training run that has a result in the folder is not repeated.
"""

import hashlib
import json
from pathlib import Path
from typing import Any, Dict, Iterator, List, NamedTuple, Optional

import srsly
import typer
from accuracy import SCORES, measure
from common import HEAD_RATE, read_settings
from measuring import in_fresh_process, write_json
from options import DATA

from spacy_spanner import recipe
from spacy_spanner.evaluation.tables import markdown_table, mean_and_spread
from spacy_spanner.jobs.search.summaries import average

Tree = Dict[str, Any]
HEADER = ("variant", "seeds", *SCORES, "reference", "s")
# Keys of a row that are not arguments of `measure`.
NOT_MEASURED = ("paper", "reference")
# What `measure` needs and a row need not say.
USUAL: Tree = {"batch_size": 8, "head_rate": HEAD_RATE, "share": 1.0, "later": []}


class Variant(NamedTuple):
    """A row of a table.

    table, name (str): of the table and of the row.
    about (Tree): the keys of the row; the head of `recipes.yml` explains them.
    """

    table: str
    name: str
    about: Tree

    def settings(self) -> Tree:
        """RETURNS (Tree): settings of the component, without an encoder."""
        model, paper = self.about["model"], self.about.get("paper")
        settings = recipe(model, "paper", paper) if paper else {}
        for key in ("tok2vec", "@architectures"):
            settings.get("model", {}).pop(key, None)
        changes = [f"{k}={json.dumps(v)}" for k, v in self.about["settings"].items()]
        return merged(settings, read_settings(changes))

    def run(self, data: Path, seed: int) -> List[Tree]:
        """RETURNS (List[Tree]): the scores, and those of each later change."""
        about = {**USUAL, **self.about, "settings": self.settings()}
        model = about.pop("model")
        for key in NOT_MEASURED:
            about.pop(key, None)
        rows: List[Tree] = measure(model, folder=data, seed=seed, **about)
        return rows

    def path(self, results: Path, seed: int) -> Path:
        """RETURNS (Path): the file of a result; its name changes with the settings."""
        content = json.dumps([self.about, self.settings()], sort_keys=True)
        digest = hashlib.sha256(content.encode()).hexdigest()[:12]
        return results / f"{self.table}-{digest}-{seed}.json"


def merged(old: Tree, new: Tree) -> Tree:
    """RETURNS (Tree): nested settings, the new ones first."""
    both = {
        k: merged(old[k], v) for k, v in new.items() if isinstance(old.get(k), dict)
    }
    return {**old, **new, **both}


def read_variants(path: Path) -> Iterator[Variant]:
    """YIELDS (Variant): the rows of all tables in a file."""
    for name, table in srsly.read_yaml(path).items():
        for title, row in table["rows"].items():
            about = {"settings": {}, **table.get("all", {}), **row}
            settings = {**table.get("all", {}).get("settings", {}), **about["settings"]}
            yield Variant(name, title, {**about, "settings": settings})


def page(path: Path, results: Path) -> str:
    """RETURNS (str): Markdown, with the means over the seeds that have a result."""
    tables: Dict[str, List[List[str]]] = {}
    for variant in read_variants(path):
        found = sorted(results.glob(variant.path(results, 0).stem[:-1] + "*.json"))
        runs = [
            json.loads(file.read_text(encoding="utf8"))["results"] for file in found
        ]
        for group in zip(*runs):
            tables.setdefault(variant.table, []).append(to_line(variant, group))
    titles = {name: table["title"] for name, table in srsly.read_yaml(path).items()}
    parts = [
        f"## {titles[name]}\n\n{markdown_table(HEADER, lines)}"
        for name, lines in tables.items()
    ]
    return "\n".join(parts)


def to_line(variant: Variant, runs: Any) -> List[str]:
    """RETURNS (List[str]): the cells of a variant, or of a later change of it."""
    scores = average(runs)
    _, _, change = runs[0]["model"].partition(", ")
    name = f"{variant.name}, {change}" if change else variant.name
    reference = str(variant.about.get("reference", "")) if not change else ""
    cells = [mean_and_spread(**scores[score]) for score in SCORES.values()]
    seconds = sum(run["seconds"] for run in runs) / len(runs)
    return [name, str(len(runs)), *cells, reference, f"{seconds:.0f}"]


def main(
    data: Path = DATA,
    path: Path = typer.Argument(..., help="Table of variants"),
    results: Path = typer.Option(..., help="Folder for the results"),
    only: Optional[str] = typer.Option(None, help="Comma-separated names of tables"),
    seeds: str = typer.Option("0", help="Comma-separated seeds"),
    page_path: Optional[Path] = typer.Option(None, "--page", help="Markdown to write"),
) -> None:
    """Run what has no result yet, seed after seed, each run in its own process."""
    for seed in map(int, seeds.split(",")):
        for variant in read_variants(path):
            file = variant.path(results, seed)
            if file.exists() or (only and variant.table not in only.split(",")):
                continue
            print(f"{variant.table}: {variant.name}, seed {seed}", flush=True)
            rows = in_fresh_process(variant.run, data, seed)
            results.mkdir(parents=True, exist_ok=True)
            write_json(file, rows, variant=variant.name, about=variant.about)
    text = page(path, results)
    print(text)
    if page_path is not None:
        page_path.write_text(text, encoding="utf8")


if __name__ == "__main__":
    typer.run(main)

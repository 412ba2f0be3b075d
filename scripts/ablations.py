"""Train the variations of the papers' ablation tables, one page of tables for a model.

Started again, only what is missing is trained.
"""

from pathlib import Path
from typing import Any, Dict, List, Mapping, NamedTuple, Optional, Sequence

import runs
import srsly
import typer
from datasets import ROOT
from train import budget, overrides
from wasabi import msg

from spacy_spanner.cli.shell import plain_errors, track
from spacy_spanner.evaluation.tables import markdown_table, mean_and_spread
from spacy_spanner.files import write_json, write_text
from spacy_spanner.jobs.search.search import run_variants
from spacy_spanner.jobs.search.summaries import LENGTH_GROUPS, by_name, summarize
from spacy_spanner.jobs.search.trials import Plan
from spacy_spanner.jobs.search.variants import Variant, with_seeds
from spacy_spanner.jobs.spacy_commands import setup_gpu

TABLES = ROOT / "configs" / "ablations.yml"
BASE = "as configured"
SECTIONS = ("corpora", "training")
ENCODER = "model.tok2vec.name"
COLUMNS = {
    "P": "p",
    "R": "r",
    "F1": "f",
    "F1 nested": "nested_f",
    **{f"F1 {group}": group for group in LENGTH_GROUPS},
    "ECE": "ece",
}

# By row and column, a result of the paper in percent.
PaperResults = Mapping[str, Mapping[str, Optional[float]]]


class Table(NamedTuple):
    """A table of a page.

    title (str): its heading.
    rows (Dict[str, Dict[str, Any]]): settings to change, by the name of the row.
    paper (PaperResults): of the dataset.
    """

    title: str
    rows: Dict[str, Dict[str, Any]]
    paper: PaperResults


class Choice(NamedTuple):
    """Which tables to make.

    recipe (str): tables for another recipe are left out.
    names (Sequence[str]): of tables; all without names.
    encoders (Sequence[str]): for tables that compare encoders.
    dataset (str): whose results of the paper are shown.
    """

    recipe: str = "tuned"
    names: Sequence[str] = ()
    encoders: Sequence[str] = ()
    dataset: str = ""


class Page(NamedTuple):
    """The tables of a model.

    title (str): its heading.
    tables (List[Table]): of what is trained.
    later (Table): changes after training.
    base (Mapping): results of the paper with all parts, by column.
    """

    title: str
    tables: List[Table]
    later: Table
    base: Mapping[str, Optional[float]]


def read_page(model: str, choice: Choice) -> Page:
    """Read the tables of a model.

    model (str): name of the model, as in the names of configs.
    RETURNS (Page): the chosen ones.
    """
    content = srsly.read_yaml(TABLES)[model]
    chosen = [
        _read_table(table, choice)
        for table in content["tables"]
        if table.get("recipe", choice.recipe) == choice.recipe
        and (not choice.names or table["name"] in choice.names)
    ]
    corpora = content.get("later_corpora", content["base"]["corpora"])
    changes = {"title": "Changes after training", "corpora": corpora}
    later = _read_table({**changes, "rows": content["later"]}, choice)
    base = _paper_results(content["base"], content["base"]["corpora"], choice.dataset)
    return Page(content["title"], [t for t in chosen if t.rows], later, base)


def require_tables(names: Sequence[str], models: Sequence[str]) -> None:
    """RAISES (SystemExit): for names of tables that none of the models has."""
    content = srsly.read_yaml(TABLES)
    existing = {
        model: [table["name"] for table in content[model]["tables"]] for model in models
    }
    known = {name for found in existing.values() for name in found}
    unknown = [name for name in names if name not in known]
    if unknown:
        shown = "; ".join(f"{model}: {', '.join(x)}" for model, x in existing.items())
        raise SystemExit(f"No ablation table {', '.join(unknown)}. There are: {shown}")


def _read_table(content: Dict[str, Any], choice: Choice) -> Table:
    rows = {name: {**row} for name, row in content["rows"].items()}
    corpora = content.get("corpora", ())
    paper = {
        name: _paper_results(row, corpora, choice.dataset) for name, row in rows.items()
    }
    for row in rows.values():
        row.pop("paper", None)
    if content.get("encoders") == "each":
        rows = {
            f"{encoder}, {name}": {ENCODER: encoder, **row}
            for encoder in choice.encoders
            for name, row in rows.items()
        }
    return Table(content["title"], rows, paper)


def _paper_results(
    row: Mapping[str, Any], corpora: Sequence[str], dataset: str
) -> Dict[str, Optional[float]]:
    """RETURNS (Dict[str, Optional[float]]): results on the dataset, by column."""
    if dataset not in corpora:
        return {}
    place = corpora.index(dataset)
    results = row.get("paper", {}).items()
    return {column: line[place] for column, line in results if place < len(line)}


def variants_of(page: Page, model: str, seeds: List[int]) -> List[Variant]:
    """List the trainings of a page.

    model (str): name of the model.
    seeds (List[int]): each row is trained with every seed.
    RETURNS (List[Variant]): the first is the config as it is; changes after training
        are scored with that one.
    """
    rows = {name: row for table in page.tables for name, row in table.rows.items()}
    base = Variant(BASE, {}, page.later.rows)
    others = [Variant(name, full_names(row, model)) for name, row in rows.items()]
    return with_seeds([base, *others], seeds)


def train_rows(
    plan: Plan, variants: Sequence[Variant], output: Path
) -> List[Dict[str, Any]]:
    """Train the rows of a page; those with the same config are trained once.

    variants (Sequence[Variant]): the rows; see `variants_of`.
    output (Path): folder of the trials.
    RETURNS (List[Dict[str, Any]]): the account of each row.
    """
    configs = [plan.config_of(variant).to_str() for variant in variants]
    distinct: Dict[str, Variant] = {}
    for config, variant in zip(configs, variants):
        distinct.setdefault(config, variant)
    found = run_variants(plan, [*distinct.values()], output, track=track)
    by_config = dict(zip(distinct, found))
    return [
        {
            **by_config[config],
            "name": variant.name,
            "overrides": variant.overrides,
            "later": by_config[config]["later"] if variant.later else {},
        }
        for config, variant in zip(configs, variants)
    ]


def full_names(settings: Mapping[str, Any], model: str) -> Dict[str, Any]:
    """RETURNS (Dict[str, Any]): settings by the names that they have in a config."""
    return {
        key
        if key.split(".")[0] in SECTIONS
        else f"components.span_{model}.{key}": value
        for key, value in settings.items()
    }


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


def render(page: Page, dataset: str, runs: List[Dict[str, Any]], note: str) -> str:
    """RETURNS (str): the tables of one model, as Markdown."""
    groups = by_name(with_later(runs))
    base = summarize(groups[BASE])
    parts = [
        f"# {page.title}",
        f"On the test part of {dataset}, in percent; lengths in tokens. {note} In "
        "brackets: the paper's result, where it has one.",
    ]
    for table in (*page.tables, page.later):
        rows = [[BASE, *_cells(base, page.base), ""]]
        for name in filter(groups.__contains__, table.rows):
            found = summarize(groups[name])
            cells = _cells(found, table.paper.get(name, {}))
            rows.append([name, *cells, _change(found, base)])
        header = ["variant", *COLUMNS, "change of F1"]
        parts += [f"## {table.title}", markdown_table(header, rows)]
    return "\n\n".join(parts) + "\n"


def _cells(found: Any, paper: Mapping[str, Optional[float]]) -> List[str]:
    """RETURNS (List[str]): our scores, each with that of the paper if it has one."""
    cells = []
    for column, score in COLUMNS.items():
        own, result = mean_and_spread(**found[score]), paper.get(column)
        cells.append(own if result is None else f"{own} ({result})")
    return cells


def _change(found: Any, base: Any) -> str:
    pair = found["f"]["mean"], base["f"]["mean"]
    return "-" if None in pair else f"{100 * (pair[0] - pair[1]):+.1f}"


def main(
    dataset: str = typer.Argument(..., help="Name of the dataset"),
    corpus: Path = typer.Argument(..., help="Folder with its .spacy files"),
    test: Path = typer.Argument(..., help="Its test part"),
    output: Path = typer.Argument(..., help="Folder for tables and data"),
    models: str = typer.Option(..., help="Names of models, with spaces between"),
    recipe: str = runs.RECIPE,
    encoder: str = runs.ENCODER,
    encoder_name: str = runs.ENCODER_NAME,
    vectors: str = runs.VECTORS,
    tagger: str = runs.TAGGER,
    steps: int = typer.Option(300, help="Batches of each training"),
    seeds: str = typer.Option("0", help="Numbers, with spaces between"),
    tables: str = typer.Option("", help="Names of tables; default: all"),
    encoders: str = typer.Option("", help="Encoders to compare, with spaces between"),
    gpu: int = typer.Option(-1, help="GPU, or -1 for the CPU"),
) -> None:
    """Run the ablation tables of each model on DATASET."""
    setup_gpu(gpu, silent=True)
    numbers = [int(seed) for seed in seeds.split()]
    require_tables(tables.split(), models.split())
    choice = Choice(recipe, tables.split(), encoders.split(), dataset)
    # The best step is chosen on the dev part, which is never trained on here.
    common = (models, recipe, encoder, encoder_name, "", "train", vectors, tagger)
    with plain_errors():
        bases = runs.plan_runs(dataset, runs.Choices(*common))
    pages = {base.model: read_page(base.model, choice) for base in bases}
    for base in bases:
        model, page = base.model, pages[base.model]
        settings = overrides(base.config, dataset, corpus, 0)
        shared = {**settings, **base.settings, **budget(base.config, steps)}
        msg.divider(base.name)
        plan = Plan(base.config, shared, test)
        rows = train_rows(plan, variants_of(page, model, numbers), output)
        note = f"Base: {base.config.stem}, encoder {base.about['encoder']}. Best of "
        note += f"{steps} steps by the dev part, seeds: {seeds}."
        text = render(page, dataset, rows, note)
        write_text(output / f"{base.name}.md", text)
        write_json(output / f"{base.name}.json", rows)
        print(text)
    msg.good(f"Wrote {output}")


if __name__ == "__main__":
    typer.run(main)

"""Train and test every system on every corpus, and write a page with the scores.

python benchmarks/panel.py DATA --output benchmarks/PANEL.md
python benchmarks/panel.py DATA --corpora wnut17 --shares 5 --seeds 0 --list
python benchmarks/panel.py DATA --systems "span_biaffine,span_biaffine threshold=0.5"

Every run trains one system on a share of one corpus with one seed. The pipeline that is
best on the dev split is scored on the test split. A finished run is a JSON file in
`--results`; its name contains a digest of everything that determines the result: the
budget, the settings of the component and the data. If one of them changes, the run is
missing again. A run whose file exists is skipped, so that an interrupted panel can be
continued. The page shows the finished runs of the selection.
"""

import shlex
import traceback
from itertools import product
from pathlib import Path
from typing import Any, Callable, Dict, Iterator, List, Optional

import typer
from common import ENCODER_RATE, HEAD_RATE
from corpora import CORPORA
from measuring import describe_machine, in_fresh_process
from options import DATA
from panel_page import make_page
from panel_runs import Budget, Run, train_and_test

from spacy_spanner.files import read_json, write_json, write_text

SYSTEMS = "span_biaffine,span_locate_label,span_diffusion,span_offset,spancat,ner"
HERE = Path(__file__).parent


def run_missing(
    missing: Dict[Path, Run], train: Callable[[Run], Dict[str, Any]]
) -> List[Path]:
    """Train runs and write their results, each at once.

    train (Callable): trains a run and returns its result.
    RETURNS (List[Path]): files of the runs that failed.
    """
    failed = []
    for number, (path, run) in enumerate(missing.items(), start=1):
        print(f"{number} of {len(missing)}: {run}", end=": ", flush=True)
        try:
            result = train(run)
        except Exception:  # the other runs go on
            traceback.print_exc()
            failed.append(path)
            continue
        write_json(path, {"machine": describe_machine(), **result})
        f, seconds = result["scores"]["f"] or 0.0, result["seconds"]
        print(f"F1 {100 * f:.1f}, {seconds:.0f} s", flush=True)
    return failed


def select(
    corpora: str, encoders: str, shares: str, systems: str, seeds: str, **budget: Any
) -> Iterator[Run]:
    """YIELDS (Run): all possible runs; the systems of one corpus follow each other."""
    minilm_epochs = budget.pop("minilm_epochs")
    texts = (seeds, encoders, shares, corpora, systems)
    for seed, encoder, share, *names in product(*(text.split(",") for text in texts)):
        epochs = {"epochs": minilm_epochs} if encoder == "minilm" else {}
        corpus, system = names
        chosen = Budget(**{**budget, **epochs})
        run = Run(corpus, encoder, int(share), system, int(seed), chosen)
        if run.is_possible:
            yield run


def require_corpora(corpora: str, data: Path) -> None:
    """RAISES (BadParameter): for an unknown corpus or missing files."""
    for name in corpora.split(","):
        if name not in CORPORA:
            known = ", ".join(CORPORA)
            raise typer.BadParameter(f"Unknown corpus {name!r}; choose from {known}")
        dataset = CORPORA[name].located(data)
        if dataset.missing():
            lost = ", ".join(dataset.missing())
            raise typer.BadParameter(f"{name}: {lost} not found in {dataset.folder}")


def command_of(ctx: typer.Context) -> str:
    """RETURNS (str): the command, without what does not change the page."""
    words = ["python", "benchmarks/panel.py", "DATA"]
    hidden = ("data", "results", "output", "limit", "listing")
    for name, value in ctx.params.items():
        source: Any = ctx.get_parameter_source(name)
        if source.name == "COMMANDLINE" and name not in hidden:
            words += [f"--{name.replace('_', '-')}", str(value)]
    return shlex.join([*words, "--output", Path(ctx.params["output"]).name])


def describe(budget: Dict[str, Any]) -> str:
    """RETURNS (str): the budget in words."""
    text = "{epochs} epochs with the CNN, {minilm_epochs} with MiniLM, but at least "
    text += "{min_steps} updates of {batch_size} sentences"
    if budget["max_sentences"]:
        text += "; at most {max_sentences:,} sentences for training and for dev"
    text += ". The highest learning rate is {head:g}, and that of MiniLM {encoder:g}"
    factor = budget["rates"]
    highest = {"head": factor * HEAD_RATE, "encoder": factor * ENCODER_RATE}
    return text.format(**budget, **highest)


def main(
    ctx: typer.Context,
    data: Path = DATA,
    corpora: str = typer.Option(",".join(CORPORA), help="Comma-separated corpora"),
    systems: str = typer.Option(
        SYSTEMS,
        help="Comma-separated systems, each with settings: 'ner,span_offset a=b'",
    ),
    encoders: str = typer.Option("cnn,minilm", help="Comma-separated encoders"),
    shares: str = typer.Option("5,25,100", help="Percentages of the training data"),
    seeds: str = typer.Option("0,1,2", help="Comma-separated seeds"),
    epochs: int = typer.Option(20, help="Passes over the training data"),
    minilm_epochs: int = typer.Option(8, help="The same with MiniLM"),
    min_steps: int = typer.Option(500, help="Updates, if the passes make fewer"),
    batch_size: int = typer.Option(8, help="Sentences in an update"),
    looks: int = typer.Option(5, help="How often the dev split is scored"),
    max_sentences: int = typer.Option(
        0, help="Limit for the train and the dev split; 0 for none"
    ),
    rates: float = typer.Option(1.0, help="Factor of the learning rates"),
    limit: Optional[int] = typer.Option(
        None, help="Stop after this many runs; 0 only writes the page"
    ),
    listing: bool = typer.Option(False, "--list", help="Print what is done, and end"),
    results: Path = typer.Option(HERE / "results" / "panel", help="Folder for results"),
    output: Optional[Path] = typer.Option(None, help="Page to write"),
) -> None:
    """Train what is missing and write the page."""
    require_corpora(corpora, data)
    budget = {"epochs": epochs, "minilm_epochs": minilm_epochs, "min_steps": min_steps}
    budget.update(batch_size=batch_size, looks=looks, max_sentences=max_sentences)
    budget.update(rates=rates)
    runs = {
        run.path(data, results): run
        for run in select(corpora, encoders, shares, systems, seeds, **budget)
    }
    if listing:
        for path, run in runs.items():
            print("done   " if path.exists() else "missing", run)
        return
    missing = [(path, run) for path, run in runs.items() if not path.exists()]
    failed = run_missing(
        dict(missing[:limit]), lambda run: in_fresh_process(train_and_test, run, data)
    )
    found = [read_json(path) for path in runs if path.exists()]
    if output is not None:
        about = {"command": command_of(ctx), "budget": describe(budget), "looks": looks}
        write_text(output, make_page(found, n_missing=len(runs) - len(found), **about))
    print(f"{len(found)} of {len(runs)} runs are done")
    if failed:
        raise typer.Exit(1)


if __name__ == "__main__":
    typer.run(main)

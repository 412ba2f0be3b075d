"""The command `spanner sweep`."""

from pathlib import Path
from typing import Any, Optional

import typer

from .analyze import COMPONENT
from .shell import CODE, TAKES_OVERRIDES, app, msg, parse_numbers, plain_errors

METRICS = ("f", "p", "r", "macro_f", "flat_f", "nested_f", "ece")
NAMES = ", ".join(METRICS)


# Long for its options; each is a line or two.
@app.command("sweep", context_settings=TAKES_OVERRIDES)
def sweep_cli(
    ctx: typer.Context,
    config: Path = typer.Argument(..., help="Training config"),
    space: Path = typer.Argument(..., help="Settings to try: a .yml file"),
    output: Path = typer.Option(..., "--output", "-o", help="Folder for all results"),
    seeds: Optional[str] = typer.Option(None, help="Override the file's seeds: 0,1,2"),
    metric: str = typer.Option("f", help=f"Score on dev to choose by: {NAMES}"),
    test: Optional[Path] = typer.Option(
        None, "--test", "-t", help="Documents to score the best settings on, once"
    ),
    component: str = COMPONENT,
    keep_models: bool = typer.Option(False, help="Keep the pipelines of all trials"),
    engine: str = typer.Option("local", help="local, or ray to use Ray Tune"),
    address: Optional[str] = typer.Option(None, help="On Ray: cluster, or auto"),
    cpus: float = typer.Option(1.0, help="On Ray: CPUs per trial"),
    gpus: float = typer.Option(0.0, help="On Ray: GPUs per trial"),
    grace: int = typer.Option(
        0, help="On Ray: step from which ASHA stops trials with low scores"
    ),
    reduction: int = typer.Option(3, min=2, help="On Ray: ASHA keeps 1 of this many"),
    gpu: bool = typer.Option(False, help="Train on the GPU"),
    code_path: Optional[Path] = CODE,
) -> None:
    """Train with many settings and seeds, and write a table and the best config.

    The best settings are chosen on the development data. Run the command again to train
    only what is missing. Other settings are overridden as for `spacy train`.
    """
    from ..corpus.options import check_choice
    from ..jobs.search.search import Search, run_search
    from ..jobs.search.space import read_space
    from ..jobs.search.trials import Machine, Plan
    from ..jobs.spacy_commands import import_code, parse_config_overrides
    from ..output_checks import require_writable

    with plain_errors():
        check_choice("metric", metric, METRICS)
        check_choice("engine", engine, ("local", "ray"))
        require_writable(output, folder=True)
        runner = make_engine(engine, address, cpus, gpus, grace, reduction)
        import_code(code_path)
        found = read_space(space)
        if seeds is not None:
            chosen = parse_numbers(seeds, "seeds", least=1)
            found = found._replace(seeds=list(chosen))
        plan = Plan(config, parse_config_overrides(ctx.args), component=component)
        machine = Machine(gpu or gpus > 0, code_path)
        search = Search(plan, found, metric, output, machine, keep_models)
        outcome = run_search(search, engine=runner, tell=msg.text)
        show(outcome)
        if test is not None:
            show_test(search, outcome, test)
    msg.good(f"Wrote {output / 'best.cfg'} and {output / 'table.md'}")


def make_engine(engine: str, *options: Any) -> Any:
    """RETURNS (Engine): trains on this machine, or on Ray with these `TuneOptions`."""
    if engine == "local":
        from ..jobs.search.one_trial import run_in_sequence

        return run_in_sequence
    from ..jobs.search.ray_engine import TuneOptions, make_ray_engine

    return make_ray_engine(TuneOptions(*options))


def show(found: Any) -> None:
    """Print the table."""
    from ..jobs.search.summaries import HEADER, cells_of

    aligns = ["l", *"r" * (len(HEADER) - 1)]
    rows = cells_of(found.rows, found.best)
    msg.table(rows, header=HEADER, aligns=aligns, divider=True, max_col=100)


def show_test(search: Any, found: Any, test: Path) -> None:
    """Print the scores of the choice on test data."""
    from ..evaluation.tables import mean_and_spread
    from ..jobs.search.search import score_test
    from ..jobs.search.summaries import COLUMNS

    summary = score_test(search, found, test)["summary"]
    msg.text(f"{found.best.name}, on {test}:")
    for name, key in COLUMNS.items():
        msg.text(f"  {name}: {mean_and_spread(**summary[key])}")

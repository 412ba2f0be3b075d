"""The commands `spanner analyze …` that train: over settings, seeds and data sizes."""

from pathlib import Path
from typing import Any, Dict, List, Optional, Tuple

import typer
from wasabi import msg

from ..evaluation.tables import percent
from .analyze import COMPONENT, OUTPUT, analyze, write_analysis
from .progress import track
from .shell import CODE, GPU, TAKES_OVERRIDES, plain_errors, prepare

CONFIG = typer.Argument(..., help="Training config; overrides as in spacy train")
TEST = typer.Option(None, "--test", "-t", help="Documents to score the best model on")
SEEDS = typer.Option("0,1,2", help="Numbers with commas")
SWEEP = typer.Option(
    "components.span_biaffine.boundary_smoothing=0.0,0.1",
    help="A setting of the config and its values",
)


@analyze.command("training", context_settings=TAKES_OVERRIDES)
def training_cli(
    ctx: typer.Context,
    config: Path = CONFIG,
    output: Path = OUTPUT,
    vary: str = SWEEP,
    test: Optional[Path] = TEST,
    component: str = COMPONENT,
    gpu_id: int = GPU,
    code_path: Optional[Path] = CODE,
) -> None:
    """Loss and F1 on development data over training, for values of a setting."""
    from ..evaluation.report.figures.analyses import training_figure

    with plain_errors():
        runs = run_sweep(ctx, config, vary, test, component, (gpu_id, code_path))
        write_analysis(output, "training", runs, training_figure(runs))


@analyze.command("calibration", context_settings=TAKES_OVERRIDES)
def calibration_cli(
    ctx: typer.Context,
    config: Path = CONFIG,
    output: Path = OUTPUT,
    vary: str = typer.Option(
        "components.span_biaffine.boundary_smoothing=0.0,0.1,0.2,0.3",
        help="A setting of the config and its values",
    ),
    test: Optional[Path] = TEST,
    component: str = COMPONENT,
    gpu_id: int = GPU,
    code_path: Optional[Path] = CODE,
) -> None:
    """Reliability diagrams, for values of a setting such as boundary smoothing."""
    from ..evaluation.report.figures.analyses import reliability_panels
    from ..jobs.search.summaries import best_part

    with plain_errors():
        runs = run_sweep(ctx, config, vary, test, component, (gpu_id, code_path))
        panels = [{"name": run["name"], **best_part(run)} for run in runs]
        write_analysis(output, "calibration", panels, reliability_panels(panels))


@analyze.command("seeds", context_settings=TAKES_OVERRIDES)
def seeds_cli(
    ctx: typer.Context,
    config: Path = CONFIG,
    output: Path = OUTPUT,
    seeds: str = SEEDS,
    test: Optional[Path] = TEST,
    component: str = COMPONENT,
    gpu_id: int = GPU,
    code_path: Optional[Path] = CODE,
) -> None:
    """Scores over several seeds: mean and standard deviation."""
    from ..evaluation.report.figures.analyses import seeds_figure
    from ..jobs.search.experiments import run_variants
    from ..jobs.search.summaries import best_part, seed_variants, summarize

    with plain_errors():
        plan = make_plan(ctx, config, test, component, (gpu_id, code_path))
        variants = seed_variants(numbers(seeds))
        runs = run_variants(plan, variants, track=track)
        summary = summarize(runs)
        known = [name for name, row in summary.items() if row["mean"] is not None]
        values = {name: [best_part(run)[name] for run in runs] for name in known}
        data = {"summary": summary, "runs": runs}
        write_analysis(output, "seeds", data, seeds_figure(values, summary))
    for name in known:
        row = summary[name]
        msg.text(f"{name}: {percent(row['mean'])} ± {percent(row['sd'])}")


@analyze.command("sizes", context_settings=TAKES_OVERRIDES)
def sizes_cli(
    ctx: typer.Context,
    config: Path = CONFIG,
    output: Path = OUTPUT,
    seeds: str = typer.Option("0", help="Numbers with commas"),
    test: Optional[Path] = TEST,
    component: str = COMPONENT,
    gpu_id: int = GPU,
    code_path: Optional[Path] = CODE,
) -> None:
    """F1 with 12.5 % to 100 % of the training documents."""
    from ..evaluation.report.figures.analyses import sizes_figure
    from ..jobs.search.experiments import count_documents, run_variants
    from ..jobs.search.summaries import by_name, size_variants, summarize

    with plain_errors():
        plan = make_plan(ctx, config, test, component, (gpu_id, code_path))
        variants = size_variants(count_documents(plan), numbers(seeds))
        runs = run_variants(plan, variants, track=track)
        points = {name: summarize(group)["f"] for name, group in by_name(runs).items()}
        data = {"summary": points, "runs": runs}
        write_analysis(output, "sizes", data, sizes_figure(points))


def run_sweep(
    ctx: typer.Context,
    config: Path,
    vary: str,
    test: Optional[Path],
    component: str,
    machine: Tuple[int, Optional[Path]],
) -> List[Dict[str, Any]]:
    """RETURNS (List[Dict[str, Any]]): a training for each value of a setting."""
    from ..evaluation.analyses.settings_grid import parse_axis
    from ..jobs.search.experiments import run_variants
    from ..jobs.search.variants import sweep

    plan = make_plan(ctx, config, test, component, machine)
    variants = sweep(*parse_axis(vary))
    return run_variants(plan, variants, track=track)


def make_plan(
    ctx: typer.Context,
    config: Path,
    test: Optional[Path],
    component: str,
    machine: Tuple[int, Optional[Path]],
) -> Any:
    """RETURNS (Plan): what all trainings of an analysis share.

    machine (Tuple[int, Optional[Path]]): the GPU, and code to import.
    """
    from spacy.cli._util import parse_config_overrides

    from ..jobs.search.experiments import Plan

    prepare(*machine)
    return Plan(config, parse_config_overrides(ctx.args), test, component)


def numbers(text: str) -> List[int]:
    """RETURNS (List[int]): whole numbers with commas between them."""
    try:
        return [int(part) for part in text.split(",")]
    except ValueError as error:
        raise typer.BadParameter(f"not numbers with commas: {text}") from error

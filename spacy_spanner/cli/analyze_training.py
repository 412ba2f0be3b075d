"""The commands `spanner analyze …` that train: over settings, seeds and data sizes.

Each is a preset of the search: its trainings are trials in the output folder. Started
again, a command trains only what is missing.
"""

from pathlib import Path
from typing import Any, Callable, Dict, List, Optional, Tuple

import typer

from ..evaluation.tables import percent
from .analyze import COMPONENT, analyze, show_table, write_analysis
from .shell import CODE, GPU, TAKES_OVERRIDES, msg, parse_numbers, ready, track

CONFIG = typer.Argument(..., help="Training config; overrides as in spacy train")
OUTPUT = typer.Option(
    ..., "--output", "-o", help="Folder for the trainings, the figure and its data"
)
TEST = typer.Option(None, "--test", "-t", help="Test data for the best model")
DEFAULT_SETTING = "boundary_smoothing"

Accounts = List[Dict[str, Any]]


def add_command(
    name: str,
    about: str,
    values: Any,
    make_variants: Callable[[Any, str], List[Any]],
    finish: Callable[[Path, Accounts], None],
    *,
    curves: bool = False,
) -> None:
    """Add an analysis that trains.

    name, about (str): of the command.
    values (Any): the option that says what differs between trainings.
    make_variants (Callable): the trainings of a plan, by the value of that option.
    finish (Callable): writes the figure and its data from the accounts of trainings.
    curves (bool): see `Plan`.
    """

    @analyze.command(name, help=about, context_settings=TAKES_OVERRIDES)
    def command(
        ctx: typer.Context,
        config: Path = CONFIG,
        output: Path = OUTPUT,
        values: str = values,
        test: Optional[Path] = TEST,
        component: str = COMPONENT,
        gpu_id: int = GPU,
        code_path: Optional[Path] = CODE,
    ) -> None:
        with ready(gpu_id, code_path, folder=output):
            plan = make_plan(config, ctx.args, test, component, curves)
            train_variants(plan, make_variants(plan, values), output, finish)


def make_plan(
    config: Path, extra: List[str], test: Optional[Path], component: str, curves: bool
) -> Any:
    """RETURNS (Plan): the common settings of trainings.

    extra (List[str]): arguments that override the config.
    """
    from ..jobs.search.trials import Plan
    from ..jobs.spacy_commands import parse_config_overrides

    return Plan(config, parse_config_overrides(extra), test, component, curves)


def train_variants(
    plan: Any,
    variants: List[Any],
    output: Path,
    finish: Callable[[Path, Accounts], None],
) -> None:
    """Train the variants that are missing in the folder, and finish the analysis."""
    from ..jobs.search.search import run_variants

    finish(output, run_variants(plan, variants, output, track=track))


def vary(default: str) -> Tuple[Any, Callable[[Any, str], List[Any]]]:
    """RETURNS (Tuple[Any, Callable]): the option for a setting and its values, and what
    makes a training for each value.
    """
    usual = f"default: {DEFAULT_SETTING}={default} of the component"
    option = typer.Option(
        "", "--vary", help=f"Setting of the config and its values; {usual}"
    )

    def variants(plan: Any, text: str) -> List[Any]:
        from ..evaluation.settings_grid import parse_axis
        from ..jobs.search.variants import sweep

        return sweep(*parse_axis(text or f"{default_setting(plan)}={default}"))

    return option, variants


def seeds(default: str) -> Any:
    """RETURNS (Any): the option for several seeds."""
    return typer.Option(default, "--seeds", help="Comma-separated seeds")


def default_setting(plan: Any) -> str:
    """RETURNS (str): the dotted name of the component's boundary smoothing.

    RAISES (ValueError): SP141 where its model has none.
    """
    from spacy.util import load_config, load_model_from_config

    from ..errors import Errors
    from ..evaluation.landscape import find_component

    config = load_config(plan.config, overrides=plan.overrides, interpolate=True)
    nlp = load_model_from_config(config, auto_fill=True)
    name = find_component(nlp, plan.component)
    settings = nlp.get_pipe(name).cfg  # type: ignore[attr-defined]
    if DEFAULT_SETTING not in settings:
        message = Errors.SP141.format(component=name, settings=", ".join(settings))
        raise ValueError(message)
    return f"components.{name}.{DEFAULT_SETTING}"


def with_each_seed(plan: Any, text: str) -> List[Any]:
    """RETURNS (List[Variant]): a training for each seed."""
    from ..jobs.search.variants import seed_variants

    return seed_variants(parse_numbers(text, "seeds", least=1))


@analyze.command("sizes", context_settings=TAKES_OVERRIDES)
def sizes_cli(
    ctx: typer.Context,
    config: Path = CONFIG,
    output: Path = OUTPUT,
    seeds: str = typer.Option("0", "--seeds", help="Comma-separated seeds"),
    vary: str = typer.Option(
        "", "--vary", help="Setting of the config and its values: a line for each"
    ),
    test: Optional[Path] = TEST,
    component: str = COMPONENT,
    gpu_id: int = GPU,
    code_path: Optional[Path] = CODE,
) -> None:
    """Plot F1 for 12.5% to 100% of the training documents."""
    from ..evaluation.settings_grid import parse_axis
    from ..jobs.search.one_trial import count_documents
    from ..jobs.search.variants import size_variants

    with ready(gpu_id, code_path, folder=output):
        plan = make_plan(config, ctx.args, test, component, curves=False)
        numbers = parse_numbers(seeds, "seeds", least=1)
        axis = parse_axis(vary) if vary else None
        variants = size_variants(count_documents(plan), numbers, axis)
        train_variants(plan, variants, output, write_sizes)


def write_training(output: Path, runs: Accounts) -> None:
    """Print and write the course of trainings."""
    from ..evaluation.analysis_tables import training_table
    from ..evaluation.report.figures.analyses import training_figure

    show_table(training_table(runs))
    write_analysis(output, "training", runs, training_figure)


def write_calibration(output: Path, runs: Accounts) -> None:
    """Print and write the reliability of the best model of each training."""
    from ..evaluation.analysis_tables import calibration_table
    from ..evaluation.report.figures.analyses import reliability_panels
    from ..jobs.search.summaries import best_part

    panels = [{"name": run["name"], **best_part(run)} for run in runs]
    show_table(calibration_table(panels))
    write_analysis(output, "calibration", panels, reliability_panels)


def write_seeds(output: Path, runs: Accounts) -> None:
    """Write and print means over seeds."""
    from ..evaluation.report.figures.analyses import seeds_figure
    from ..jobs.search.summaries import best_part, summarize

    summary = summarize(runs)
    known = [name for name, row in summary.items() if row["mean"] is not None]
    values = {name: [best_part(run)[name] for run in runs] for name in known}
    data = {"summary": summary, "runs": runs}
    for name in known:
        row = summary[name]
        msg.text(f"{name}: {percent(row['mean'])} ± {percent(row['sd'])}")
    write_analysis(output, "seeds", data, lambda _: seeds_figure(values, summary))


def write_sizes(output: Path, runs: Accounts) -> None:
    """Print and write F1 by the size of the training data."""
    from ..evaluation.analysis_tables import means_table
    from ..evaluation.report.figures.analyses import sizes_figure
    from ..jobs.search.summaries import by_name, summarize

    points = {name: summarize(group)["f"] for name, group in by_name(runs).items()}
    lines: Dict[str, Dict[str, Any]] = {}
    for name, point in points.items():
        share, _, setting = name.partition(", ")
        lines.setdefault(setting, {})[share] = point
    data = {"summary": points, "runs": runs}
    show_table(means_table("training documents", points))
    write_analysis(output, "sizes", data, lambda _: sizes_figure(lines))


add_command(
    "training",
    "Plot loss and F1 on the dev data over training, for values of a setting.",
    *vary("0.0,0.1"),
    write_training,
    curves=True,
)
add_command(
    "calibration",
    "Plot reliability for values of a setting, such as boundary smoothing.",
    *vary("0.0,0.1,0.2,0.3"),
    write_calibration,
)
add_command(
    "seeds",
    "Train with several seeds: mean and standard deviation of scores.",
    seeds("0,1,2"),
    with_each_seed,
    write_seeds,
)

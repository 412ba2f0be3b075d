"""The commands `spanner analyze …`: each prints numbers, and can draw them."""

from pathlib import Path
from typing import TYPE_CHECKING, Any, Callable, Dict, List, Optional, Tuple

import typer
from spacy.language import Language
from spacy.util import load_model

from ..errors import Warnings
from ..errors.install import install_command
from .shell import CODE, DATA, GPU, KEY, MODEL, app, distinct_names, msg, ready, track

if TYPE_CHECKING:
    from ..evaluation.analysis_tables import Table

analyze = typer.Typer(name="analyze", no_args_is_help=True)
analyze.info.help = "Analyses as in the papers: numbers, and a figure of them"
app.add_typer(analyze)

OUTPUT = typer.Option(
    None, "--output", "-o", help="Folder for the figure and its data; default: print"
)
MODELS = typer.Argument(..., help="One or more trained pipelines")
COMPONENT = typer.Option("", "--component", help="Component, if there are several")


@analyze.command("landscape")
def landscape_cli(
    model: str = MODEL,
    train: Path = typer.Option(..., help="Training data"),
    dev: Path = typer.Option(..., help="Development data"),
    test: Optional[Path] = typer.Option(None, help="Test data"),
    output: Optional[Path] = OUTPUT,
    points: int = typer.Option(51, min=3, help="Number of points from -1 to 1"),
    seed: int = typer.Option(0, min=0, help="Random seed of the direction"),
    component: str = COMPONENT,
    gpu_id: int = GPU,
    code_path: Optional[Path] = CODE,
) -> None:
    """Plot the loss along a random direction through the trained weights."""
    from ..evaluation.analysis_tables import landscape_table
    from ..evaluation.landscape import loss_landscape
    from ..evaluation.predicting import read_corpus
    from ..evaluation.report.figures.analyses import landscape_figure

    with ready(gpu_id, code_path, folder=output):
        nlp = load_model(model)
        name, key = component_and_key(nlp, component)
        paths = {"train": train, "dev": dev, "test": test}
        splits = {
            part: read_corpus(path, nlp, key) for part, path in paths.items() if path
        }
        walk: Dict[str, Any] = {"n_points": points, "seed": seed, "track": track}
        data = loss_landscape(nlp, name, splits, **walk)
        show_table(landscape_table(data))
        msg.text(
            f"Along the line, {data['moved']:,} parameters are moved. "
            f"{data['still']:,} stay as trained: biases, norms, and other components"
        )
        write_analysis(output, "landscape", data, landscape_figure)


@analyze.command("lengths")
def lengths_cli(
    models: List[str] = MODELS,
    data: Path = typer.Option(..., "--data", "-d", help="Annotated documents"),
    output: Optional[Path] = OUTPUT,
    spans_key: Optional[str] = KEY,
    gpu_id: int = GPU,
    code_path: Optional[Path] = CODE,
) -> None:
    """Plot F1 by span length, for one or more pipelines."""
    from ..evaluation.analysis_tables import lengths_table
    from ..evaluation.predicting import find_source, read_corpus
    from ..evaluation.report.figures.analyses import lengths_figure
    from ..jobs.search.one_trial import scores_of

    with ready(gpu_id, code_path, folder=output):
        found: Dict[str, Any] = {}
        for model, name in zip(models, distinct_names(models)):
            nlp = load_model(model)
            key = find_source(nlp, spans_key).key
            scores = scores_of(nlp, read_corpus(data, nlp, key), key)
            found[name] = scores["by_length"] or {}
        show_table(lengths_table(found))
        write_analysis(output, "lengths", found, lengths_figure)


@analyze.command("offsets")
def offsets_cli(
    model: str = MODEL,
    data: Path = DATA,
    output: Optional[Path] = OUTPUT,
    limit: int = typer.Option(3, min=1, help="Larger offsets are counted as this one"),
    spans_key: Optional[str] = KEY,
    gpu_id: int = GPU,
    code_path: Optional[Path] = CODE,
) -> None:
    """Plot by how many tokens predicted boundaries differ from the gold."""
    from ..evaluation.analysis_tables import offsets_table
    from ..evaluation.error_analysis import offset_table
    from ..evaluation.matching import match_reading
    from ..evaluation.predicting import find_source, read_corpus, read_predictions
    from ..evaluation.report.figures.scores import offset_figure

    with ready(gpu_id, code_path, folder=output):
        nlp = load_model(model)
        key = find_source(nlp, spans_key).key
        gold = read_corpus(data, nlp, key)
        readings = read_predictions(nlp, gold, key, track=track)
        matches = [match for one in readings for match in match_reading(one)]
        table = offset_table(matches, limit)
        show_table(offsets_table(table))
        write_analysis(output, "offsets", table, offset_figure)


@analyze.command("grid")
def grid_cli(
    model: str = MODEL,
    data: Path = DATA,
    output: Optional[Path] = OUTPUT,
    rows: str = typer.Option(..., help="Setting and its values: steps=1,5,10"),
    columns: str = typer.Option(..., help="Setting and its values: spans=30,60"),
    component: str = COMPONENT,
    gpu_id: int = GPU,
    code_path: Optional[Path] = CODE,
) -> None:
    """Plot F1 and speed over two settings, such as steps and spans (diffusion)."""
    from ..evaluation.analysis_tables import grid_table
    from ..evaluation.predicting import read_corpus
    from ..evaluation.report.figures.analyses import grid_figure
    from ..evaluation.settings_grid import parse_axis, settings_grid

    with ready(gpu_id, code_path, folder=output):
        axes = {"rows": parse_axis(rows), "columns": parse_axis(columns)}
        nlp = load_model(model)
        name, key = component_and_key(nlp, component)
        gold = read_corpus(data, nlp, key)
        found = settings_grid(nlp, name, gold, **axes, track=track)
        show_table(grid_table(found))
        write_analysis(output, "grid", found, grid_figure)


def component_and_key(nlp: Language, component: str) -> Tuple[str, str]:
    """RETURNS (Tuple[str, str]): name of the component, and the group it writes.

    RAISES (ValueError): SP079 where it is not clear which component is meant.
    """
    from ..evaluation.landscape import find_component

    name = find_component(nlp, component)
    return name, nlp.get_pipe(name).cfg["spans_key"]  # type: ignore[attr-defined]


def show_table(table: "Table") -> None:
    """Print a table whose columns are numbers, but for the first."""
    aligns = ["l", *"r" * (len(table.header) - 1)]
    msg.table(table.rows, header=table.header, aligns=aligns, divider=True)


def write_analysis(
    output: Optional[Path],
    name: str,
    data: Any,
    draw: Optional[Callable[[Any], Any]] = None,
) -> None:
    """Write data as JSON, and the figure as PNG and SVG, all at once.

    output (Optional[Path]): the folder; without it, nothing is written.
    name (str): name of the files.
    data (Any): the data.
    draw (Optional[Callable]): makes the figure of the data, if it has one. Without
        matplotlib, there is none.
    """
    from ..evaluation.report.figures.style import can_draw, save_figure
    from ..files import staged_folder, write_json

    if output is None:
        return
    drawn = draw is not None and can_draw()
    with staged_folder(output) as folder:
        write_json(folder / f"{name}.json", data)
        if draw is not None and drawn:
            save_figure(draw(data), folder, name)
    msg.good(f"Wrote {output / name}.json{', .png and .svg' if drawn else ''}")
    if draw is not None:
        warn_without_figures()


def warn_without_figures() -> None:
    """Print SW151 if there is nothing to draw figures with."""
    from ..evaluation.report.figures.style import can_draw

    if not can_draw():
        msg.warn(Warnings.SW151.format(command=install_command("plots")))

"""The commands `spanner init-config` and `spanner debug-data`, before training."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Callable, Dict, List, Optional

import typer

from ..errors import Errors
from ..errors.plain import plain
from ..evaluation.tables import amount
from .shell import CODE, FORCE, TAKES_OVERRIDES, app, msg, plain_errors, ready

if TYPE_CHECKING:
    from ..preflight.starter_config import Wishes

DEFAULT_NAME = "config.cfg"


@app.command("init-config")
def init_config_cli(
    output: Path = typer.Argument(..., help="File to write, or - for standard output"),
    model: str = typer.Option(
        "span_locate_label", "--model", "-m", help="Model to train"
    ),
    lang: str = typer.Option("en", "--lang", "-l", help="Language code"),
    encoder: str = typer.Option(
        "cnn", "--encoder", "-e", help="cnn, minilm, a folder, or a name on the hub"
    ),
    gpu: bool = typer.Option(False, "--gpu", "-G", help="Train on a GPU"),
    window: str = typer.Option(
        "sentence", help="Unit to predict on: sentence, doc or strided"
    ),
    labels: str = typer.Option(
        "", help="Comma-separated labels; default: from the data"
    ),
    spans_key: str = typer.Option(
        "ents", "--spans-key", "-sk", help="Span group with the gold annotation"
    ),
    steps: Optional[int] = typer.Option(
        None, min=1, help="Number of batches to train on; rounded up for evaluations"
    ),
    checkpoint: bool = typer.Option(
        False, "--checkpoint", help="Save checkpoints, so that training can be resumed"
    ),
    recipe: str = typer.Option("tuned", help="tuned, or paper: the model of the paper"),
    dataset: Optional[str] = typer.Option(None, help="Dataset of the paper"),
    force: bool = FORCE,
) -> None:
    """Write a complete training config with comments."""
    from .. import files, output_checks
    from ..preflight.languages import language_warning
    from ..preflight.starter_config import Wishes

    given = [label.strip() for label in labels.split(",") if label.strip()]
    wishes = Wishes(
        *(model, lang, encoder, gpu, window, given, spans_key, steps),
        checkpoint=checkpoint,
    )
    with plain_errors():
        to_screen = output == output_checks.STANDARD_OUTPUT
        if not to_screen:
            output_checks.require_writable(output, folder=False)
            if not force:
                output_checks.require_absent(output)
        name = DEFAULT_NAME if to_screen else output.name
        text = text_of(wishes, recipe, dataset, name)
        warning = language_warning(encoder, lang)
        if warning:
            print(plain(str(warning)), file=sys.stderr)
        if to_screen:
            sys.stdout.write(text)
            return
        files.write_text(output, text)
    msg.good(f"Wrote {output}")
    for line in wishes.commands(str(output)):
        print(plain(line))  # not wrapped, so that commands can be copied


def text_of(wishes: "Wishes", recipe: str, dataset: Optional[str], file: str) -> str:
    """RETURNS (str): a config by a recipe.

    RAISES (ValueError): SP002 for an unknown recipe, SP030 for options of which the
        recipe has values of its own.
    """
    from ..preflight import recipes
    from ..preflight.config_text import write_config
    from ..preflight.starter_config import Wishes, build_config
    from ..settings import one_of, require

    require(one_of(recipes.RECIPES), recipe=recipe)
    is_paper = recipe == "paper"
    changed = [
        "--" + name.replace("_", "-")
        for name, value, default in zip(Wishes._fields, wishes, Wishes(wishes.model))
        if value != default and not (name == "labels" and not value)
    ]
    wrong = changed if is_paper else ["--dataset"] * (dataset is not None)
    if wrong:
        raise ValueError(
            Errors.SP030.format(
                first=f"--recipe {recipe}",
                second=", ".join(wrong),
                why="only the recipe paper has datasets, and it has the values of the "
                "paper for everything else",
            )
        )
    if is_paper:
        return recipes.paper_text(wishes.model, dataset, wishes.commands(file))
    return write_config(build_config(wishes), wishes.heading(file))


@app.command("debug-data", context_settings=TAKES_OVERRIDES)
def debug_data_cli(
    ctx: typer.Context,  # overrides of the config
    config: Path = typer.Argument(..., help="The training config"),
    test: Optional[Path] = typer.Option(
        None, "--test", "-t", help="Test data, to check for overlap with train"
    ),
    strict: bool = typer.Option(False, help="Treat warnings as errors"),
    output: Optional[Path] = typer.Option(
        None, "--output", "-o", help="JSON file to write counts and findings to"
    ),
    code_path: Optional[Path] = CODE,
) -> None:
    """Check the training, development and test data of a config.

    Settings of the config are overridden as in `spacy train`: --paths.train corpus.
    Exits with code 1 if training would fail or its scores would be meaningless.
    """
    from ..files import write_json
    from ..jobs.spacy_commands import parse_config_overrides
    from ..output_checks import require_writable
    from ..preflight.data_check import debug_data

    with ready(code=code_path):
        if output is not None:
            require_writable(output, folder=False)
        checks = debug_data(config, parse_config_overrides(ctx.args), test=test)
        show(checks)
        if output is not None:
            write_json(output, [as_json(check) for check in checks])
    levels = [finding.level for check in checks for finding in check.findings]
    wrong = levels.count("error") + (levels.count("warning") if strict else 0)
    msg.text(", ".join(amount(levels.count(x), x) for x in ("error", "warning")))
    if wrong:
        raise typer.Exit(1)


def show(checks: List[Any]) -> None:
    """Print the findings about each component."""
    marks: Dict[str, Callable] = {"error": msg.fail, "warning": msg.warn}
    for check in checks:
        msg.divider(check.component)
        for finding in check.findings:
            marks.get(finding.level, msg.good)(finding.text, finding.advice)


def as_json(check: Any) -> Dict[str, Any]:
    """RETURNS (Dict[str, Any]): counts and findings as plain data."""
    findings: List[Dict[str, str]] = [one._asdict() for one in check.findings]
    return {**check._asdict(), "findings": findings}

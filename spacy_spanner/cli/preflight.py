"""The commands `spanner init-config` and `spanner debug-data`, before training."""

import sys
from pathlib import Path
from typing import Any, Callable, Dict, List, Optional

import typer
from wasabi import msg

from .shell import CODE, FORCE, TAKES_OVERRIDES, app, plain_errors, ready

TO_SCREEN = Path("-")


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
        None, min=1, help="Number of batches to train on"
    ),
    force: bool = FORCE,
) -> None:
    """Write a complete training config with comments."""
    from ..files import require_absent, write_text
    from ..preflight.config_text import write_config
    from ..preflight.starter_config import Wishes, build_config

    given = [label.strip() for label in labels.split(",") if label.strip()]
    wishes = Wishes(model, lang, encoder, gpu, window, given, spans_key, steps)
    with plain_errors():
        if output != TO_SCREEN and not force:
            require_absent(output)
        text = write_config(build_config(wishes), wishes.heading(output.name))
    if output == TO_SCREEN:
        sys.stdout.write(text)
        return
    write_text(output, text)
    msg.good(f"Wrote {output}")


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
    from spacy.cli._util import parse_config_overrides

    from ..files import write_json
    from ..preflight.data_check import debug_data

    with ready(code=code_path):
        checks = debug_data(config, parse_config_overrides(ctx.args), test=test)
    show(checks)
    if output is not None:
        write_json(output, [as_json(check) for check in checks])
    levels = [finding.level for check in checks for finding in check.findings]
    wrong = levels.count("error") + (levels.count("warning") if strict else 0)
    msg.text(f"{levels.count('error')} errors, {levels.count('warning')} warnings")
    if wrong:
        raise typer.Exit(1)


def show(checks: List[Any]) -> None:
    """Print the findings about each component."""
    marks: Dict[str, Callable] = {"error": msg.fail, "warning": msg.warn}
    for check in checks:
        msg.divider(check.component)
        for finding in check.findings:
            marks.get(finding.level, msg.good)(finding.text, finding.advice or None)


def as_json(check: Any) -> Dict[str, Any]:
    """RETURNS (Dict[str, Any]): counts and findings as plain data."""
    findings: List[Dict[str, str]] = [one._asdict() for one in check.findings]
    return {**check._asdict(), "findings": findings}

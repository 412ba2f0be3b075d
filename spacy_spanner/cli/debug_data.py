"""The command `spanner debug-data`."""

from pathlib import Path
from typing import Any, Callable, Dict, List, Optional

import typer
from wasabi import msg

from .app import app
from .shell import CODE, TAKES_OVERRIDES, plain_errors, prepare


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

    with plain_errors():
        prepare(code=code_path)
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

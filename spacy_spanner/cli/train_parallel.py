"""The command `spanner train-parallel`."""

from pathlib import Path
from typing import List, Optional

import typer
from wasabi import msg

from .app import app
from .shell import CODE, TAKES_OVERRIDES, plain_errors


@app.command("train-parallel", context_settings=TAKES_OVERRIDES)
def train_parallel_cli(
    ctx: typer.Context,
    config: Path = typer.Argument(..., help="Training config"),
    n_proc: int = typer.Option(..., "--n-proc", "-n", min=1, help="Processes"),
    output: Optional[Path] = typer.Option(
        None, "--output", "-o", help="Folder for model-last and model-best"
    ),
    gpu: bool = typer.Option(False, help="Use one GPU per process"),
    code_path: Optional[Path] = CODE,
) -> None:
    """Train with several processes on this machine. Each learns from a share of every
    batch; the result is the same as with `spacy train`.

    Settings are overridden as for `spacy train`. For several machines, start
    `-m spacy_spanner.jobs.parallel train` with torchrun.
    """
    from spacy.cli._util import parse_config_overrides

    from ..jobs.parallel.launching import launch_training

    if not config.exists():
        msg.fail("Config file not found", config, exits=1)
    parse_config_overrides(list(ctx.args))  # says what is wrong with them, once
    arguments: List[str] = [str(config), *ctx.args]
    for name, path in (("--output", output), ("--code", code_path)):
        arguments += [] if path is None else [name, str(path)]
    arguments += ["--gpu"] if gpu else []
    with plain_errors():
        launch_training(n_proc, arguments, output)

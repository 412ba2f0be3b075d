"""`torchrun --nproc-per-node N -m spacy_spanner.jobs.parallel train config.cfg ...`."""

import atexit
import os
import sys
from pathlib import Path
from typing import Optional

import typer

from ...cli.shell import CODE, TAKES_OVERRIDES, plain_errors

app = typer.Typer(add_completion=False)


@app.callback()
def main() -> None:
    """Train with several processes; start this with torchrun."""


@app.command("train", context_settings=TAKES_OVERRIDES)
def train_cli(
    ctx: typer.Context,
    config: Path = typer.Argument(..., exists=True, allow_dash=True, help="Config"),
    output: Optional[Path] = typer.Option(None, "--output", "-o", help="Folder"),
    gpu: bool = typer.Option(False, help="Learn on a GPU for each process"),
    code_path: Optional[Path] = CODE,
) -> None:
    """Train with a config of `spacy train`, whose settings may be overridden."""
    from ..spacy_commands import import_code, parse_config_overrides
    from .training import work

    overrides = parse_config_overrides(ctx.args)
    with plain_errors():
        import_code(code_path)
        local_rank = int(os.environ.get("LOCAL_RANK", 0))
        work(config, output, overrides, local_rank=local_rank, gpu=gpu)


def leave() -> None:
    """Exit without tearing down the interpreter: meanwhile, torch sometimes aborts a
    process whose group has ended, and a successful training would look failed.
    """
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0)


if __name__ == "__main__":
    try:
        app(prog_name="python -m spacy_spanner.jobs.parallel")
    except SystemExit as end:
        if not end.code:
            leave()
        raise

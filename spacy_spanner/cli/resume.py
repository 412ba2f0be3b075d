"""The command `spanner resume`."""

import sys
from pathlib import Path
from typing import Optional

import typer
from wasabi import msg

from .app import app
from .shell import TAKES_OVERRIDES

CHECKPOINT = typer.Argument(
    ..., help="Folder of checkpoints ('path' of spacy_spanner.checkpoint.v1)"
)
OUTPUT = typer.Option(
    None, "--output", "-o", help="Folder for model-last and model-best"
)
GPU = typer.Option(-1, "--gpu-id", "-g", help="GPU ID, or -1 for the CPU")
CODE = typer.Option(None, "--code", "-c", help="Python file to import first")


@app.command("resume", context_settings=TAKES_OVERRIDES)
def resume_cli(
    ctx: typer.Context,
    checkpoint: Path = CHECKPOINT,
    output: Optional[Path] = OUTPUT,
    gpu_id: int = GPU,
    code: Optional[Path] = CODE,
) -> None:
    """Resume a training run from its last checkpoint.

    The result has the same weights as a run without interruption. Settings are
    overridden as for `spacy train`: --paths.train for data that has moved, or
    --training.max_steps for more steps.
    """
    from spacy.cli._util import import_code, parse_config_overrides, setup_gpu

    from ..jobs.run.resuming import finish_run, load_run

    overrides = parse_config_overrides(ctx.args)
    import_code(code)
    setup_gpu(gpu_id)
    try:
        run = load_run(checkpoint, use_gpu=gpu_id, overrides=overrides)
    except ValueError as error:
        msg.fail(str(error), exits=1)
    msg.info(f"Resuming at epoch {run.checkpoint.epoch}, step {run.checkpoint.step}")
    n_steps = finish_run(run, output, stdout=sys.stdout, stderr=sys.stderr)
    if not n_steps:
        msg.good("The run is already complete")
    elif output is not None:
        msg.good("Saved pipeline to output directory", output / "model-last")

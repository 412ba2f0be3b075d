"""The commands `spanner train-parallel` and `spanner resume`."""

import sys
from pathlib import Path
from typing import List, Optional

import typer

from ..errors import Errors
from .shell import CODE, GPU, TAKES_OVERRIDES, app, msg, plain_errors, ready

CHECKPOINT = typer.Argument(
    ..., help="Folder of checkpoints ('path' of spacy_spanner.checkpoint.v1)"
)
OUTPUT = typer.Option(
    None, "--output", "-o", help="Folder for model-last and model-best"
)


@app.command("train-parallel", context_settings=TAKES_OVERRIDES)
def train_parallel_cli(
    ctx: typer.Context,
    config: Path = typer.Argument(..., help="Training config"),
    n_proc: int = typer.Option(..., "--n-proc", "-n", min=1, help="Processes"),
    output: Optional[Path] = OUTPUT,
    gpu: bool = typer.Option(False, help="Use one GPU per process"),
    code_path: Optional[Path] = CODE,
) -> None:
    """Train with several processes on this machine. Each learns from a share of every
    batch; the result is the same as with `spacy train`.

    Settings are overridden as for `spacy train`. For several machines, start
    `-m spacy_spanner.jobs.parallel train` with torchrun.
    """
    from ..jobs.parallel.launching import launch_training
    from ..jobs.spacy_commands import parse_config_overrides
    from ..output_checks import require_writable

    parse_config_overrides(list(ctx.args))  # says what is wrong with them, once
    arguments: List[str] = [str(config), *ctx.args]
    for name, path in (("--output", output), ("--code", code_path)):
        arguments += [] if path is None else [name, str(path)]
    arguments += ["--gpu"] if gpu else []
    with plain_errors():
        if not config.is_file():
            message = Errors.SP145.format(path=config, problem="there is no such file")
            raise ValueError(message)
        if output is not None:
            require_writable(output, folder=True)
        launch_training(n_proc, arguments, output)


@app.command("resume", context_settings=TAKES_OVERRIDES)
def resume_cli(
    ctx: typer.Context,
    checkpoint: Path = CHECKPOINT,
    output: Optional[Path] = OUTPUT,
    gpu_id: int = GPU,
    code_path: Optional[Path] = CODE,
) -> None:
    """Resume a training run from its last checkpoint.

    The result has the same weights as a run without interruption. Settings are
    overridden as for `spacy train`: --paths.train for data that has moved, or
    --training.max_steps for more steps.
    """
    from ..jobs.run.resuming import finish_run, load_run
    from ..jobs.spacy_commands import parse_config_overrides

    overrides = parse_config_overrides(ctx.args)
    with ready(gpu_id, code_path, folder=output):
        run = load_run(checkpoint, use_gpu=gpu_id, overrides=overrides)
        at = f"epoch {run.checkpoint.epoch}, step {run.checkpoint.step}"
        msg.info(f"Resuming at {at}")
        n_steps = finish_run(run, output, stdout=sys.stdout, stderr=sys.stderr)
    if not n_steps:
        msg.good("The run is already complete")
    elif output is not None:
        msg.good("Saved pipeline to output directory", output / "model-last")

"""The command `spanner init-config`."""

import sys
from pathlib import Path
from typing import Optional

import typer
from wasabi import msg

from .app import app
from .shell import FORCE, plain_errors

TO_SCREEN = Path("-")


@app.command("init-config")
def init_config_cli(
    output: Path = typer.Argument(..., help="File to write, or - for standard output"),
    model: str = typer.Option("span_biaffine", "--model", "-m", help="Model to train"),
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

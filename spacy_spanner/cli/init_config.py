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
    output: Path = typer.Argument(..., help="File to write, or - for the screen"),
    model: str = typer.Option("span_biaffine", "--model", "-m", help="Factory"),
    lang: str = typer.Option("en", "--lang", "-l", help="Code of the language"),
    encoder: str = typer.Option(
        "cnn", "--encoder", "-e", help="cnn, minilm, a folder, or a name on the hub"
    ),
    gpu: bool = typer.Option(False, "--gpu", "-G", help="For training on a GPU"),
    window: str = typer.Option("sentence", help="sentence, doc or strided"),
    labels: str = typer.Option("", help="Labels with commas; else from the data"),
    spans_key: str = typer.Option("ents", "--spans-key", "-sk", help="Group with gold"),
    steps: Optional[int] = typer.Option(None, min=1, help="Batches to train on"),
    force: bool = FORCE,
) -> None:
    """Write a complete config with comments, to be trained as it is."""
    from ..files import require_absent, write_text
    from ..preflight.comments import write_config
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

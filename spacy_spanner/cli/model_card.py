"""The command `spanner model-card`."""

from pathlib import Path
from typing import Optional

import typer
from spacy.util import load_model
from wasabi import msg

from .app import app
from .shell import CODE, FORCE, MODEL, plain_errors, prepare


@app.command("model-card")
def model_card_cli(
    model: str = MODEL,
    output: Optional[Path] = typer.Option(
        None,
        "--output",
        "-o",
        help="File to write; default: README.md in the pipeline's folder",
    ),
    force: bool = FORCE,
    code_path: Optional[Path] = CODE,
) -> None:
    """Write a model card with labels, scores, settings and limits of a pipeline.

    `spacy package` adds the README.md of a pipeline's folder to the package.
    """
    from ..evaluation.card import render_card
    from ..files import require_absent, write_text

    with plain_errors():
        prepare(code=code_path)
        nlp = load_model(model)
        target = output or Path(nlp.path or ".") / "README.md"
        if not force:
            require_absent(target)
        write_text(target, render_card(nlp))
    msg.good(f"Wrote {target}")

"""The command `spanner model-card`."""

from pathlib import Path
from typing import Optional

import typer
from wasabi import msg

from .app import app
from .shell import CODE, FORCE, MODEL, load, plain_errors, prepare


@app.command("model-card")
def model_card_cli(
    model: str = MODEL,
    output: Optional[Path] = typer.Option(
        None,
        "--output",
        "-o",
        help="File to write; README.md of the folder, if not given",
    ),
    force: bool = FORCE,
    code_path: Optional[Path] = CODE,
) -> None:
    """Write what a pipeline is, can do and cannot do, for its README.

    `spacy package` puts the README.md of a folder into the package.
    """
    from ..evaluation.card import render_card
    from ..files import require_absent, write_text

    with plain_errors():
        prepare(code=code_path)
        nlp = load(model)
        target = output or Path(nlp.path or ".") / "README.md"
        if not force:
            require_absent(target)
        write_text(target, render_card(nlp))
    msg.good(f"Wrote {target}")

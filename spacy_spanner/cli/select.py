"""The command `spanner select`."""

from pathlib import Path
from typing import Any, Dict, List, Optional

import typer
from spacy.util import load_model

from ..errors import Errors
from .find_errors import TOOLS, chosen_tools
from .shell import CODE, GPU, KEY, app, msg, ready, track

TEXTS = typer.Argument(
    ..., help="Files (.txt, .jsonl, .parquet, .spacy), folders or globs"
)
MODEL = typer.Option(..., "--model", "-m", help="Trained pipeline, calibrated by tune")
NUMBER = typer.Option(..., "--number", "-n", min=1, help="Documents to choose")
OUTPUT = typer.Option(..., "--output", "-o", help="Folder to write to")
WEIGHTS = typer.Option("", help="How much errors of labels count: PER=2,ORG=0.5")
PER_TOKEN = typer.Option(False, help="Compare documents by expected errors per token")
REPETITION = typer.Option(
    0.5, min=0.0, max=1.0, help="What a repeated text counts; 1 for no diversity"
)
LINES = typer.Option(False, "--lines", help="Each line of a .txt file is a document")
TEXT_FIELD = typer.Option("text", help="Field with the text, in .jsonl and .parquet")
ID_FIELD = typer.Option("", help="Field with the id; default: file name and number")


@app.command("select")
def select_cli(
    texts: List[str] = TEXTS,
    model: str = MODEL,
    number: int = NUMBER,
    output: Path = OUTPUT,
    tools: str = TOOLS,
    weights: str = WEIGHTS,
    per_token: bool = PER_TOKEN,
    repetition: float = REPETITION,
    lines: bool = LINES,
    text_field: str = TEXT_FIELD,
    id_field: str = ID_FIELD,
    spans_key: Optional[str] = KEY,
    gpu_id: int = GPU,
    code_path: Optional[Path] = CODE,
) -> None:
    """Choose the texts in which a pipeline expects most errors, to annotate them next.

    Writes them with their predictions as tasks for annotation tools, and
    selection.jsonl with the order of choice.
    """
    from ..jobs.annotate.messages import Fields
    from ..jobs.choosing import read_texts, select_texts, write_selected
    from ..review.selection import Preferences

    with ready(gpu_id, code_path, folder=output):
        names = chosen_tools(tools)  # fail early
        preferences = Preferences(parse_weights(weights), per_token, repetition)
        nlp = load_model(model)
        fields = Fields(text_field, id_field)
        pool = read_texts(texts, nlp, fields=fields, by_line=lines)
        options: Dict[str, Any] = {"key": spans_key, "preferences": preferences}
        found = select_texts(nlp, pool, number, track=track, **options)
        write_selected(found, output, names)
    errors = sum(task.about["expected_errors"] for task in found.tasks)
    msg.good(
        f"{len(found.tasks):,} of {found.pool:,} documents, with {errors:.0f} expected "
        f"errors",
        f"in {output}",
    )


def parse_weights(text: str) -> Dict[str, float]:
    """RETURNS (Dict[str, float]): weights by label, of a list such as PER=2,ORG=0.5.

    RAISES (ValueError): SP189 for anything else.
    """
    weights = {}
    for part in text.split(",") if text else []:
        label, _, value = part.rpartition("=")
        try:
            weights[label.strip()] = float(value)
        except ValueError:
            raise ValueError(Errors.SP189.format(part=part)) from None
        if not label.strip() or not 0 <= weights[label.strip()] < float("inf"):
            raise ValueError(Errors.SP189.format(part=part))
    return weights

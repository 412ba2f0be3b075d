"""The command `spanner find-errors`."""

from pathlib import Path
from typing import TYPE_CHECKING, Any, List, Optional

import typer
from spacy.util import load_model

from ..errors import Errors
from .shell import CODE, DATA, GPU, KEY, TAKES_OVERRIDES, app, msg, ready, track

if TYPE_CHECKING:
    from ..jobs.folds.error_search import Found

OUTPUT = typer.Option(
    ..., "--output", "-o", help="Folder to write to; with --apply, a .spacy file"
)
CONFIG = typer.Option(None, help="Training config, to train on folds of DATA")
OTHER = typer.Option(None, help="Use this pipeline, trained on other data, instead")
APPLY = typer.Option(None, help="Reviewed file: write corrected data instead")
FOLDS = typer.Option(5, min=2, help="Parts of DATA, each held out once")
SEED = typer.Option(0, min=0, help="Random seed of the folds and the ranking")
PROCESSES = typer.Option(1, min=1, help="Number of trainings at once")
LIMIT = typer.Option(200, min=0, help="Number of spans on the page and to review")
TOOLS = typer.Option(
    "prodigy,label-studio,doccano,brat", help="Annotation tools to write tasks for"
)
FORMAT = typer.Option(
    None, "--format", "-f", help="Format of the reviewed file; default: detected"
)
ALIGN = typer.Option(
    "strict", help="Reviewed boundaries inside tokens: strict, contract, expand"
)


@app.command("find-errors", context_settings=TAKES_OVERRIDES)
def find_errors_cli(
    ctx: typer.Context,
    data: Path = DATA,
    output: Path = OUTPUT,
    config: Optional[Path] = CONFIG,
    model: Optional[str] = OTHER,
    apply: Optional[Path] = APPLY,
    folds: int = FOLDS,
    seed: int = SEED,
    n_process: int = PROCESSES,
    limit: int = LIMIT,
    tools: str = TOOLS,
    format: Optional[str] = FORMAT,
    align: str = ALIGN,
    spans_key: Optional[str] = KEY,
    gpu_id: int = GPU,
    code_path: Optional[Path] = CODE,
) -> None:
    """Rank the spans of annotated documents by how likely they are wrong or missing.

    With --config, trains a pipeline for each fold without it, and compares predictions
    with annotation; run the command again to train only what is missing. Settings are
    overridden as for `spacy train`. Writes suspicions.html, .csv and .jsonl, and review
    tasks for annotation tools. With --apply, takes a reviewed file back.
    """
    choices = dict(locals())
    from ..output_checks import require_writable

    with ready(gpu_id, code_path):
        require_writable(output, folder=apply is None)
        ways = {"--config": config, "--model": model, "--apply": apply}
        given = [way for way, value in ways.items() if value is not None]
        if len(given) != 1:
            raise ValueError(Errors.SP186.format(given=", ".join(given) or "none"))
        if apply is not None:
            take_back(data, apply, output, spans_key, format=format, align=align)
        else:
            search(**choices)


def search(
    *, output: Path, limit: int, tools: str, model: Optional[str], **choices: Any
) -> None:
    """Find errors with the options of the command, and write and show them."""
    from ..jobs.folds.error_search import search_by_model, write_found

    names = chosen_tools(tools)  # fail early
    data, key, seed = (choices[name] for name in ("data", "spans_key", "seed"))
    if model is not None:
        nlp = load_model(model)
        found = search_by_model(data, nlp, key=key, seed=seed, track=track)
    else:
        found = train_and_search(output=output, **choices)
    write_found(found, output, tools=names, limit=limit)
    show(found)
    msg.good(f"Wrote {output / 'suspicions.html'}, .csv and .jsonl")
    if names:
        msg.good(f"Wrote tasks for review to {output / 'review'}")


def chosen_tools(text: str) -> List[str]:
    """RETURNS (List[str]): names of annotation tools, from a list with commas.

    RAISES (ValueError): SP062 for an unknown one.
    """
    from ..corpus.options import check_choice
    from ..corpus.tasks import TOOLS

    names = text.replace(",", " ").split()
    return [check_choice("tools", name, tuple(TOOLS)) for name in names]


def train_and_search(*, data: Path, output: Path, **choices: Any) -> "Found":
    """RETURNS (Found): the suspicions, by cross-validation."""
    from ..jobs.folds.cross_validation import CrossValidation, Folds
    from ..jobs.folds.error_search import search_by_folds
    from ..jobs.search.trials import Machine
    from ..jobs.spacy_commands import parse_config_overrides

    setup = CrossValidation(
        choices["config"],
        parse_config_overrides(list(choices["ctx"].args)),
        output,
        Machine(choices["gpu_id"] >= 0, choices["code_path"]),
        choices["n_process"],
    )
    folds = Folds(choices["folds"], choices["seed"])
    options: Any = {"key": choices["spans_key"], "tell": msg.text, "track": track}
    return search_by_folds(data, setup, folds, **options)


def show(found: "Found") -> None:
    """Print the number of expected errors of each kind."""
    from ..review.suspicions import KINDS

    rows = []
    for kind, name in KINDS.items():
        values = [o.suspicion for o in found.reviewed.suspicions if o.kind == kind]
        rows.append((name, f"{sum(values):.0f}", f"{sum(v >= 0.5 for v in values)}"))
    header = ("kind", "expected errors", "suspicion of at least 0.5")
    msg.table(rows, header=header, aligns=["l", "r", "r"], divider=True)


def take_back(
    data: Path, reviewed: Path, output: Path, key: Optional[str], **options: Any
) -> None:
    """Write corrected data."""
    from ..jobs.folds.error_search import apply_review
    from ..settings import DEFAULT_SPANS_KEY

    key = key or DEFAULT_SPANS_KEY
    found = apply_review(data, reviewed, output, key=key, note=msg.info, **options)
    msg.good(
        f"{found.reviewed:,} documents reviewed, {found.changed:,} changed: "
        f"{found.added:,} spans added, {found.removed:,} removed",
        f"in {output}",
    )

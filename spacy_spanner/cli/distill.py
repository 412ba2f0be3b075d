"""The command `spanner distill`."""

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Dict, List, Optional

import typer

from ..errors import Errors
from .annotate import (
    STOPPED,
    absolute,
    annotate_rest,
    report_outcome,
    sigterm_as_interrupt,
    total,
)
from .shell import CODE, FORCE, GPU, KEY, TAKES_OVERRIDES, app, msg, ready

if TYPE_CHECKING:
    from ..jobs.annotate.run import Request

TEACHER = typer.Argument(..., help="Trained pipeline, calibrated by tune")
TEXTS = typer.Option(
    ..., "--texts", "-t", help="Files, folders, globs: text, JSONL, Parquet, .spacy"
)
STUDENT = typer.Option(..., "--student", "-s", help="Training config of the student")
OUTPUT = typer.Option(..., "--output", "-o", help="Folder to write to")
N_PROCESS = typer.Option(1, "--n-process", "-n", min=1, help="Processes that read")
LINES = typer.Option(False, "--lines", help="Text files: every line is a document")
TEXT_FIELD = typer.Option("text", help="JSONL, Parquet: name of the text field")
TOLERANCE = typer.Option(
    0.01, min=0.0, max=1.0, help="Share of texts that the teacher may fail to read"
)


@app.command("distill", context_settings=TAKES_OVERRIDES)
def distill_cli(
    ctx: typer.Context,
    teacher: str = TEACHER,
    texts: List[str] = TEXTS,
    student: Path = STUDENT,
    output: Path = OUTPUT,
    n_process: int = N_PROCESS,
    lines: bool = LINES,
    text_field: str = TEXT_FIELD,
    tolerance: float = TOLERANCE,
    spans_key: Optional[str] = KEY,
    gpu_id: int = GPU,
    code_path: Optional[Path] = CODE,
    force: bool = FORCE,
) -> None:
    """Train a small pipeline on texts that a better one reads, and on the annotated
    documents of its config.

    The student learns all scores of the teacher, not only its decisions. Settings of
    the config are overridden as for `spacy train`. If the command is interrupted, run
    it again to continue.
    """
    from ..jobs.annotate.annotator import SpanAnnotator
    from ..jobs.annotate.messages import Fields
    from ..jobs.distilling import LOWEST, Student, reading_of, taught_by
    from ..jobs.spacy_commands import parse_config_overrides

    overrides = parse_config_overrides(ctx.args)
    with ready(gpu_id, code_path, folder=output), sigterm_as_interrupt():
        require_one_process(n_process, gpu_id)
        options: Dict[str, Any] = {"spans_key": spans_key, "lowest": LOWEST}
        options["code"] = str(code_path.absolute()) if code_path else None
        reader = SpanAnnotator(absolute(teacher), gpu_id=gpu_id, **options)
        learner, taught = Student(student, overrides, output), taught_by(reader)
        learner.require_apart(teacher)
        if not force:
            learner.require_own_folder(teacher, taught)
            if learner.is_trained:
                msg.good("The student is already trained", output / "model-best")
                return
        learner.require_texts_apart(texts)
        if force:
            learner.forget()
        if n_process > 1:
            reader = SpanAnnotator(absolute(teacher), threads=1, **options)
        fields = Fields(text_field)
        request = reading_of(reader, texts, output, fields=fields, by_line=lines)
        read_texts(request, n_process, tolerance, force=force)
        del reader, request  # the teacher needs memory
        try:
            learner.train(taught, use_gpu=gpu_id)
        except KeyboardInterrupt:
            msg.info("Stopped. Run the same command again to continue")
            raise typer.Exit(STOPPED) from None
    msg.good("Saved the student", output / "model-best")


def require_one_process(n_process: int, gpu_id: int) -> None:
    """RAISES (ValueError): SP062 for several processes that would share a GPU."""
    if n_process > 1 and gpu_id >= 0:
        choices = "1 with --gpu-id"
        message = Errors.SP062.format(
            name="n-process", choices=choices, value=n_process
        )
        raise ValueError(message)


def read_texts(
    request: "Request", n_process: int, tolerance: float, *, force: bool
) -> None:
    """Let the teacher read.

    RAISES (ValueError): SP193 if it finds nothing.
    RAISES (Exit): see `report_outcome`.
    """
    from ..jobs.annotate.pool import run_here, run_pool

    engine = run_here if n_process == 1 else partial(run_pool, n_process=n_process)
    reports, n_parts = annotate_rest(request, engine, force=force)
    report_outcome(reports, n_parts, request.output, tolerance)
    if not total(reports, "spans"):
        documents, words = total(reports, "documents"), total(reports, "words")
        raise ValueError(Errors.SP193.format(documents=documents, words=words))

"""The command `spanner distill`."""

from functools import partial
from pathlib import Path
from typing import List, Optional

import typer

from .annotate import (
    STOPPED,
    absolute,
    annotate_rest,
    report_outcome,
    sigterm_as_interrupt,
)
from .shell import CODE, GPU, KEY, TAKES_OVERRIDES, app, msg, ready

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
) -> None:
    """Train a small pipeline on texts that a better one reads, and on the annotated
    documents of its config.

    The student learns all scores of the teacher, not only its decisions. Settings of
    the config are overridden as for `spacy train`. If the command is interrupted, run
    it again to continue.
    """
    from ..jobs.annotate.annotator import SpanAnnotator
    from ..jobs.annotate.messages import Fields
    from ..jobs.annotate.pool import run_here, run_pool
    from ..jobs.distilling import LOWEST, TEXTS, Student, reading_of, train_student
    from ..jobs.spacy_commands import parse_config_overrides

    learner = Student(student, parse_config_overrides(ctx.args), output)
    with ready(gpu_id, code_path, folder=output), sigterm_as_interrupt():
        learner.check()
        reader = SpanAnnotator(
            absolute(teacher),
            spans_key=spans_key,
            gpu_id=gpu_id if n_process == 1 else -1,
            threads=None if n_process == 1 else 1,
            code=str(code_path.absolute()) if code_path else None,
            lowest=LOWEST,
        )
        source = str(reader.key)  # with scores, so it is a group
        request = reading_of(
            reader, texts, output, fields=Fields(text_field), by_line=lines
        )
        several = partial(run_pool, n_process=n_process)
        engine = run_here if n_process == 1 else several
        report_outcome(*annotate_rest(request, engine), output / TEXTS, tolerance)
        try:
            is_new = train_student(learner, source, use_gpu=gpu_id)
        except KeyboardInterrupt:
            msg.info("Stopped. Run the same command again to continue")
            raise typer.Exit(STOPPED) from None
    if is_new:
        msg.good("Saved the student", output / "model-best")
    else:
        msg.good("The student is already trained", output / "model-best")

"""The command `spanner annotate`."""

import signal
import sys
import threading
from contextlib import closing, contextmanager, redirect_stdout
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, BinaryIO, Dict, Iterator, List, Optional, Tuple

import typer

from ..errors import Errors
from ..evaluation.tables import amount
from .shell import CODE, FORCE, KEY, MODEL, app, fail, msg, plain_errors, track_amounts

if TYPE_CHECKING:
    from ..jobs.annotate.messages import Report
    from ..jobs.annotate.run import Engine, Request, Run

INPUT = typer.Argument(..., help="Files, folders, globs: text, JSONL, Parquet, .spacy")
OUTPUT = typer.Option(
    ..., "--output", "-o", help="Folder to write to, or - for standard output"
)
TO = typer.Option("jsonl", help="Output format: jsonl, parquet, spacy")
ENGINE = typer.Option("local", help="local, or ray for a cluster (extra ray)")
N_PROCESS = typer.Option(
    None, "--n-process", "-n", min=1, help="Number of workers; with ray, the maximum"
)
MIN_PROCESS = typer.Option(None, min=1, help="ray: minimum number of workers")
NUM_GPUS = typer.Option(0.0, min=0.0, help="GPUs per worker; 0.5 lets two share one")
THREADS = typer.Option(None, min=1, help="Threads per worker; 1 for several workers")
ADDRESS = typer.Option(None, help="ray: cluster address, if Ray does not find it")
TEXT_FIELD = typer.Option("text", help="JSONL, Parquet: name of the text field")
ID_FIELD = typer.Option("", help="Name of the id field; default: file name and number")
LINES = typer.Option(False, "--lines", help="Text files: read every line as a document")
TEXT = typer.Option(True, "--text/--no-text", help="Write the texts of documents, too")
KEEP = typer.Option(
    False, "--keep-fields", help="JSONL: write all other fields of the input, too"
)
BATCH = typer.Option(None, min=1, help="Documents per batch; default: the pipeline's")
PART = typer.Option(None, min=0.001, help="MB of input per output file")
ZONE = typer.Option(
    True, help="Free memory after each part; disable if components keep documents"
)
TOLERANCE = typer.Option(
    0.01, min=0.0, max=1.0, help="Share of documents that may fail"
)
CHOICES = {"to": ("jsonl", "parquet", "spacy"), "engine": ("local", "ray")}
STOPPED = 130


@app.command("annotate")
def annotate_cli(
    model: str = MODEL,
    inputs: List[str] = INPUT,
    output: Path = OUTPUT,
    to: str = TO,
    engine: str = ENGINE,
    n_process: Optional[int] = N_PROCESS,
    min_process: Optional[int] = MIN_PROCESS,
    num_gpus: float = NUM_GPUS,
    threads: Optional[int] = THREADS,
    ray_address: Optional[str] = ADDRESS,
    spans_key: Optional[str] = KEY,
    text_field: str = TEXT_FIELD,
    id_field: str = ID_FIELD,
    lines: bool = LINES,
    text: bool = TEXT,
    keep_fields: bool = KEEP,
    batch_size: Optional[int] = BATCH,
    part_mb: Optional[float] = PART,
    memory_zone: bool = ZONE,
    tolerance: float = TOLERANCE,
    code_path: Optional[Path] = CODE,
    force: bool = FORCE,
) -> None:
    """Apply a pipeline to a corpus of any size.

    Writes files of annotated documents to OUTPUT, and errors.jsonl with the ids of
    failed documents and the reasons. If the command is interrupted, run it again to
    continue; every document is annotated once.
    """
    from ..output_checks import STANDARD_OUTPUT, require_writable

    choices = dict(locals())
    with plain_errors(), sigterm_as_interrupt():
        check_choices(choices)
        if output == STANDARD_OUTPUT:
            print_annotated(choices)
        else:
            require_writable(output, folder=True)
            report_outcome(*annotate(choices), output, tolerance)


def print_annotated(choices: Dict[str, Any]) -> None:
    """Annotate in a temporary folder, and write the results to standard output and all
    messages to standard error.
    """
    stream = sys.stdout.buffer
    with TemporaryDirectory() as folder, redirect_stdout(sys.stderr):
        output = Path(folder, "annotated")
        reports, n_parts = annotate({**choices, "output": output}, stream)
        errors = output / "errors.jsonl"
        typer.echo(errors.read_text("utf8"), nl=False)
        report_outcome(reports, n_parts, None, choices["tolerance"])


def check_choices(choices: Dict[str, Any]) -> None:
    """RAISES (ValueError): SP062 for an invalid format, engine or number of workers."""
    from ..output_checks import STANDARD_OUTPUT

    expected = {name: f"one of {', '.join(known)}" for name, known in CHOICES.items()}
    wrong = [name for name, known in CHOICES.items() if choices[name] not in known]
    printed = choices["output"] == STANDARD_OUTPUT
    if (printed or choices["keep_fields"]) and choices["to"] != "jsonl":
        option = "--output -" if printed else "--keep-fields"
        expected["to"] = f"jsonl with {option}"
        wrong.append("to")
    if printed and choices["engine"] != "local":
        expected["engine"] = "local with --output -"
        wrong.append("engine")
    most = choices["n_process"]
    if most is not None and (choices["min_process"] or 1) > most:
        expected["min_process"] = f"at most {most} (--n-process)"
        wrong.append("min_process")
    for name in wrong:
        option, value = name.replace("_", "-"), choices[name]
        message = Errors.SP062.format(name=option, choices=expected[name], value=value)
        raise ValueError(message)


def make_request(choices: Dict[str, Any]) -> "Request":
    """RETURNS (Request): the options that determine the results."""
    from ..jobs.annotate.annotator import SpanAnnotator
    from ..jobs.annotate.messages import Fields
    from ..jobs.annotate.run import Request

    several = choices["engine"] == "ray" or (choices["n_process"] or 1) > 1
    code = choices["code_path"]
    annotator = SpanAnnotator(
        absolute(choices["model"]),
        spans_key=choices["spans_key"],
        batch_size=choices["batch_size"],
        gpu_id=0 if choices["num_gpus"] else -1,
        threads=choices["threads"] or (1 if several else None),
        code=str(code.absolute()) if code else None,
        memory_zone=choices["memory_zone"],
    )
    part_mb = choices["part_mb"]
    return Request(
        annotator,
        choices["inputs"],
        choices["output"],
        format=choices["to"],
        fields=Fields(
            choices["text_field"], choices["id_field"], choices["keep_fields"]
        ),
        by_line=choices["lines"],
        with_text=choices["text"],
        part_size=round(part_mb * 2**20) if part_mb else None,
    )


def absolute(model: str) -> str:
    """RETURNS (str): the absolute path of a folder, or the name of a package."""
    return str(Path(model).absolute()) if Path(model).exists() else model


def make_engine(choices: Dict[str, Any]) -> "Engine":
    """RETURNS (Engine): the function that annotates parts.

    RAISES (ValueError): SP123 if Ray is needed and not installed.
    """
    n_process, num_gpus = choices["n_process"], choices["num_gpus"]
    if choices["engine"] == "ray":
        from ..jobs.annotate.on_ray import RayOptions, run_on_ray
        from ..jobs.ray import require_ray

        require_ray("data")
        options = RayOptions(
            choices["ray_address"],
            least=choices["min_process"] or n_process or 1,
            most=n_process,
            num_cpus=choices["threads"] or 1,
            num_gpus=num_gpus,
        )
        return partial(run_on_ray, options=options)
    from ..jobs.annotate.pool import run_here, run_pool

    if (n_process or 1) == 1:
        return run_here
    return partial(run_pool, n_process=n_process, num_gpus=num_gpus)


def annotate(
    choices: Dict[str, Any], stream: Optional[BinaryIO] = None
) -> "Tuple[List[Report], int]":
    """Annotate with the options of the command; see `annotate_rest`."""
    request, engine = make_request(choices), make_engine(choices)
    return annotate_rest(request, engine, force=choices["force"], stream=stream)


def annotate_rest(
    request: "Request",
    engine: "Engine",
    *,
    force: bool = False,
    stream: Optional[BinaryIO] = None,
) -> "Tuple[List[Report], int]":
    """Annotate the remaining parts, and show the progress.

    force (bool): whether results of another run may be replaced.
    stream (Optional[BinaryIO]): gets the results instead of the folder.
    RETURNS (Tuple[List[Report], int]): reports on finished parts, also after an
        interruption, and the number of all parts.
    """
    from ..jobs.annotate.run import prepared

    with prepared(request, force=force) as run:
        reports = list(run.finished)
        if reports:
            done = f"{len(reports):,} of {amount(len(run.parts), 'part')}"
            msg.info(f"Resuming: {done} already finished")
        try:
            for report in track(run, engine, stream):
                reports.append(report)
        except KeyboardInterrupt:
            msg.warn("Stopped")
    return reports, len(run.parts)


def track(
    run: "Run", engine: "Engine", stream: Optional[BinaryIO]
) -> Iterator["Report"]:
    """Annotate parts, and show the progress. YIELDS (Report): of each part."""
    from ..jobs.annotate.run import annotate_parts

    size = sum(part.size for part in run.parts)
    before = total(run.finished, "size")
    options: Dict[str, Any] = {"total": size, "before": before, "what": "Annotating"}
    with closing(annotate_parts(run, engine)) as reports:
        if stream is None:
            yield from track_amounts(reports, **options)
        else:
            moved = run.job.output.move_shards(reports, stream)
            yield from track_amounts(moved, **options)


@contextmanager
def sigterm_as_interrupt() -> Iterator[None]:
    """Handle SIGTERM like Ctrl-C."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def report_outcome(
    reports: "List[Report]",
    n_parts: int,
    output: Optional[Path],
    tolerance: float,
) -> None:
    """Print the result of a run.

    output (Optional[Path]): the folder; None for standard output.
    RAISES (Exit): with code 130 if the run is not complete, with code 1 if more
        documents failed than tolerated.
    """
    if len(reports) < n_parts:
        parts = f"{len(reports):,} of {amount(n_parts, 'part')} finished"
        advice = ". Run the same command again to continue" if output else ""
        msg.info(f"{parts}{advice}")
        raise typer.Exit(STOPPED)
    documents, failed = total(reports, "documents"), total(reports, "failed")
    words, spans = total(reports, "words"), total(reports, "spans")
    msg.good(
        f"{amount(documents, 'document')}, {amount(words, 'word')}, "
        f"{amount(spans, 'span')}",
        f"in {output}" if output else "on standard output",
    )
    path = output / "errors.jsonl" if output else "the list above"
    if failed > tolerance * (documents + failed):
        message = Errors.SP129.format(
            failed=failed, total=documents + failed, tolerance=tolerance, path=path
        )
        fail(message)
    if failed:
        msg.warn(f"{amount(failed, 'document')} failed: see {path}")


def total(reports: "List[Report]", name: str) -> int:
    """RETURNS (int): the sum of a count over all parts."""
    return sum(getattr(report, name) for report in reports)

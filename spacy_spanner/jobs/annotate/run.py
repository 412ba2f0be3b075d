"""A run: make a plan or resume one, annotate its parts, and join the errors."""

import json
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, Callable, Dict, Iterator, List, NamedTuple, Optional, Sequence

from spacy.util import get_package_path, is_package

from ...errors import Errors
from ...files import read_json, write_text
from ...output_checks import require_absent
from ..run.digests import digest
from .annotator import SpanAnnotator
from .messages import Fields, Part, Report
from .output import OutputFolder
from .plan import Source, find_sources, make_parts, usual_size
from .readers import check_fields
from .worker import Job, Reports

# Of the stored plan; a version that stores another one cannot be resumed.
FORMAT = 1

Engine = Callable[[Job, Sequence[Part]], Reports]


class Request(NamedTuple):
    """The input and the options of a run; the results depend on nothing else.

    annotator (SpanAnnotator): the pipeline.
    inputs (Sequence[str]): files, folders and globs.
    output (Path): folder for the results.
    format (str): of the output: "jsonl", "parquet" or "spacy".
    fields (Fields): where rows have text and id.
    by_line (bool): every line of a text file is a document.
    with_text (bool): write texts too.
    part_size (Optional[int]): bytes of input for each file of the output.
    """

    annotator: SpanAnnotator
    inputs: Sequence[str]
    output: Path
    format: str = "jsonl"
    fields: Fields = Fields()
    by_line: bool = False
    with_text: bool = True
    part_size: Optional[int] = None


class Run(NamedTuple):
    """A run that was prepared: the job of the workers, all parts of the plan, and the
    reports on those that earlier runs have finished.
    """

    job: Job
    parts: List[Part]
    finished: List[Report]

    @property
    def waiting(self) -> List[Part]:
        """The parts that are to be done."""
        done = {report.part for report in self.finished}
        return [part for part in self.parts if part.number not in done]


@contextmanager
def prepared(request: Request, *, force: bool = False) -> Iterator[Run]:
    """Make the plan or resume an earlier run, and keep other runs away.

    force (bool): whether results of another run may be replaced.
    YIELDS (Run): parts to do and parts that are done. `errors.jsonl` is written at the
        end, also after an interruption.
    RAISES (ValueError): SP070 for a folder that holds other things, SP124 for one that
        holds the results of another run, SP125 while another process writes there;
        SP120 to SP123 where the input cannot be read.
    """
    folder = OutputFolder(request.output.absolute(), f".{request.format}")
    sources = find_sources(request.inputs, output=folder.root, by_line=request.by_line)
    identity = _identity(request, sources)
    if not force and not folder.state.is_dir():
        require_absent(folder.root)
    with folder.locked():
        if force:
            folder.clear()
        folder.remove_drafts()
        parts = _plan(request, folder, sources, identity)
        job = Job(request.annotator, folder, request.fields, request.with_text)
        reports = (folder.finished(part.number) for part in parts)
        try:
            yield Run(job, parts, [report for report in reports if report])
        finally:
            folder.remove_drafts()
            folder.forget_attempts()
            folder.collect_errors(part.number for part in parts)


def annotate_parts(run: Run, engine: Engine) -> Reports:
    """Annotate the parts that are not finished.

    YIELDS (Report): of each part, when it is finished.
    RAISES (ValueError): the error of a worker if it is coded, or SP127, also for SP143.
    """
    waiting = run.waiting
    done = len(run.finished)
    if not waiting:
        return
    with closing(engine(run.job, waiting)) as reports:
        for report in reports:
            if report.problem:
                raise ValueError(_stopped(report.problem, done, len(run.parts)))
            done += 1
            yield report


def _stopped(problem: str, done: int, total: int) -> str:
    # After an error in writing, the run can be continued.
    if problem.startswith("[") and not problem.startswith("[SP143]"):
        return problem
    problem = problem.rstrip(".") + "."
    return Errors.SP127.format(problem=problem, done=done, total=total)


def _plan(
    request: Request,
    folder: OutputFolder,
    sources: Sequence[Source],
    identity: Dict[str, Any],
) -> List[Part]:
    """RETURNS (List[Part]): the parts of the stored plan, or of a new one."""
    if folder.plan.is_file():
        stored = read_json(folder.plan)
        _require_same(stored["identity"], identity, folder.root)
        return [Part.of(part) for part in stored["parts"]]
    size = request.part_size or usual_size(sources)
    parts = make_parts(sources, size)
    for form in dict.fromkeys(source.format for source in sources):
        piece = next((p for t in parts for p in t.pieces if p.format == form), None)
        if piece is not None:
            check_fields(piece, request.fields)
    write_text(folder.plan, json.dumps({"identity": identity, "parts": parts}))
    return parts


def _identity(request: Request, sources: Sequence[Source]) -> Dict[str, Any]:
    """RETURNS (Dict[str, Any]): everything that the results depend on, by the names of
    the command's options.
    """
    annotator = request.annotator
    return {
        "version": FORMAT,
        "model": _model_digest(annotator.model),
        "input": [[str(s.path), s.format, s.size, s.changed] for s in sources],
        "format": request.format,
        "spans-key": annotator.spans_key,
        "text-field": request.fields.text,
        "id-field": request.fields.id,
        "text": request.with_text,
        "keep-fields": request.fields.keep or None,  # older runs did not store it
        "lowest": annotator.lowest,
        "part-size": request.part_size,
    }


def _model_digest(model: str) -> str:
    """RETURNS (str): digest of all files of a pipeline, by folder or package."""
    if not Path(model).exists() and is_package(model):
        return digest(get_package_path(model))
    return digest(Path(model)) if Path(model).exists() else model


def _require_same(
    stored: Dict[str, Any], identity: Dict[str, Any], folder: Path
) -> None:
    """RAISES (ValueError): SP124 that names what differs."""
    different = [name for name in identity if identity[name] != stored.get(name)]
    if different:
        named = [
            f"{name} ({stored.get(name)!r} there, {identity[name]!r} now)"
            if name not in ("model", "input")
            else f"another {name}"
            for name in different
        ]
        raise ValueError(
            Errors.SP124.format(folder=folder, differences=", ".join(named))
        )

"""Start a server: one process with a pipeline, or several workers."""

import json
import os
import socket
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Dict, Optional

from ...errors import Errors
from ...errors.install import install_command
from ..annotate.annotator import NO_GPU, SpanAnnotator
from .limits import Limits

# Carries the settings to workers, which are new processes.
VARIABLE = "SPACY_SPANNER_SERVE"
FACTORY = "spacy_spanner.jobs.serve.starting:app_of_worker"


@dataclass(frozen=True)
class Serving:
    """What to serve, as plain data.

    model (str): folder or package name of a pipeline.
    spans_key (Optional[str]): span group, if the pipeline writes several.
    gpu_id (int), threads (Optional[int]), code (Optional[str]): see `SpanAnnotator`.
    memory_zone (bool): free the words of a batch after it.
    label_studio (bool): also answer Label Studio.
    train_after (int): submitted annotations to train after; 0 for never.
    output (Optional[str]): folder for submitted tasks and trained pipelines.
    epochs (int): passes over the tasks in a training.
    limits (Limits): what is accepted.
    """

    model: str
    spans_key: Optional[str] = None
    gpu_id: int = NO_GPU
    threads: Optional[int] = None
    code: Optional[str] = None
    memory_zone: bool = True
    label_studio: bool = False
    train_after: int = 0
    output: Optional[str] = None
    epochs: int = 10
    limits: Limits = field(default_factory=Limits)

    @classmethod
    def of(cls, value: Dict[str, Any]) -> "Serving":
        """RETURNS (Serving): the settings, restored from JSON."""
        return cls(**{**value, "limits": Limits(**value["limits"])})


def require_server() -> Any:
    """RETURNS (Any): the package uvicorn.

    RAISES (ValueError): SP123 if it or FastAPI is not installed.
    """
    try:
        import fastapi  # noqa: F401
        import uvicorn
    except ImportError as error:
        message = Errors.SP123.format(
            what="The server", package=error.name, command=install_command("serve")
        )
        raise ValueError(message) from error
    return uvicorn


def check_training(serving: Serving, workers: int) -> None:
    """RAISES (ValueError): SP221 if the server cannot train."""
    if not serving.train_after and serving.output is None:
        return
    problems = {
        "no --train-after": not serving.train_after,
        "no --label-studio": not serving.label_studio,
        "no --output": serving.output is None,
        f"--workers {workers}": workers != 1,
    }
    found = [problem for problem, holds in problems.items() if holds]
    if found:
        raise ValueError(Errors.SP221.format(problem=", ".join(found)))


def require_free(host: str, port: int) -> None:
    """RAISES (ValueError): SP223 if nobody can listen there."""
    try:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        with socket.create_server((host, port), family=family):
            pass
    except OSError as error:  # also for a host that does not exist
        message = Errors.SP223.format(host=host, port=port, problem=error.strerror)
        raise ValueError(message) from error


def load(serving: Serving) -> SpanAnnotator:
    """RETURNS (SpanAnnotator): the loaded pipeline."""
    annotator = SpanAnnotator(
        serving.model,
        spans_key=serving.spans_key,
        gpu_id=serving.gpu_id,
        threads=serving.threads,
        code=serving.code,
        memory_zone=serving.memory_zone,
    )
    _ = annotator.nlp
    return annotator


def build(serving: Serving, annotator: SpanAnnotator) -> Any:
    """RETURNS (Any): the server as an ASGI application.

    serving (Serving): what to serve.
    annotator (SpanAnnotator): its pipeline.
    """
    from .batching import Batcher
    from .http_app import Service, make_app
    from .label_studio import LabelStudio
    from .retraining import Retraining, TrainingPlan, name_of

    batcher = Batcher(annotator, serving.limits.batch)
    studio = None
    if serving.label_studio:
        retraining = None
        if serving.train_after and serving.output is not None:
            plan = TrainingPlan(
                serving.train_after, Path(serving.output), epochs=serving.epochs
            )
            retraining = Retraining(plan, annotator, batcher.replace)
        studio = LabelStudio(name_of(annotator.nlp), retraining)
    return make_app(Service(batcher, serving.limits, studio))


def app_of_worker() -> Any:
    """RETURNS (Any): the server of one of several workers; its settings are in the
    environment.
    """
    serving = Serving.of(json.loads(os.environ[VARIABLE]))
    return build(serving, load(serving))


def run(serving: Serving, *, host: str, port: int, workers: int = 1) -> None:
    """Serve until the process is told to stop. Requests that were accepted are
    answered.

    host (str), port (int): where to listen; port 0 for any free one.
    workers (int): processes, each with a pipeline of its own.
    RAISES (ValueError): SP123 without the packages, SP221 if the server cannot train,
        SP223 if it cannot listen; see `SpanAnnotator.nlp` for the pipeline.
    """
    uvicorn = require_server()
    check_training(serving, workers)
    options: Dict[str, Any] = {
        "host": host,
        "port": port,
        "timeout_graceful_shutdown": int(serving.limits.seconds) + 1,
    }
    require_free(host, port)
    annotator = load(serving)  # fail early, also if workers load it again
    if workers == 1:
        uvicorn.run(build(serving, annotator), **options)
        return
    del annotator
    os.environ[VARIABLE] = json.dumps(asdict(serving))
    uvicorn.run(FACTORY, factory=True, workers=workers, **options)

"""The command `spanner serve`."""

from pathlib import Path
from typing import Optional

import typer

from .shell import CODE, GPU, KEY, MODEL, app, msg, plain_errors

HOST = typer.Option("127.0.0.1", help="Address to listen on; 0.0.0.0 for all")
PORT = typer.Option(9090, min=0, max=65535, help="Port; 0 for any free one")
LABEL_STUDIO = typer.Option(
    False, "--label-studio", help="Also be an ML backend of Label Studio"
)
WORKERS = typer.Option(1, min=1, help="Processes, each with a pipeline of its own")
THREADS = typer.Option(
    None, min=1, help="Threads per worker; use 1 with several workers"
)
MAX_BYTES = typer.Option(5_000_000, min=1, help="Bytes of a request")
MAX_TEXTS = typer.Option(1_000, min=1, help="Texts of a request")
MAX_QUEUE = typer.Option(100, min=1, help="Requests at once in a worker")
TIMEOUT = typer.Option(60.0, min=0.001, help="Seconds until a request is given up")
BATCH = typer.Option(64, min=1, help="Texts that the pipeline reads at once")
ZONE = typer.Option(
    True, help="Free memory after each batch; disable if components keep documents"
)
TRAIN_AFTER = typer.Option(
    0, min=0, help="Label Studio: train after this many submitted annotations"
)
OUTPUT = typer.Option(
    None, "--output", "-o", help="Folder for submitted tasks and trained pipelines"
)
EPOCHS = typer.Option(10, min=1, help="Passes over all submitted tasks in a training")


@app.command("serve")
def serve_cli(
    model: str = MODEL,
    host: str = HOST,
    port: int = PORT,
    label_studio: bool = LABEL_STUDIO,
    workers: int = WORKERS,
    threads: Optional[int] = THREADS,
    max_bytes: int = MAX_BYTES,
    max_texts: int = MAX_TEXTS,
    max_queue: int = MAX_QUEUE,
    timeout: float = TIMEOUT,
    batch_size: int = BATCH,
    memory_zone: bool = ZONE,
    train_after: int = TRAIN_AFTER,
    output: Optional[Path] = OUTPUT,
    epochs: int = EPOCHS,
    spans_key: Optional[str] = KEY,
    gpu_id: int = GPU,
    code_path: Optional[Path] = CODE,
) -> None:
    """Serve a pipeline over HTTP: POST /spans takes texts, and returns their spans.

    With --label-studio, the server is also an ML backend of Label Studio, and with
    --train-after it learns from submitted annotations. Needs the extra serve.
    """
    from ..jobs.serve.limits import Limits
    from ..jobs.serve.starting import Serving, run
    from ..output_checks import require_writable

    with plain_errors():
        if output is not None:
            require_writable(output, folder=True)
        limits = Limits(max_bytes, max_texts, timeout, max_queue, batch_size)
        serving = Serving(
            model,
            spans_key=spans_key,
            gpu_id=gpu_id,
            threads=threads,
            code=str(code_path) if code_path else None,
            memory_zone=memory_zone,
            label_studio=label_studio,
            train_after=train_after,
            output=str(output) if output else None,
            epochs=epochs,
            limits=limits,
        )
        run(serving, host=host, port=port, workers=workers)
    msg.good("The server has stopped")

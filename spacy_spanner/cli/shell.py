"""Common parts of commands: options, loading, and messages instead of tracebacks."""

import re
from contextlib import contextmanager
from pathlib import Path
from typing import Iterator, List, Optional, Sequence

import typer
from spacy.language import Language
from spacy.util import load_model
from wasabi import msg

# Error codes of this package and of spaCy.
CODED = re.compile(r"^\[(SP|E)\d+\]")

# Names that are only meaningful with their parent folder.
CHECKPOINTS = ("model-best", "model-last")

MODEL = typer.Argument(..., help="Folder or package name of a trained pipeline")
DATA = typer.Argument(..., help="Annotated documents: a .spacy file or a folder")
KEY = typer.Option(
    None, "--spans-key", "-sk", help="Span group, if the pipeline writes several"
)
GPU = typer.Option(-1, "--gpu-id", "-g", help="GPU ID, or -1 for the CPU")
CODE = typer.Option(None, "--code", "-c", help="Python file to import first")
FORCE = typer.Option(False, "--force", "-F", help="Replace existing output")
# Extra arguments override settings, as for `spacy train`.
TAKES_OVERRIDES = {"allow_extra_args": True, "ignore_unknown_options": True}


@contextmanager
def plain_errors() -> Iterator[None]:
    """Print errors with a code and exit with code 1; raise all other errors."""
    try:
        yield
    except (ValueError, OSError, ImportError) as error:
        if not CODED.match(str(error)):
            raise
        msg.fail(str(error))
        raise typer.Exit(1) from error


def prepare(gpu: int = -1, code: Optional[Path] = None) -> None:
    """Set up the device and import the user's code, as in spaCy's commands."""
    from spacy.cli._util import import_code, setup_gpu

    setup_gpu(gpu, silent=True)
    import_code(code)


@contextmanager
def ready(gpu: int = -1, code: Optional[Path] = None) -> Iterator[None]:
    """Work as a command does: on a device, with the user's code, and with messages for
    coded errors.
    """
    with plain_errors():
        prepare(gpu, code)
        yield


def load(model: str) -> Language:
    """RETURNS (Language): the trained pipeline."""
    return load_model(model)


def distinct_names(models: Sequence[str]) -> List[str]:
    """Name models by the last parts of their paths.

    models (Sequence[str]): folders or package names.
    RETURNS (List[str]): the shortest ends of the paths that are all different.
    """
    paths = [Path(model).parts for model in models]
    size = 2 if any(path[-1] in CHECKPOINTS for path in paths) else 1
    n_distinct = len(set(paths))
    while len({path[-size:] for path in paths}) < n_distinct:
        size += 1
    return ["/".join(path[-size:]) for path in paths]

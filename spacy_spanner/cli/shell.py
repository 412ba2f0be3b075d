"""What commands share: messages instead of tracebacks, loading, common options."""

import re
from contextlib import contextmanager
from pathlib import Path
from typing import Iterator, List, Optional, Sequence

import typer
from spacy.language import Language
from spacy.util import load_model
from wasabi import msg

# Mistakes of users, in this package and in spaCy.
CODED = re.compile(r"^\[(SP|E)\d+\]")

# These names say nothing without the folder around them.
CHECKPOINTS = ("model-best", "model-last")

MODEL = typer.Argument(..., help="Folder or package name of a trained pipeline")
DATA = typer.Argument(..., help="Annotated documents: a .spacy file or a folder")
KEY = typer.Option(
    None, "--spans-key", "-sk", help="Group to look at, where several are written"
)
GPU = typer.Option(-1, "--gpu-id", "-g", help="GPU, or -1 for the CPU")
CODE = typer.Option(None, "--code", "-c", help="Python file to import first")
FORCE = typer.Option(False, "--force", "-F", help="Replace what is there already")
# Further arguments are settings, as for `spacy train`.
TAKES_OVERRIDES = {"allow_extra_args": True, "ignore_unknown_options": True}


@contextmanager
def plain_errors() -> Iterator[None]:
    """Turn coded errors into a message and exit code 1; all others stay as they are."""
    try:
        yield
    except (ValueError, OSError, ImportError) as error:
        if not CODED.match(str(error)):
            raise
        msg.fail(str(error))
        raise typer.Exit(1) from error


def prepare(gpu: int = -1, code: Optional[Path] = None) -> None:
    """Choose the device and import the user's code, as spaCy's commands do."""
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
    """Call models by the ends of their paths.

    models (Sequence[str]): folders or package names.
    RETURNS (List[str]): as much of each path as it takes to tell them apart.
    """
    paths = [Path(model).parts for model in models]
    size = 2 if any(path[-1] in CHECKPOINTS for path in paths) else 1
    n_distinct = len(set(paths))
    while len({path[-size:] for path in paths}) < n_distinct:
        size += 1
    return ["/".join(path[-size:]) for path in paths]

"""Common parts of the commands of `python -m spacy spanner`: the group, options,
loading, progress, and messages instead of tracebacks.

Commands parse arguments, call functions that return data, and print. Slow imports such
as torch are made inside the command, so that they do not delay other commands of spaCy.
"""

import re
import sys
import time
from contextlib import contextmanager, redirect_stdout
from datetime import timedelta
from pathlib import Path
from typing import Any, Iterable, Iterator, List, NoReturn, Optional, Sequence, Tuple

import typer
from tqdm import tqdm
from wasabi import Printer

from ..errors import Errors
from ..errors.plain import plain

app = typer.Typer(
    name="spanner",
    help="Data, evaluation and analysis for span-based named entity recognition",
    no_args_is_help=True,
)


class PlainPrinter(Printer):
    """Prints texts, labels and names of files so that no terminal obeys them."""

    def text(self, title: Any = "", text: Any = "", *args: Any, **options: Any) -> Any:
        """Print a message; see `wasabi.Printer.text`."""
        text = "" if text is None else plain(str(text))
        return super().text(plain(str(title)), text, *args, **options)

    def divider(self, text: str = "", *args: Any, **options: Any) -> Any:
        """Print a line with a title."""
        return super().divider(plain(text), *args, **options)

    def table(self, data: Any, **options: Any) -> Any:
        """Print a table."""
        for name in ("header", "footer"):
            if options.get(name):
                options[name] = _plain_cells(options[name])
        return super().table(_plain_cells(data), **options)


def _plain_cells(data: Any) -> Any:
    """RETURNS (Any): rows of a table, or its names and values."""
    if isinstance(data, dict):
        return {plain(str(name)): _plain_cells(value) for name, value in data.items()}
    if isinstance(data, (list, tuple)):
        return [_plain_cells(value) for value in data]
    return plain(data) if isinstance(data, str) else data


msg = PlainPrinter()
# Error codes of this package and of spaCy.
CODED = re.compile(r"^\[(SP|E)\d+\]")
# Names that are only meaningful with their parent folder.
CHECKPOINTS = ("model-best", "model-last")
SECONDS_BETWEEN_LINES = 10.0

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


def fail(message: str) -> NoReturn:
    """Print an error to standard error, and exit with code 1."""
    with redirect_stdout(sys.stderr):
        msg.fail(message)
    raise typer.Exit(1)


@contextmanager
def plain_errors() -> Iterator[None]:
    """Print errors with a code, and those of the system about a file, and exit with
    code 1; raise all other errors.
    """
    from configparser import InterpolationError

    from thinc.api import ConfigValidationError

    from ..jobs.spacy_commands import show_validation_error

    try:
        yield
    except (ConfigValidationError, InterpolationError):
        with redirect_stdout(sys.stderr), show_validation_error(hint_fill=False):
            raise
    except (ValueError, OSError, ImportError) as error:
        if CODED.match(str(error)):
            fail(str(error))
        if not isinstance(error, OSError) or error.filename is None:
            raise
        fail(Errors.SP145.format(path=error.filename, problem=error.strerror))


@contextmanager
def ready(
    gpu: int = -1, code: Optional[Path] = None, *, folder: Optional[Path] = None
) -> Iterator[None]:
    """Work on a device and with the user's code, as spaCy's commands do, and print
    errors as `plain_errors` does.

    folder (Optional[Path]): output, which is checked first.
    """
    from ..jobs.spacy_commands import import_code, setup_gpu
    from ..output_checks import require_writable

    with plain_errors():
        if folder is not None:
            require_writable(folder, folder=True)
        setup_gpu(gpu, silent=True)
        import_code(code)
        yield


def parse_numbers(text: str, name: str, *, least: int = 0) -> Tuple[int, ...]:
    """RETURNS (Tuple[int, ...]): the integers of a comma-separated list.

    name (str): the option.
    least (int): how many it must have.
    RAISES (ValueError): SP062 if there is anything else, or too little.
    """
    parts = text.replace(",", " ").split()
    known = all(part.removeprefix("-").isdecimal() for part in parts)
    if not known or len(parts) < least:
        message = Errors.SP062.format(
            name=name, choices="integers separated by commas", value=text
        )
        raise ValueError(message)
    return tuple(map(int, parts))


def distinct_names(models: Sequence[str]) -> List[str]:
    """RETURNS (List[str]): the shortest ends of paths that are all different."""
    paths = [Path(model).parts for model in models]
    size = 2 if any(path[-1] in CHECKPOINTS for path in paths) else 1
    n_distinct = len(set(paths))
    while len({path[-size:] for path in paths}) < n_distinct:
        size += 1
    return ["/".join(path[-size:]) for path in paths]


def track(items: Iterable[Any], *, total: int, what: str) -> Iterator[Any]:
    """Yield items and show how many are done, after a word such as "Predicting"."""
    if sys.stderr.isatty():
        yield from tqdm(items, total=total, desc=what, leave=False, unit="")
        return
    shown = time.monotonic()
    done = 0
    for item in items:
        yield item
        done += 1
        if time.monotonic() - shown >= SECONDS_BETWEEN_LINES and done < total:
            shown = time.monotonic()
            msg.text(f"{what}: {done:,} of {total:,}")
    msg.text(f"{what}: {done:,} done")


def track_amounts(
    items: Iterable[Any], *, total: int, before: int = 0, what: str
) -> Iterator[Any]:
    """Yield items and show the share of work done, the speed and the remaining time.

    items (Iterable[Any]): steps with their `size`, in any unit, and number of `words`.
    total, before (int): all of the work, and what was done before the first step.
    """
    start = shown = time.monotonic()
    done, words = before, 0
    hidden = not sys.stderr.isatty()
    form = "{desc}: {percentage:.0f} %|{bar}| {postfix}"
    bar = tqdm(total=total, initial=done, desc=what, bar_format=form, disable=hidden)
    with bar:
        for item in items:
            yield item
            done, words = done + item.size, words + item.words
            now = time.monotonic()
            speed = _speed(now - start, words, done - before, total - done)
            bar.set_postfix_str(speed, refresh=False)
            bar.update(item.size)
            if hidden and now - shown >= SECONDS_BETWEEN_LINES and done < total:
                shown = now
                msg.text(f"{what}: {100 * done / total:.0f} %, {speed}")


def _speed(seconds: float, words: int, done: int, left: int) -> str:
    """RETURNS (str): words per second, and the remaining time."""
    remaining = timedelta(seconds=round(left * seconds / max(done, 1)))
    return f"{words / max(seconds, 1e-9):,.0f} words/s, {remaining} left"

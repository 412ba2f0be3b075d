"""Which files there are to annotate: files, folders and globs of them."""

import glob
import os
from pathlib import Path
from typing import Dict, Iterator, List, NamedTuple, Sequence

from ...errors import Errors
from .output import ERRORS, STATE

SUFFIXES: Dict[str, str] = {
    ".txt": "text",
    ".text": "text",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".parquet": "parquet",
    ".spacy": "spacy",
}
COMPRESSED = ".gz"
# Formats whose files may be compressed as a whole; the others are in themselves.
COMPRESSIBLE = ("text", "jsonl")


class Source(NamedTuple):
    """A file, its name in ids, its format and its bytes."""

    path: Path
    name: str
    format: str
    size: int
    changed: int


def find_sources(
    inputs: Sequence[str], *, output: Path, by_line: bool = False
) -> List[Source]:
    """Find the files that inputs name.

    inputs (Sequence[str]): files, folders (searched to the bottom) and globs.
    output (Path): where results go; what lies there is no input.
    by_line (bool): every line of a text file is a document, and not the whole file.
    RETURNS (List[Source]): each file once, in an order that depends on names alone.
        Folders may hold other files too, which are left out.
    RAISES (ValueError): SP120 where an input has nothing to read.
    """
    found: List[Path] = []
    for given in inputs:
        paths = [path for path in _expand(given) if output not in path.parents]
        if not paths:
            raise ValueError(
                Errors.SP120.format(source=given, suffixes=", ".join(SUFFIXES))
            )
        found += paths
    paths = sorted(set(found))
    root = Path(os.path.commonpath([path.parent for path in paths]))
    sources = []
    for path in paths:
        form, status = format_of(path), path.stat()
        if form == "text" and by_line:
            form = "lines"
        name = path.relative_to(root).as_posix()
        sources.append(Source(path, name, form, status.st_size, status.st_mtime_ns))
    return sources


def _expand(given: str) -> Iterator[Path]:
    """YIELDS (Path): files that an input names, as absolute paths; the errors of an
    earlier run are no documents.
    """
    matches = [given] if os.path.exists(given) else glob.glob(given, recursive=True)
    for match in matches:
        path = Path(match).absolute()
        inside = sorted(path.rglob("*")) if path.is_dir() else [path]
        for file in inside:
            hidden = any(part.startswith(".") for part in file.relative_to(path).parts)
            beside = file.name == ERRORS and (file.parent / STATE).is_dir()
            if format_of(file) and not hidden and not beside and file.is_file():
                yield file


def format_of(path: Path) -> str:
    """RETURNS (str): the format that a name tells; empty for others."""
    if path.suffix != COMPRESSED:
        return SUFFIXES.get(path.suffix, "")
    form = SUFFIXES.get(path.with_suffix("").suffix, "")
    return form if form in COMPRESSIBLE else ""

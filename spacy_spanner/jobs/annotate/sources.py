"""Find the input files: files, folders and globs."""

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
# Formats whose files may be gzipped; Parquet and `.spacy` files compress themselves.
COMPRESSIBLE = ("text", "jsonl")


class Source(NamedTuple):
    """An input file.

    path (Path): absolute path.
    name (str): name of the file in document ids.
    format (str): see `Piece`.
    size (int): bytes.
    changed (int): time of the last change, in nanoseconds.
    """

    path: Path
    name: str
    format: str
    size: int
    changed: int


def find_sources(
    inputs: Sequence[str], *, output: Path, by_line: bool = False
) -> List[Source]:
    """Find the input files.

    inputs (Sequence[str]): files, folders (searched recursively) and globs.
    output (Path): folder for the results, which is never read as input.
    by_line (bool): each line of a text file is a document, instead of the whole file.
    RETURNS (List[Source]): each file once, sorted by path. Files of other formats are
        skipped.
    RAISES (ValueError): SP120 if an input has no file to read.
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
    """YIELDS (Path): absolute paths of the files of an input, without hidden files and
    the errors of an earlier run.
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
    """RETURNS (str): the format by file name; empty if it is unknown."""
    if path.suffix != COMPRESSED:
        return SUFFIXES.get(path.suffix, "")
    form = SUFFIXES.get(path.with_suffix("").suffix, "")
    return form if form in COMPRESSIBLE else ""

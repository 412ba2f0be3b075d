"""The plan of a run: the input files, and which parts become which files of the output.

It depends on the input alone. So a run can be resumed with another engine or another
number of workers, and every engine writes the same files.
"""

import glob
import os
from pathlib import Path
from typing import Dict, Iterator, List, NamedTuple, Optional, Sequence, Tuple

from ...errors import Errors
from .messages import Part, Piece
from .output import ERRORS, STATE
from .parquet import cut_row_groups
from .readers import COMPRESSED, cut_lines

SUFFIXES: Dict[str, str] = {
    ".txt": "text",
    ".text": "text",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".parquet": "parquet",
    ".spacy": "spacy",
}
# Formats whose files may be gzipped; Parquet and `.spacy` files compress themselves.
COMPRESSIBLE = ("text", "jsonl")
# A small corpus is cut finely enough for some workers, a large one coarsely.
USUAL_PARTS = 64
SMALLEST, LARGEST = 2**16, 2**24
LINE_FORMATS = ("lines", "jsonl")

Sized = Tuple[Piece, int]


class Source(NamedTuple):
    """An input file: absolute path, name in document ids, format (see `Piece`), bytes,
    and time of the last change in nanoseconds.
    """

    path: Path
    name: str
    format: str
    size: int
    changed: int


def find_sources(
    inputs: Sequence[str], *, output: Optional[Path] = None, by_line: bool = False
) -> List[Source]:
    """Find the input files.

    inputs (Sequence[str]): files, folders (searched recursively) and globs.
    output (Optional[Path]): folder for the results, which is never read as input.
    by_line (bool): each line of a text file is a document, instead of the whole file.
    RETURNS (List[Source]): each file of a known format once, sorted by path.
    RAISES (ValueError): SP120 if an input has no file to read.
    """
    found: List[Path] = []
    for given in inputs:
        paths = list(_expand(given))
        if output is not None:
            paths = _outside(paths, output)
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


def _outside(paths: Sequence[Path], folder: Path) -> List[Path]:
    """RETURNS (List[Path]): the files that are not in a folder, also not by a link."""
    folder = folder.resolve()
    return [path for path in paths if folder not in path.resolve().parents]


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


def usual_size(sources: Sequence[Source]) -> int:
    """RETURNS (int): bytes of a part: 64 parts of 64 kB to 16 MB, or more of 16 MB."""
    total = sum(source.size for source in sources)
    return min(max(total // USUAL_PARTS, SMALLEST), LARGEST)


def make_parts(sources: Sequence[Source], size: int) -> List[Part]:
    """Cut large files, and join small ones.

    sources (Sequence[Source]): the files.
    size (int): the least number of bytes of a part, except the last. Files that can be
        read only from their beginning (compressed ones, `.spacy`) are never cut.
    RETURNS (List[Part]): parts that together hold every document once, in order.
    """
    parts: List[Part] = []
    pieces: List[Piece] = []
    held = 0
    for source in sources:
        for piece, n_bytes in _cut(source, size):
            pieces.append(piece)
            held += n_bytes
            if held >= size:
                parts.append(Part(len(parts), held, tuple(pieces)))
                pieces, held = [], 0
    if pieces:
        parts.append(Part(len(parts), held, tuple(pieces)))
    return parts


def _cut(source: Source, size: int) -> Iterator[Sized]:
    """YIELDS (Sized): pieces of a file, with their bytes."""
    whole = Piece(str(source.path), source.name, source.format)
    if source.format == "parquet":
        for group in cut_row_groups(source.path, size):
            piece = whole._replace(start=group.start, stop=group.stop)
            yield piece._replace(first=group.first), group.size
    elif source.format in LINE_FORMATS and source.path.suffix != COMPRESSED:
        with source.path.open("rb") as stream:
            for start, stop, first in cut_lines(stream, size):
                piece = whole._replace(start=start, stop=stop, first=first)
                yield piece, stop - start
    else:
        yield whole, source.size

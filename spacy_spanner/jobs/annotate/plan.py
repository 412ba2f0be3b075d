"""The plan of a run: which parts of the input become which files of the output.

It depends on the input alone. So a run can be resumed with another engine or another
number of workers, and every engine writes the same files.
"""

from typing import Iterator, List, Sequence, Tuple

from .messages import Part, Piece
from .parquet import cut_row_groups
from .readers import cut_lines
from .sources import COMPRESSED, Source

# A small corpus is cut finely enough for some workers, a large one coarsely.
USUAL_PARTS = 64
SMALLEST, LARGEST = 2**16, 2**24
LINE_FORMATS = ("lines", "jsonl")

Sized = Tuple[Piece, int]


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

"""Split files into byte ranges of whole lines."""

from typing import BinaryIO, Iterator, NamedTuple

BLOCK = 2**22


class LineRange(NamedTuple):
    """Bytes from `start` to `stop` (exclusive), and the number of the first line."""

    start: int
    stop: int
    first: int


def cut_lines(stream: BinaryIO, limit: int) -> Iterator[LineRange]:
    """Split at the first end of a line after every `limit` bytes.

    This reads the whole file to count lines, which takes very little time compared with
    annotating it.

    stream (BinaryIO): the file, at its beginning.
    limit (int): minimum bytes of a range, except the last.
    YIELDS (LineRange): contiguous ranges.
    """
    start = position = 0
    first = line = 1
    while block := stream.read(BLOCK):
        done = 0
        while True:
            wanted = max(start + limit - 1 - position, done)
            end = block.find(b"\n", wanted) + 1 if wanted < len(block) else 0
            if not end:
                break
            line += block.count(b"\n", done, end)
            yield LineRange(start, position + end, first)
            start, first, done = position + end, line, end
        line += block.count(b"\n", done)
        position += len(block)
    if position > start:
        yield LineRange(start, position, first)

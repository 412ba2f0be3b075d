"""Cut files of lines into ranges of bytes that hold whole lines."""

from typing import BinaryIO, Iterator, NamedTuple

BLOCK = 2**22


class LineRange(NamedTuple):
    """Bytes from `start` to `stop`, exclusive, and the number of the first line."""

    start: int
    stop: int
    first: int


def cut_lines(stream: BinaryIO, limit: int) -> Iterator[LineRange]:
    """Cut behind the first end of a line after each `limit` bytes.

    The whole file is read once, because only so the numbers of lines are known: at the
    speed of the disk, which is nothing beside what annotating it takes.

    stream (BinaryIO): the file, at its beginning.
    limit (int): bytes that a range has at least, but for the last.
    YIELDS (LineRange): ranges without gaps.
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

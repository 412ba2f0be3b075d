"""Parquet: split files by row groups, read columns, write spans. Needs `pyarrow`."""

from pathlib import Path
from typing import Any, Dict, Iterator, List, NamedTuple

from ...errors import Errors
from ...errors.install import install_command

ROWS_READ = 256
ROWS_WRITTEN = 1024


class RowGroups(NamedTuple):
    """The row groups from `start` to `stop` (exclusive), the number of their first row,
    counted from 1, and their size in bytes.
    """

    start: int
    stop: int
    first: int
    size: int


def require_pyarrow() -> Any:
    """RETURNS (Any): the package `pyarrow`.

    RAISES (ValueError): SP123 if it is not installed.
    """
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError as error:
        message = Errors.SP123.format(
            what="Parquet", package="pyarrow", command=install_command("parquet")
        )
        raise ValueError(message) from error
    return pyarrow


def open_parquet(path: Path) -> Any:
    """RETURNS (Any): a `ParquetFile`.

    RAISES (ValueError): SP001 if the file has another format.
    """
    pyarrow = require_pyarrow()
    try:
        return pyarrow.parquet.ParquetFile(path)
    except (pyarrow.ArrowException, OSError) as error:
        # Errors of the system have a number, errors of damaged files do not.
        if isinstance(error, OSError) and error.errno is not None:
            raise
        message = Errors.SP001.format(
            source=path.name, line=1, column=1, problem=str(error), text=""
        )
        raise ValueError(message) from None


def cut_row_groups(path: Path, limit: int) -> Iterator[RowGroups]:
    """YIELDS (RowGroups): contiguous ranges of `limit` bytes or more, but the last."""
    with open_parquet(path) as file:
        metadata = file.metadata
        start, first, size, row = 0, 1, 0, 1
        for index in range(metadata.num_row_groups):
            group = metadata.row_group(index)
            size += group.total_byte_size
            row += group.num_rows
            if size >= limit or index == metadata.num_row_groups - 1:
                yield RowGroups(start, index + 1, first, size)
                start, first, size = index + 1, row, 0


def read_rows(
    path: Path, *, start: int, stop: int, fields: List[str]
) -> Iterator[Dict[str, Any]]:
    """Read selected columns of selected row groups, a few rows at a time.

    YIELDS (Dict[str, Any]): rows, without the fields that the file does not have.
    """
    with open_parquet(path) as file:
        names = [name for name in file.schema_arrow.names if name in fields]
        batches = file.iter_batches(
            ROWS_READ, row_groups=list(range(start, stop)), columns=names
        )
        for batch in batches:
            # Without columns, pyarrow does not list the rows.
            yield from batch.to_pylist() if names else [{}] * batch.num_rows


def column_names(path: Path) -> List[str]:
    """RETURNS (List[str]): names of all columns of a file."""
    with open_parquet(path) as file:
        return list(file.schema_arrow.names)


def span_type() -> Any:
    """RETURNS (Any): the type of the column `spans`."""
    pyarrow = require_pyarrow()
    offset, text = pyarrow.int32(), pyarrow.string()
    fields = [
        ("start", offset),
        ("end", offset),
        ("token_start", offset),
        ("token_end", offset),
        ("label", text),
        ("text", text),
        ("score", pyarrow.float32()),
    ]
    return pyarrow.list_(pyarrow.struct(fields))

"""Tables of several kinds, as columns: dicts, pandas and pyarrow."""

from typing import Any, Dict, List

Columns = Dict[str, List[Any]]

# The schema of what is added, as Spark writes schemas.
SPARK_COLUMNS = (
    "spans array<struct<start:int,end:int,token_start:int,token_end:int,"
    "label:string,text:string,score:float>>, error string"
)


def columns_of(batch: Any) -> Dict[str, Any]:
    """RETURNS (Dict[str, Any]): the columns of a table, as iterables of values."""
    if isinstance(batch, dict):
        return batch
    if _is_arrow(batch):
        return batch.to_pydict()
    return {name: batch[name] for name in batch.columns}


def add_columns(batch: Any, columns: Columns) -> Any:
    """Make a table with further columns.

    columns (Columns): `spans` and `error`; they replace columns of the same name.
    RETURNS (Any): a new table of the same kind.
    """
    if isinstance(batch, dict):
        return {**batch, **columns}
    if _is_arrow(batch):
        return _add_to_arrow(batch, columns)
    added = batch.copy()
    for name, values in columns.items():
        # As objects, in the order of the rows: an index may have any values.
        added[name] = type(added.iloc[:, 0])(values, index=added.index, dtype=object)
    return added


def _is_arrow(batch: Any) -> bool:
    return type(batch).__module__.startswith("pyarrow")


def _add_to_arrow(batch: Any, columns: Columns) -> Any:
    import pyarrow

    from .parquet import span_type

    types = {"spans": span_type(), "error": pyarrow.string()}
    for name, values in columns.items():
        if name in batch.column_names:
            batch = batch.drop_columns([name])
        batch = batch.append_column(name, pyarrow.array(values, types[name]))
    return batch

"""Spans as rows, and as columns of tables: dicts, pandas and pyarrow."""

from typing import Any, Dict, List, Optional

from spacy.tokens import Doc

from ...corpus.writers import json_span
from ...pipeline.span_scores import scores_of

Columns = Dict[str, List[Any]]

# The schema of the added columns, in the notation of Spark.
SPARK_COLUMNS = (
    "spans array<struct<start:int,end:int,token_start:int,token_end:int,"
    "label:string,text:string,score:float>>, error string"
)


def span_rows(doc: Doc, key: Optional[str]) -> List[Dict[str, Any]]:
    """RETURNS (List[Dict[str, Any]]): offsets, label and text of each span of a group
    (`doc.ents` if None), and its score if the pipeline provides scores.
    """
    group = doc.ents if key is None else doc.spans.get(key, ())
    rows = [{**json_span(span), "text": span.text} for span in group]
    if key is not None:
        for row, score in zip(rows, scores_of(doc, key)):
            if score is not None:
                row["score"] = round(score, 6)  # single precision has no more digits
    return rows


def columns_of(batch: Any) -> Dict[str, Any]:
    """RETURNS (Dict[str, Any]): the columns of a table, as iterables of values."""
    if isinstance(batch, dict):
        return batch
    if _is_arrow(batch):
        return batch.to_pydict()
    return {name: batch[name] for name in batch.columns}


def add_columns(batch: Any, columns: Columns) -> Any:
    """RETURNS (Any): a copy of a table with these columns added or replaced."""
    if isinstance(batch, dict):
        return {**batch, **columns}
    if _is_arrow(batch):
        return _add_to_arrow(batch, columns)
    added = batch.copy()
    for name, values in columns.items():
        # Assign by position, as an index may contain duplicates.
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

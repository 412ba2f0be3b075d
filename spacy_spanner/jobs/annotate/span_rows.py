"""The spans of a document as rows of the output."""

from typing import Any, Dict, List, Optional

from spacy.language import Language
from spacy.tokens import Doc

from ...corpus.writers import json_span
from ...evaluation.predicting import find_source, group_written_by
from ...pipeline.annotations import scores_of

Row = Dict[str, Any]


def find_key(nlp: Language, key: Optional[str] = None) -> Optional[str]:
    """Tell where a pipeline writes its spans.

    key (Optional[str]): the group, if the user names one.
    RETURNS (Optional[str]): the group; None for `doc.ents`, where no component writes a
        group.
    RAISES (ValueError): SP071 where several groups are written.
    """
    writes = any(group_written_by(pipe) is not None for _, pipe in nlp.pipeline)
    return find_source(nlp, key).key if key is not None or writes else None


def span_rows(doc: Doc, key: Optional[str]) -> List[Row]:
    """List the spans of a document.

    key (Optional[str]): the group; None for `doc.ents`.
    RETURNS (List[Row]): characters, tokens, label and text of each span, and its score
        where the pipeline gives scores.
    """
    if key is None:
        return [{**json_span(span), "text": span.text} for span in doc.ents]
    group = doc.spans.get(key)
    if group is None:
        return []
    rows = [{**json_span(span), "text": span.text} for span in group]
    for row, score in zip(rows, scores_of(group)):
        # As short as a number of single precision can be told.
        row["score"] = round(score, 6)
    return rows

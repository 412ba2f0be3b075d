"""Candidates of documents: the spans that a pipeline predicts with a low threshold."""

from typing import Any, Iterable, List, Optional

from spacy.language import Language
from spacy.training import Example

from ..errors import Errors
from ..evaluation.counts import Reading
from ..evaluation.predicting import (
    SpanSource,
    Track,
    find_source,
    read_unfiltered,
    untracked,
)
from ..evaluation.summary import has_scores
from .evidence import LOWEST


def find_scored_source(nlp: Language, key: Optional[str]) -> SpanSource:
    """RETURNS (SpanSource): the component whose spans have scores.

    key (Optional[str]): the group; see `find_source`.
    RAISES (ValueError): SP185 if it has no threshold, SP071 if the group is ambiguous.
    """
    source = find_source(nlp, key)
    if source.threshold is None:
        raise ValueError(without_scores(source))
    return source


def read_candidates(
    nlp: Language,
    examples: Iterable[Example],
    key: Optional[str] = None,
    *,
    threshold: float = LOWEST,
    track: Track = untracked,
) -> List[Reading]:
    """Predict documents with a low threshold and all overlaps.

    nlp (Language): the pipeline.
    examples (Iterable[Example]): documents, annotated or not.
    key (Optional[str]): the group; see `find_source`.
    threshold (float): lowest score of a candidate.
    RETURNS (List[Reading]): gold spans and candidates of each.
    RAISES (ValueError): SP185 for spans without scores.
    """
    source = find_scored_source(nlp, key)
    options: Any = {"threshold": threshold, "keep_all": True, "track": track}
    readings = read_unfiltered(nlp, examples, source, **options)
    if not has_scores(readings):
        raise ValueError(without_scores(source))
    return readings


def without_scores(source: SpanSource) -> str:
    """RETURNS (str): the message about a component whose spans have no scores."""
    return Errors.SP185.format(component=source.name, key=source.key)

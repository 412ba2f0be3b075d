"""Gold and predicted spans of documents as plain data, the input of all scores."""

from typing import Dict, List, NamedTuple, Optional, Set, Tuple

SpanKey = Tuple[int, int, str]  # start, end (exclusive), label


class Reading(NamedTuple):
    """Gold and predicted spans of one document, on the tokens of the reference.

    gold (Set[SpanKey]): spans without duplicates.
    predicted (Dict[SpanKey, Optional[float]]): spans without duplicates, and their
        scores, if any.
    unplaced (List[Optional[float]]): scores of misaligned spans, whose boundaries are
        inside tokens of the reference.
    """

    gold: Set[SpanKey]
    predicted: Dict[SpanKey, Optional[float]]
    unplaced: List[Optional[float]]

    def at_least(self, threshold: float) -> "Reading":
        """RETURNS (Reading): the reading without predicted spans below a threshold."""
        kept = {
            span: score
            for span, score in self.predicted.items()
            if score is None or score >= threshold
        }
        unplaced = [s for s in self.unplaced if s is None or s >= threshold]
        return Reading(self.gold, kept, unplaced)

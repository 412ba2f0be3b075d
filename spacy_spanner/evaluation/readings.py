"""What all evaluation reads: gold and predicted spans of documents, as plain data."""

from typing import Dict, List, NamedTuple, Optional, Set, Tuple

SpanKey = Tuple[int, int, str]  # start, end (exclusive), label


class Reading(NamedTuple):
    """Gold and predicted spans of one document, on the tokens of the reference.

    gold (Set[SpanKey]): spans without duplicates.
    predicted (Dict[SpanKey, Optional[float]]): spans without duplicates, with their
        score where they have one.
    unplaced (List[Optional[float]]): scores of predicted spans whose boundaries lie
        inside tokens of the reference.
    """

    gold: Set[SpanKey]
    predicted: Dict[SpanKey, Optional[float]]
    unplaced: List[Optional[float]]

    def at_least(self, threshold: float) -> "Reading":
        """RETURNS (Reading): without predicted spans that score below the threshold."""
        kept = {
            span: score
            for span, score in self.predicted.items()
            if score is None or score >= threshold
        }
        unplaced = [s for s in self.unplaced if s is None or s >= threshold]
        return Reading(self.gold, kept, unplaced)

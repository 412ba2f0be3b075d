"""Sentences that pipelines read differently, with all spans beside the gold: the case
studies of papers.
"""

from typing import Dict, List, Mapping, NamedTuple, Optional, Sequence, Tuple

from spacy.tokens import Doc
from spacy.training import Example

from .counts import Reading, SpanKey
from .error_analysis import segments, sentence_bounds


class CaseSpan(NamedTuple):
    """A span of a sentence.

    text, label (str): the span.
    gold (bool): whether it is annotated.
    scores (Dict[str, Optional[float]]): of the pipelines that predict it; None for
        spans without scores.
    """

    text: str
    label: str
    gold: bool
    scores: Dict[str, Optional[float]]

    def is_wrong(self, model: str) -> bool:
        """RETURNS (bool): whether the pipeline misses it, or predicts it wrongly."""
        return self.gold != (model in self.scores)


class Case(NamedTuple):
    """A sentence with errors.

    doc, start (int): number of the document, and the first token of the sentence.
    text (str): the sentence.
    spans (List[CaseSpan]): all annotated and predicted spans, in order.
    """

    doc: int
    start: int
    text: str
    spans: List[CaseSpan]

    def interest(self, models: Sequence[str]) -> Tuple[int, int]:
        """RETURNS (Tuple[int, int]): spans that some pipelines have right and others
        wrong, and all errors.
        """
        wrong = [[span.is_wrong(model) for model in models] for span in self.spans]
        return sum(len(set(row)) > 1 for row in wrong), sum(map(sum, wrong))


def find_cases(
    examples: Sequence[Example],
    readings: Mapping[str, Sequence[Reading]],
    limit: int,
) -> List[Case]:
    """Choose the sentences that tell most about the difference of pipelines.

    examples (Sequence[Example]): annotated documents.
    readings (Mapping[str, Sequence[Reading]]): their gold and predicted spans, by
        pipeline.
    limit (int): how many sentences.
    RETURNS (List[Case]): those with most spans on which the pipelines differ, then with
        most errors. Sentences without errors are left out.
    """
    models = list(readings)
    found = []
    for number, (example, *own) in enumerate(zip(examples, *readings.values())):
        keys = sorted(own[0].gold.union(*(reading.predicted for reading in own)))
        for start, end in segments(sentence_bounds(example), keys):
            inside = [key for key in keys if start <= key[0] < end]
            doc = example.reference
            spans = [_describe(doc, key, dict(zip(models, own))) for key in inside]
            found.append(Case(number, start, doc[start:end].text, spans))
    ranked = sorted(found, key=lambda case: case.interest(models), reverse=True)
    return [case for case in ranked[:limit] if any(case.interest(models))]


def _describe(doc: Doc, key: SpanKey, readings: Dict[str, Reading]) -> CaseSpan:
    start, end, label = key
    scores = {
        model: reading.predicted[key]
        for model, reading in readings.items()
        if key in reading.predicted
    }
    gold = any(key in reading.gold for reading in readings.values())
    return CaseSpan(doc[start:end].text, label, gold, scores)

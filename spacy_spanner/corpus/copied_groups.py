"""An augmenter that gives gold spans to components with span groups of their own."""

from typing import Callable, Iterator, List

from spacy.language import Language
from spacy.tokens import Span
from spacy.training import Example
from spacy.util import registry

from ..pipeline.annotations import annotated_spans, mark_if_unannotated
from ..pipeline.soft_labels import SOFT
from ..pipeline.span_scores import scores_of, write_scores
from ..settings import DEFAULT_SPANS_KEY

Augmenter = Callable[[Language, Example], Iterator[Example]]


@registry.augmenters("spacy_spanner.copy_spans.v1")
def make_copy_spans(targets: List[str], source: str = DEFAULT_SPANS_KEY) -> Augmenter:
    """Let several components learn from the same gold, each under its `spans_key`.

    A component reads its gold where it writes its spans, and the members of
    `span_ensemble` write to different groups.

    targets (List[str]): the groups to copy to.
    source (str): the group with the gold; `doc.ents` where a document has none.
    RETURNS (Callable): the augmenter, for `[corpora.train.augmenter]` and the same of
        dev, which adds no examples.
    """

    def copy_spans(nlp: Language, example: Example) -> Iterator[Example]:
        """YIELDS (Example): the example, with the groups in a copy of its reference."""
        annotated = annotated_spans(example.reference, source)
        gold = {} if annotated is None else {"": annotated}
        reference = example.reference.copy()
        mark_if_unannotated(reference, source)
        # What is noted about the gold, such as regions that are not annotated.
        for key in list(reference.spans):
            if key.startswith(f"{source}:"):
                gold[key[len(source) :]] = list(reference.spans[key])
        if not gold:
            yield example
            return
        scores = scores_of(reference, source + SOFT)
        for ending, spans in gold.items():
            for target in targets:
                reference.spans[target + ending] = [
                    Span(reference, s.start, s.end, s.label, span_id=s.id)
                    for s in spans
                ]
                if ending == SOFT:
                    write_scores(reference, target + ending, scores)
        yield Example(example.predicted, reference)

    return copy_spans

"""Survey the gold of a data set, and find the part of it that cannot be learned.

Nothing is lost silently: every gold span that no prediction could ever match is counted
by reason.
"""

from typing import Dict, Iterable, List, NamedTuple, Sequence, Set, Tuple

import numpy as np
from spacy.tokens import Doc, Span
from spacy.training import Example

from ..errors import Errors
from ..layers.doc_arrays import sentence_starts
from ..models.codec import SpanCodec
from ..settings import SpanSettings
from ..spans.conflicts import count_overlaps, cross_any
from ..spans.table import Bools, SpanTable
from ..spans.windows import WindowPlan, plan_windows, spans_in_windows
from .annotations import GoldSpans, gold_spans, spans_to_learn
from .soft_labels import labels_of_soft

MISALIGNED = "with boundaries inside tokens"
PADDED = "that begin or end with whitespace"
UNLABELLED = "without a label"
EMPTY = "without tokens"
TOO_LONG = "longer than max_window"
OUTSIDE = "that cross a sentence or window boundary"


class Survey(NamedTuple):
    """The result of one pass over all examples.

    n_examples, n_annotated, n_spans (int): counts.
    labels (Set[str]): labels of the gold.
    keys (Set[str]): span groups that exist in the references.
    gold (List[Tuple[Doc, GoldSpans]]): what was read, with the predicted documents.
    """

    n_examples: int
    n_annotated: int
    n_spans: int
    labels: Set[str]
    keys: Set[str]
    gold: List[Tuple[Doc, GoldSpans]]

    @property
    def counts(self) -> Dict[str, int]:
        """The size of the data, for the record."""
        return {
            "documents": self.n_examples,
            "annotated": self.n_annotated,
            "spans": self.n_spans,
        }

    def require_annotation(self, component: str, key: str) -> None:
        """RAISES (ValueError): SP003 when no example is annotated."""
        if not self.n_annotated:
            raise ValueError(
                Errors.SP003.format(
                    component=component,
                    examples=self.n_examples,
                    key=key,
                    existing=self.groups,
                )
            )

    def require_labels(self, wanted: Sequence[str], component: str, key: str) -> None:
        """RAISES (ValueError): SP004 when there is no label to learn."""
        if not wanted:
            raise ValueError(
                Errors.SP004.format(
                    component=component,
                    examples=self.n_examples,
                    key=key,
                    existing=self.groups,
                )
            )

    @property
    def groups(self) -> str:
        """The span groups that exist, in words."""
        return ", ".join(map(repr, sorted(self.keys))) or "none"


def survey(examples: Iterable[Example], key: str) -> Survey:
    """Read the gold of all examples once.

    examples (Iterable[Example]): the examples.
    key (str): see `annotations.spans_to_learn`.
    RETURNS (Survey): labels, counts, and what to warn about.
    """
    n_examples = n_annotated = n_spans = 0
    labels: Set[str] = set()
    keys: Set[str] = set()
    read: List[Tuple[Doc, GoldSpans]] = []
    for example in examples:
        keys.update(example.reference.spans)
        annotated = spans_to_learn(example.reference, key)
        # A document without tokens that is not annotated says nothing at all.
        n_examples += bool(annotated is not None or len(example.reference))
        if annotated is None:
            continue
        n_annotated += 1
        n_spans += len(annotated)
        present = {span.label_ for span in annotated if span.label_}
        present |= labels_of_soft(example.reference, key)
        labels |= present
        # Any ids will do to tell the labels of this document apart.
        label_ids = {label: index for index, label in enumerate(present)}
        gold = gold_spans(example, key, label_ids)
        if gold is not None:
            read.append((example.predicted, gold))
    return Survey(n_examples, n_annotated, n_spans, labels, keys, read)


def lost_spans(
    found: Survey, settings: SpanSettings, codec: SpanCodec
) -> Dict[str, List[str]]:
    """Find the gold that no prediction could ever match.

    found (Survey): the data.
    settings (SpanSettings): for the length of windows.
    codec (SpanCodec): tells what its model cannot express.
    RETURNS (Dict[str, List[str]]): texts of spans by reason, each under its first; some
        reasons may have none.
    """
    lost: Dict[str, List[str]] = {}
    for doc, gold in found.gold:
        plan = plan_docs([doc], settings)
        placed = spans_in_windows(gold.spans, plan.start, plan.end)
        collect_lost(lost, doc, gold, placed.reachable, codec, settings.max_window)
    return lost


def count_conflicts(found: Survey, overlap: str) -> int:
    """RETURNS (int): number of gold spans that may not be kept together with another
    one of their document, by an overlap policy.
    """
    if overlap == "any":
        return 0
    columns = [gold.spans[:2] * 2 for _, gold in found.gold]
    if overlap == "nested":
        return sum(int(cross_any(*both).sum()) for both in columns)
    # Each span overlaps itself.
    return sum(int((count_overlaps(*both) > 1).sum()) for both in columns)


def plan_docs(docs: Sequence[Doc], settings: SpanSettings) -> WindowPlan:
    """RETURNS (WindowPlan): the windows of documents, as the settings define them."""
    return plan_windows(
        [len(doc) for doc in docs],
        [sentence_starts(doc) for doc in docs],
        mode=settings.window,
        max_window=settings.max_window,
        stride=settings.stride,
    )


def collect_lost(
    lost: Dict[str, List[str]],
    doc: Doc,
    gold: GoldSpans,
    reachable: Bools,
    codec: SpanCodec,
    max_window: int,
) -> None:
    """Add the texts of spans that cannot be learned, each under its first reason.

    lost (Dict[str, List[str]]): texts by reason, to add to.
    reachable (Bools): whether some window holds the span whole. Shape: (span,)
    """
    spans = gold.spans
    reasons = {TOO_LONG: spans.end - spans.start > max_window, **codec.lost(spans)}
    open_spans = np.ones(spans.n_spans, dtype=bool)
    for reason, affected in {**reasons, OUTSIDE: ~reachable}.items():
        texts = lost.setdefault(reason, [])
        if affected.any():  # hardly ever
            texts.extend(_texts(doc, spans.take(affected & open_spans)))
            open_spans &= ~affected
    lost.setdefault(MISALIGNED, []).extend(_span_texts(gold.misaligned))
    lost.setdefault(PADDED, []).extend(_span_texts(gold.padded))
    lost.setdefault(UNLABELLED, []).extend(_span_texts(gold.unlabelled))
    lost.setdefault(EMPTY, []).extend(_span_texts(gold.empty))


def _texts(doc: Doc, spans: SpanTable) -> List[str]:
    return [doc[start:end].text for start, end, _, _ in spans.rows()]


def _span_texts(spans: Iterable[Span]) -> List[str]:
    return [span.text for span in spans]

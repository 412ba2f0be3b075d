"""From examples to gold by window, and an account of what cannot be learned.

Nothing is lost in silence: every gold span that no prediction could ever match is
counted by reason, and each reason is reported once, with examples.
"""

import warnings
from collections import Counter
from typing import Dict, Iterable, List, NamedTuple, Sequence, Set, Tuple

import numpy as np
from spacy.tokens import Doc, Span
from spacy.training import Example

from ..errors import Errors, Warnings
from ..layers.doc_arrays import sentence_starts
from ..models.codec import SpanCodec
from ..settings import SpanSettings
from ..spans.table import Bools, SpanTable
from ..spans.windows import WindowPlan, plan_windows, spans_in_windows
from .annotations import GoldSpans, annotated_spans, gold_spans

N_SHOWN = 3
MAX_SHOWN = 100  # letters of a span

MISALIGNED = "with boundaries inside tokens of this tokenizer"
PADDED = "that begin or end with white space"
UNLABELLED = "without a label"
EMPTY = "without tokens"
TOO_LONG = "longer than max_window"
OUTSIDE = "that cross the boundary of a sentence or window"


class Survey(NamedTuple):
    """What a pass over all examples has found.

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

    @property
    def groups(self) -> str:
        """The span groups that exist, in words."""
        return ", ".join(map(repr, sorted(self.keys))) or "none"

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


def survey(examples: Iterable[Example], key: str) -> Survey:
    """Read the gold of all examples once.

    examples (Iterable[Example]): the examples.
    key (str): see `annotations.annotated_spans`.
    RETURNS (Survey): labels, counts, and what to warn about.
    """
    n_examples = n_annotated = n_spans = 0
    labels: Set[str] = set()
    keys: Set[str] = set()
    read: List[Tuple[Doc, GoldSpans]] = []
    for example in examples:
        keys.update(example.reference.spans)
        annotated = annotated_spans(example.reference, key)
        # A document without tokens that is not annotated says nothing at all.
        n_examples += bool(annotated is not None or len(example.reference))
        if annotated is None:
            continue
        n_annotated += 1
        n_spans += len(annotated)
        present = {span.label_ for span in annotated if span.label_}
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
        _collect(lost, doc, gold, placed.reachable, codec, settings.max_window)
    return lost


class GoldReader:
    """Counts lost gold by reason, and warns about each reason once.

    lost (Counter): gold spans that could not be learned, by reason, over all updates.
    """

    def __init__(self, component: str) -> None:
        """component (str): the name that warnings carry."""
        self.component = component
        self.lost: Counter = Counter()
        self._reported: Set[str] = set()

    def report_survey(
        self, found: Survey, settings: SpanSettings, codec: SpanCodec, labels: Set[str]
    ) -> None:
        """Warn about what is lost in all of the data.

        found (Survey): the data.
        settings (SpanSettings): for the length of windows.
        codec (SpanCodec): for the width of spans.
        labels (Set[str]): the labels of the component.
        """
        lost = lost_spans(found, settings, codec)
        self._warn_lost(lost, found.n_spans, "in the data")
        n_missing = found.n_examples - found.n_annotated
        if n_missing:
            warnings.warn(
                Warnings.SW002.format(
                    component=self.component,
                    count=n_missing,
                    total=found.n_examples,
                    key=settings.spans_key,
                )
            )
        self.report_unknown(sorted(found.labels - labels))

    def report_unknown(self, labels: Sequence[str]) -> None:
        """Warn once about gold with labels that the component does not have."""
        new = [label for label in labels if label not in self._reported]
        if new:
            self._reported.update(new)
            warnings.warn(
                Warnings.SW003.format(component=self.component, labels=", ".join(new))
            )

    def report_batch(self, lost: Dict[str, List[str]], total: int) -> None:
        """Count what one batch has lost, and warn about reasons not yet reported."""
        self.lost.update({reason: len(texts) for reason, texts in lost.items()})
        self._warn_lost(
            {why: texts for why, texts in lost.items() if why not in self._reported},
            total,
            "in a batch (gold_reader.lost counts on)",
        )

    def _warn_lost(self, lost: Dict[str, List[str]], total: int, where: str) -> None:
        lost = {reason: texts for reason, texts in lost.items() if texts}
        if not lost:
            return
        self._reported.update(lost)
        reasons = "; ".join(
            f"{len(texts)} {reason} (such as {', '.join(map(_shown, texts[:N_SHOWN]))})"
            for reason, texts in lost.items()
        )
        count = sum(map(len, lost.values()))
        warnings.warn(
            Warnings.SW001.format(
                component=self.component,
                count=count,
                total=total,
                where=where,
                reasons=reasons,
            )
        )


class BatchGold(NamedTuple):
    """The windows of annotated documents, with their gold."""

    plan: WindowPlan
    spans: List[SpanTable]


def read_batch(
    examples: Sequence[Example],
    plan: WindowPlan,
    codec: SpanCodec,
    reader: GoldReader,
    *,
    settings: SpanSettings,
    label_ids: Dict[str, int],
) -> BatchGold:
    """Place the gold of a batch on its windows.

    examples (Sequence[Example]): the batch.
    plan (WindowPlan): windows of the predicted documents.
    codec (SpanCodec): tells what its model cannot express.
    reader (GoldReader): is told what is lost.
    settings (SpanSettings): for the key of the gold and the length of windows.
    label_ids (Dict[str, int]): ids of the labels.
    RETURNS (BatchGold): documents without annotation have no windows left.
    """
    annotated = np.zeros(plan.n_windows, dtype=bool)
    by_window: List[SpanTable] = []
    lost: Dict[str, List[str]] = {}
    total = 0
    for index, example in enumerate(examples):
        gold = gold_spans(example, settings.spans_key, label_ids)
        if gold is None:
            continue
        mine = plan.doc == index
        annotated |= mine
        placed = spans_in_windows(gold.spans, plan.start[mine], plan.end[mine])
        by_window.extend(placed.spans)
        doc = example.predicted
        _collect(lost, doc, gold, placed.reachable, codec, settings.max_window)
        reader.report_unknown(sorted({span.label_ for span in gold.unknown}))
        total += gold.n_spans
    reader.report_batch(lost, total)
    kept = WindowPlan(*(column[annotated] for column in plan))
    return BatchGold(kept, by_window)


def plan_docs(docs: Sequence[Doc], settings: SpanSettings) -> WindowPlan:
    """RETURNS (WindowPlan): the windows that the settings give to documents."""
    return plan_windows(
        [len(doc) for doc in docs],
        [sentence_starts(doc) for doc in docs],
        mode=settings.window,
        max_window=settings.max_window,
        stride=settings.stride,
    )


def _collect(
    lost: Dict[str, List[str]],
    doc: Doc,
    gold: GoldSpans,
    reachable: Bools,
    codec: SpanCodec,
    max_window: int,
) -> None:
    """Add the texts of spans that cannot be learned, each under its first reason."""
    spans = gold.spans
    reasons = {TOO_LONG: spans.end - spans.start > max_window, **codec.lost(spans)}
    open_spans = np.ones(spans.n_spans, dtype=bool)
    for reason, affected in {**reasons, OUTSIDE: ~reachable}.items():
        lost.setdefault(reason, []).extend(
            _texts(doc, spans.take(affected & open_spans))
        )
        open_spans &= ~affected
    lost.setdefault(MISALIGNED, []).extend(_span_texts(gold.misaligned))
    lost.setdefault(PADDED, []).extend(_span_texts(gold.padded))
    lost.setdefault(UNLABELLED, []).extend(_span_texts(gold.unlabelled))
    lost.setdefault(EMPTY, []).extend(_span_texts(gold.empty))


def _shown(text: str) -> str:
    """RETURNS (str): the text in quotes, without the middle of what is very long."""
    if len(text) > MAX_SHOWN:
        text = f"{text[: MAX_SHOWN // 2]} ... {text[-MAX_SHOWN // 2 :]}"
    return repr(text)


def _texts(doc: Doc, spans: SpanTable) -> List[str]:
    return [doc[start:end].text for start, end, _, _ in spans.rows()]


def _span_texts(spans: Iterable[Span]) -> List[str]:
    return [span.text for span in spans]

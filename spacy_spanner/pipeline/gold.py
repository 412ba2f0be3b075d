"""From examples to gold by window, with warnings about gold that cannot be learned.

Each reason is reported once, with examples.
"""

import warnings
from collections import Counter
from typing import Dict, List, NamedTuple, Optional, Sequence, Set, Tuple

import numpy as np
from spacy.tokens import Doc
from spacy.training import Example

from ..errors import Warnings
from ..layers.head_work import HeadGold, HeadWork
from ..models.codec import SpanCodec
from ..settings import SpanSettings
from ..spans.missing import EVERY_LABEL, Marks, split_marks
from ..spans.table import SpanTable
from ..spans.windows import WindowPlan, spans_in_windows
from .annotations import annotated_spans, gold_spans
from .marks import NOT, read_marks
from .soft_labels import unknown_labels
from .state import MadeSettings
from .survey import (
    Survey,
    collect_lost,
    count_conflicts,
    lost_spans,
    plan_docs,
)

N_SHOWN = 3
MAX_SHOWN = 100  # letters of a span


class GoldReader:
    """Counts lost gold by reason, and warns about each reason once.

    lost (Counter): gold spans that could not be learned, by reason, over all updates.
    """

    def __init__(self, component: str) -> None:
        """component (str): the name that warnings carry."""
        self.component = component
        self.lost: Counter = Counter()
        self._reported: Set[str] = set()
        self._reports_unknown = True

    def ignore_unknown(self) -> None:
        """Do not report labels that are not read on purpose."""
        self._reports_unknown = False

    def report_survey(
        self, found: Survey, settings: SpanSettings, codec: SpanCodec, labels: Set[str]
    ) -> None:
        """Warn about gold of the whole data set that cannot be learned.

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
        self._warn_overlaps(found, settings.overlap)
        self.report_unknown(sorted(found.labels - labels))

    def _warn_overlaps(self, found: Survey, overlap: str) -> None:
        """Warn about gold spans that cannot be predicted together."""
        count = count_conflicts(found, overlap)
        if count:
            is_flat = overlap == "flat"
            message = Warnings.SW072.format(
                component=self.component,
                count=count,
                total=found.n_spans,
                relation="share tokens with" if is_flat else "cross",
                overlap=overlap,
                better='"nested" or "any"' if is_flat else '"any"',
            )
            warnings.warn(message)

    def report_unknown(self, labels: Sequence[str]) -> None:
        """Warn once about gold with labels that the component does not have."""
        new = [label for label in labels if label not in self._reported]
        if new and self._reports_unknown:
            self._reported.update(new)
            warnings.warn(
                Warnings.SW003.format(component=self.component, labels=", ".join(new))
            )

    def report_contradictions(
        self, doc: Doc, spans: SpanTable, marks: Marks, key: str
    ) -> None:
        """Warn once about spans that are annotated as entities and as none."""
        if not marks.negative.n_spans or NOT in self._reported:
            return
        negative = {tuple(row[:3]) for row in marks.negative.rows()}
        found = [
            row
            for row in spans.rows()
            if {row[:3], (row.start, row.end, EVERY_LABEL)} & negative
        ]
        if found:
            self._reported.add(NOT)
            message = Warnings.SW250.format(
                component=self.component,
                count=len(found),
                key=key,
                example=_shown(doc[found[0].start : found[0].end].text),
            )
            warnings.warn(message)

    def report_batch(self, lost: Dict[str, List[str]], total: int) -> None:
        """Count what one batch has lost, and warn about reasons not yet reported."""
        self.lost.update({reason: len(texts) for reason, texts in lost.items()})
        self._warn_lost(
            {why: texts for why, texts in lost.items() if why not in self._reported},
            total,
            "in a batch (all are counted in gold_reader.lost)",
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


class DocGold(NamedTuple):
    """What is known about a document, on the tokens of the predicted document.

    spans (SpanTable): its entities.
    marks (Marks): where its annotation is incomplete, and what is no entity.
    """

    spans: SpanTable
    marks: Marks


def read_batch(
    examples: Sequence[Example],
    made: MadeSettings,
    label_ids: Dict[str, int],
    reader: GoldReader,
    rng: np.random.Generator,
) -> Tuple[HeadWork, HeadGold]:
    """Place the gold of a batch on its windows.

    examples (Sequence[Example]): the batch.
    made (MadeSettings): settings and codec of the component.
    label_ids (Dict[str, int]): ids of the labels.
    reader (GoldReader): counts and reports lost spans.
    rng (Generator): source of sampling for the targets, and of soft labels.
    RETURNS (Tuple[HeadWork, HeadGold]): the windows, and their gold. Documents without
        annotation have no windows left.
    """
    docs = [example.predicted for example in examples]
    known = read_gold(examples, made, label_ids, reader, rng)
    return place_gold(docs, known, made, rng)


def read_gold(
    examples: Sequence[Example],
    made: MadeSettings,
    label_ids: Dict[str, int],
    reader: GoldReader,
    rng: np.random.Generator,
) -> List[Optional[DocGold]]:
    """Read the gold of a batch, and report what of it cannot be learned; see
    `read_batch`.

    RETURNS (List[Optional[DocGold]]): None for documents without annotation.
    """
    settings, codec = made
    key, rate = settings.spans_key, settings.missing_rate
    known: List[Optional[DocGold]] = []
    lost: Dict[str, List[str]] = {}
    total = 0
    for example in examples:
        gold = gold_spans(example, key, label_ids, rng)
        if gold is None:
            known.append(None)
            continue
        doc = example.predicted
        plan = plan_docs([doc], settings)
        placed = spans_in_windows(gold.spans, plan.start, plan.end)
        collect_lost(lost, doc, gold, placed.reachable, codec, settings.max_window)
        reader.report_unknown(sorted({span.label_ for span in gold.unknown}))
        marks = read_marks(example, key, label_ids, rate)
        if annotated_spans(example.reference, key) is None:
            unsaid = unknown_labels(example.reference, key, label_ids, len(doc))
            marks = marks._replace(incomplete=marks.incomplete.join(unsaid))
        reader.report_contradictions(doc, gold.spans, marks, key)
        known.append(DocGold(gold.spans, marks))
        total += gold.n_spans
    reader.report_batch(lost, total)
    return known


def place_gold(
    docs: Sequence[Doc],
    known: Sequence[Optional[DocGold]],
    made: MadeSettings,
    rng: np.random.Generator,
) -> Tuple[HeadWork, HeadGold]:
    """Place what is known about documents on their windows; see `read_batch`.

    known (Sequence[Optional[DocGold]]): of each document.
    """
    settings, codec = made
    plan = plan_docs(docs, settings)
    annotated = np.zeros(plan.n_windows, dtype=bool)
    spans: List[SpanTable] = []
    marks: List[Marks] = []
    for index, gold in enumerate(known):
        if gold is None:
            continue
        mine = plan.doc == index
        annotated |= mine
        windows = plan.start[mine], plan.end[mine]
        spans.extend(spans_in_windows(gold.spans, *windows).spans)
        marks.extend(split_marks(gold.marks, *windows))
    kept = WindowPlan(*(column[annotated] for column in plan))
    work = HeadWork(codec, kept, settings.max_cells, r_drop=settings.r_drop)
    some = marks if any(one.incomplete.n_spans for one in marks) else ()
    return work, HeadGold(spans, rng, kept.n_windows, some, settings.overlap)


def _shown(text: str) -> str:
    """RETURNS (str): the text in quotes; very long ones without their middle."""
    if len(text) > MAX_SHOWN:
        text = f"{text[: MAX_SHOWN // 2]} ... {text[-MAX_SHOWN // 2 :]}"
    return repr(text)

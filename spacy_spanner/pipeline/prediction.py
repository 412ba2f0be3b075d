"""From documents to spans: candidates, thresholds, overlaps, calibration.

Thresholds hold for calibrated scores, and are compared here and nowhere else; the head
only gets a lower limit, so that it reports fewer candidates.
"""

import warnings
from functools import partial
from typing import Dict, Iterable, Iterator, List, NamedTuple, Optional, Sequence, Tuple

import numpy as np
from spacy.tokens import Doc
from thinc.api import Model

from ..errors import Errors, Warnings
from ..layers.head_work import HeadWork
from ..settings import SpanSettings
from ..spans.overlap import resolve_overlaps
from ..spans.table import Bools, Floats, SpanTable
from .calibration import Calibration
from .state import MadeSettings
from .survey import plan_docs
from .system import FreedMemory, memory_explained

# Documents are encoded together up to this many tokens, so that the vectors of a large
# batch of long documents never exist all at once.
TOKENS_AT_ONCE = 20_000
ROUNDING = 1e-6  # of scores that are calibrated


class Predictions(List[SpanTable]):
    """The spans of each document, with the settings and labels they were found with:
    `cfg` may change before they are written.
    """

    def __init__(
        self,
        spans: Iterable[SpanTable],
        settings: SpanSettings,
        labels: Tuple[str, ...],
    ) -> None:
        super().__init__(spans)
        self.settings = settings
        self.labels = labels


class Thresholds(NamedTuple):
    """Which scores are high enough.

    lowest (Floats): the lowest calibrated score to write, by label. Shape: (label,)
    calibration (Calibration): of the scores of the head.
    hidden (Optional[Bools]): labels that are not written, although they compete with
        others; None for none. Shape: (label,)
    """

    lowest: Floats
    calibration: Calibration = Calibration()
    hidden: Optional[Bools] = None

    @property
    def of_candidates(self) -> Floats:
        """The lowest score to report before it is calibrated. Shape: (label,)"""
        return self.calibration.undo(self.lowest)

    def reached_by(self, spans: SpanTable) -> Bools:
        """RETURNS (Bools): which spans to keep. Shape: (span,)"""
        tolerance = 0.0 if self.calibration.is_none else ROUNDING
        score = self.calibration.of(spans.score)
        reached = score >= self.lowest[spans.label] - tolerance
        return reached if self.hidden is None else reached & ~self.hidden[spans.label]


class Doubt:
    """Warns once that a component found too many candidates in a window."""

    def __init__(self, component: str) -> None:
        """component (str): the name that the warning carries."""
        self.component = component
        self.reported = False

    def report(self, settings: SpanSettings) -> None:
        """settings (SpanSettings): the limit, and the threshold that let them pass."""
        if self.reported:
            return
        self.reported = True
        message = Warnings.SW014.format(
            component=self.component,
            limit=settings.max_candidates,
            threshold=settings.threshold,
        )
        warnings.warn(message)


def read_thresholds(
    settings: SpanSettings, label_ids: Dict[str, int], component: str
) -> Thresholds:
    """Look up the threshold of each label.

    RETURNS (Thresholds): of the labels in the order of their ids.
    RAISES (ValueError): SP006 for thresholds of labels that do not exist.
    """
    special = settings.label_thresholds
    unknown = sorted(set(special) - set(label_ids))
    if unknown:
        raise ValueError(
            Errors.SP006.format(
                component=component,
                unknown=", ".join(unknown),
                labels=", ".join(label_ids),
            )
        )
    numbers = [special.get(label, settings.threshold) for label in label_ids]
    calibration = Calibration(settings.temperature, settings.bias)
    return Thresholds(np.asarray(numbers, dtype=np.float32), calibration)


def in_groups(docs: List[Doc]) -> Iterator[List[Doc]]:
    """YIELDS (List[Doc]): consecutive documents, at least one, of up to
    `TOKENS_AT_ONCE` tokens in all.
    """
    group: List[Doc] = []
    n_tokens = 0
    for doc in docs:
        if group and n_tokens + len(doc) > TOKENS_AT_ONCE:
            yield group
            group, n_tokens = [], 0
        group.append(doc)
        n_tokens += len(doc)
    if group:
        yield group


def predict_all(
    model: Model,
    docs: Iterable[Doc],
    made: MadeSettings,
    thresholds: Thresholds,
    freed: FreedMemory,
    doubt: Doubt,
) -> Iterator[SpanTable]:
    """Find the spans of documents, group by group.

    model (Model): see `layers.span_model.build_span_model`.
    docs (Iterable[Doc]): the documents, which are not changed.
    made (MadeSettings): settings and codec of the component.
    thresholds (Thresholds): which scores are high enough.
    freed (FreedMemory): learns of the size of the work.
    doubt (Doubt): learns of windows with too many candidates.
    YIELDS (SpanTable): the spans of each document, in document order.
    """
    for group in in_groups(list(docs)):
        yield from predict_docs(model, group, made, thresholds, freed, doubt)


def predict_docs(
    model: Model,
    docs: List[Doc],
    made: MadeSettings,
    thresholds: Thresholds,
    freed: FreedMemory,
    doubt: Doubt,
) -> List[SpanTable]:
    """Find the spans of a group of documents at once; see `predict_all`."""
    if not any(len(doc) for doc in docs):
        return [SpanTable.empty() for _ in docs]
    settings, codec = made
    work = HeadWork(
        codec,
        plan_docs(docs, settings),
        settings.max_cells,
        settings.max_candidates,
        partial(doubt.report, settings),
    )
    freed.before_prediction(work.plan.n_padded)
    with memory_explained(model.get_ref("output_layer").name, docs, work):
        found = model.predict((docs, work, thresholds.of_candidates))
    chosen = choose_spans(found, white_space(docs), thresholds, settings.overlap)
    return split_by_doc(chosen, [len(doc) for doc in docs])


def white_space(docs: Sequence[Doc]) -> Bools:
    """RETURNS (Bools): which tokens of the concatenated documents are white space."""
    columns = [doc.to_array("IS_SPACE").astype(bool) for doc in docs]
    return np.concatenate([np.zeros(0, dtype=bool), *columns])


def choose_spans(
    candidates: SpanTable, white_space: Bools, thresholds: Thresholds, overlap: str
) -> SpanTable:
    """Choose the spans to write from the candidates of concatenated documents.

    Spans of different documents never touch, so one pass selects for all of them.

    candidates (SpanTable): in any order, with the scores of the head.
    white_space (Bools): tokens that no span may begin or end with. Shape: (token,)
    overlap (str): "flat", "nested" or "any".
    RETURNS (SpanTable): in document order, with calibrated scores.
    """
    outer = white_space[candidates.start] | white_space[candidates.end - 1]
    kept = candidates.take(thresholds.reached_by(candidates) & ~outer)
    chosen = resolve_overlaps(kept, overlap)
    # Only now: calibrated scores near 1 may be equal where these differ.
    return chosen._replace(score=thresholds.calibration.of(chosen.score))


def split_by_doc(spans: SpanTable, lengths: Sequence[int]) -> List[SpanTable]:
    """Cut spans on concatenated documents into those of each document.

    spans (SpanTable): sorted by start.
    lengths (Sequence[int]): tokens of each document.
    RETURNS (List[SpanTable]): on each document's own tokens.
    """
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    bounds = np.searchsorted(spans.start, offsets)
    return [
        spans.take(np.arange(first, last)).shift(-offset)
        for first, last, offset in zip(bounds, bounds[1:], offsets)
    ]

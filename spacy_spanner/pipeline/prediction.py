"""Documents to spans, in groups that bound the memory."""

from typing import Iterator, List

from spacy.tokens import Doc
from thinc.api import Model

from ..layers.doc_arrays import white_space
from ..layers.torch_head import HeadWork
from ..spans.table import SpanTable
from .out_of_memory import memory_explained
from .selection import Thresholds, choose_spans, split_by_doc
from .state import MadeSettings
from .survey import plan_docs
from .system import FreedMemory


def predict_docs(
    model: Model,
    docs: List[Doc],
    *,
    made: MadeSettings,
    thresholds: Thresholds,
    freed: FreedMemory,
) -> List[SpanTable]:
    """Find the spans of a group of documents at once.

    model (Model): see `layers.span_model.build_span_model`.
    docs (List[Doc]): the documents, which are not changed.
    made (MadeSettings): settings and codec of the component.
    thresholds (Thresholds): which scores are high enough.
    freed (FreedMemory): learns of the size of the work.
    RETURNS (List[SpanTable]): the spans of each document, in document order.
    """
    if not any(len(doc) for doc in docs):
        return [SpanTable.empty() for _ in docs]
    settings, codec = made
    work = HeadWork(codec, plan_docs(docs, settings), settings.max_cells)
    freed.before_prediction(work.plan.n_padded)
    with memory_explained(model.get_ref("output_layer").name, docs, work):
        found = model.predict((docs, work, thresholds.of_candidates))
    chosen = choose_spans(found, white_space(docs), thresholds, settings.overlap)
    return split_by_doc(chosen, [len(doc) for doc in docs])


def in_groups(docs: List[Doc], max_tokens: int) -> Iterator[List[Doc]]:
    """YIELDS (List[Doc]): consecutive documents of up to `max_tokens` in all, at least
    one document.
    """
    group: List[Doc] = []
    n_tokens = 0
    for doc in docs:
        if group and n_tokens + len(doc) > max_tokens:
            yield group
            group, n_tokens = [], 0
        group.append(doc)
        n_tokens += len(doc)
    if group:
        yield group

"""The only reader and writer of spans on documents.

Labels are strings on documents and ids everywhere else; this file converts.
"""

from typing import Dict, List, NamedTuple, Optional, Sequence, Tuple

import numpy as np
from spacy.tokens import Doc, Span, Token
from spacy.training import Example

from ..settings import SpanSettings
from ..spans.conflicts import conflict_with_any
from ..spans.overlap import by_length, by_preference, choose_in_order
from ..spans.table import Ints, SpanTable
from .alignment import on_predicted
from .marks import INCOMPLETE, has_marks, has_only_marks
from .soft_labels import drawn_spans, has_soft_labels, likely_spans
from .span_scores import is_below, scores_of, write_scores

# Spans that other components or people have written count as certain.
SCORE_OF_OTHERS = 1.0


class GoldSpans(NamedTuple):
    """Gold of one example on the tokens of its predicted document.

    spans (SpanTable): what can be expressed, without exact duplicates.
    misaligned (List[Span]): spans of the reference whose boundaries lie inside tokens.
    padded (List[Span]): spans that begin or end with white space, which are never
        predicted.
    unlabelled (List[Span]): spans that were made without a label.
    empty (List[Span]): spans without tokens.
    unknown (List[Span]): spans with labels that the component does not have.
    """

    spans: SpanTable
    misaligned: List[Span]
    padded: List[Span]
    unlabelled: List[Span]
    empty: List[Span]
    unknown: List[Span]

    @property
    def n_spans(self) -> int:
        """All that should be learned, whether it can be or not."""
        return self.spans.n_spans + sum(map(len, self[1:5]))


def annotated_spans(doc: Doc, key: str) -> Optional[List[Span]]:
    """Read the entities of a document by the rules of gold.

    doc (Doc): the document.
    key (str): the group that is asked first; `doc.ents` comes second.
    RETURNS (Optional[List[Span]]): None where the document has neither, which means
        that it is not annotated; except that other groups may tell which spans are no
        entities, see `marks`.
    """
    if key in doc.spans:
        return list(doc.spans[key])
    # spaCy takes a document without tokens for annotated.
    if len(doc) and doc.has_annotation("ENT_IOB"):
        return list(doc.ents)
    return [] if has_marks(doc, key) else None


def mark_if_unannotated(doc: Doc, key: str) -> None:
    """Write down that a document is incomplete as a whole, if its marks say so, before
    a group under the key is written: with it, the document would count as annotated.
    """
    if has_only_marks(doc, key):
        doc.spans[key + INCOMPLETE] = [doc[:]]


def spans_to_learn(
    doc: Doc, key: str, rng: Optional[np.random.Generator] = None
) -> Optional[List[Span]]:
    """RETURNS (Optional[List[Span]]): what a component learns from a document as
        entities: the annotated ones, and some of its `soft_labels`. None where it has
        neither.

    key (str): see `annotated_spans`.
    rng (Optional[Generator]): draws soft labels by their scores; without it, the likely
        ones are taken.
    """
    annotated = annotated_spans(doc, key)
    if not has_soft_labels(doc, key):
        return annotated
    soft = likely_spans(doc, key) if rng is None else drawn_spans(doc, key, rng)
    return (annotated or []) + soft


def gold_spans(
    example: Example,
    key: str,
    label_ids: Dict[str, int],
    rng: Optional[np.random.Generator] = None,
) -> Optional[GoldSpans]:
    """Move the gold of an example onto its predicted tokens.

    example (Example): its reference holds the gold.
    key, rng: see `spans_to_learn`.
    label_ids (Dict[str, int]): ids of the labels.
    RETURNS (Optional[GoldSpans]): None where the reference is not annotated.
    """
    annotated = spans_to_learn(example.reference, key, rng)
    if annotated is None:
        return None
    empty = [span for span in annotated if not len(span)]
    annotated = [span for span in annotated if len(span)]
    known = [span for span in annotated if span.label_ in label_ids]
    unlabelled = [span for span in annotated if not span.label_]
    unknown = [s for s in annotated if s.label_ and s.label_ not in label_ids]
    rows, misaligned, padded = [], [], []
    for span, aligned in zip(known, on_predicted(example, known)):
        if span[0].is_space or span[-1].is_space:
            padded.append(span)
        elif aligned is None:
            misaligned.append(span)
        else:
            rows.append((*aligned, label_ids[span.label_]))
    distinct = SpanTable.of(list(dict.fromkeys(rows)))
    return GoldSpans(distinct, misaligned, padded, unlabelled, empty, unknown)


def write_prediction(
    doc: Doc, spans: SpanTable, labels: Sequence[str], settings: SpanSettings
) -> None:
    """Write predicted spans as the settings of a component say.

    doc (Doc): the document to modify.
    spans (SpanTable): spans without conflicts, in document order.
    labels (Sequence[str]): label by id.
    settings (SpanSettings): `spans_key`, `overwrite`, `overlap` and `set_ents`.
    """
    _write_group(doc, spans, labels, settings)
    if settings.set_ents != "off":
        _write_entities(doc, spans, labels, settings)


def raise_threshold(doc: Doc, key: str, threshold: float) -> None:
    """Remove the predicted spans of a group that do not reach a threshold, as if they
    had been predicted with it; spans without a score stay.
    """
    if key not in doc.spans:
        return
    kept = [
        (span, score)
        for span, score in zip(doc.spans[key], scores_of(doc, key))
        if score is None or not is_below(score, threshold)
    ]
    doc.spans[key] = [span for span, _ in kept]
    write_scores(doc, key, [score for _, score in kept])


def _to_spans(doc: Doc, spans: SpanTable, labels: Sequence[str]) -> List[Span]:
    return [Span(doc, s, e, label=labels[label]) for s, e, label, _ in spans.rows()]


def _write_group(
    doc: Doc, spans: SpanTable, labels: Sequence[str], settings: SpanSettings
) -> None:
    """Write the group in document order, with `attrs["scores"]`. Without `overwrite`,
    its spans stay, and only those are added that neither repeat nor (by `overlap`)
    conflict with them.
    """
    key, attrs = settings.spans_key, {}
    entries = list(zip(_to_spans(doc, spans, labels), spans.score.tolist()))
    if not settings.overwrite and key in doc.spans:
        attrs = dict(doc.spans[key].attrs)
        present = [
            (span, SCORE_OF_OTHERS if score is None else score)
            for span, score in zip(doc.spans[key], scores_of(doc, key))
        ]
        entries = present + _without_rivals(
            entries, [span for span, _ in present], settings.overlap
        )
        entries.sort(key=lambda entry: _document_order(entry[0]))
    doc.spans[key] = [span for span, _ in entries]
    doc.spans[key].attrs.update(attrs)
    write_scores(doc, key, [score for _, score in entries])


def _without_rivals(entries: list, present: Sequence[Span], overlap: str) -> list:
    """Leave out spans that repeat present ones or conflict with them."""
    own, others = _boundaries([span for span, _ in entries]), _boundaries(present)
    rivals = conflict_with_any(*own, *others, overlap)
    taken = {_document_order(span) for span in present}
    return [
        entry
        for entry, rival in zip(entries, rivals.tolist())
        if not rival and _document_order(entry[0]) not in taken
    ]


def _boundaries(spans: Sequence[Span]) -> Tuple[Ints, Ints]:
    """RETURNS (Tuple[Ints, Ints]): starts and ends. Shapes: (span,)"""
    rows = np.asarray([(span.start, span.end) for span in spans], dtype=np.int64)
    starts, ends = rows.reshape(-1, 2).T
    return starts, ends


def _document_order(span: Span) -> tuple:
    return span.start, -span.end, span.label_


def _write_entities(
    doc: Doc, spans: SpanTable, labels: Sequence[str], settings: SpanSettings
) -> None:
    """Write a choice of spans without overlaps to `doc.ents`. Without `overwrite`,
    present entities stay, and spans that share a token with them are left out.
    """
    taken = [not settings.overwrite and _is_taken(token) for token in doc]
    n_taken = np.concatenate([[0], np.cumsum(taken, dtype=np.int64)])
    free = spans.take(n_taken[spans.start] == n_taken[spans.end])
    ordered = by_preference(free) if settings.set_ents == "score" else by_length(free)
    chosen = sorted(_to_spans(doc, choose_in_order(ordered, "flat"), labels))
    if settings.overwrite:
        doc.set_ents(chosen, default="outside")
        return
    covered = {token.i for span in chosen for token in span}
    # The component has read the document, so these tokens are outside of entities.
    unread = [t.i for t in doc if not t.ent_iob_ and t.i not in covered]
    outside = [doc[place : place + 1] for place in unread]
    doc.set_ents(chosen, outside=outside, default="unmodified")


def _is_taken(token: Token) -> bool:
    """RETURNS (bool): whether the token is in an entity, or blocked for entities."""
    return token.ent_iob_ in ("B", "I")

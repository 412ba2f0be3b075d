"""Corpus statistics as in the tables of the papers."""

from bisect import bisect_right
from collections import Counter
from dataclasses import dataclass, field
from typing import Any, Dict, Iterable, List, Sequence, Set, Tuple

import numpy as np
from spacy.tokens import Doc

from ..evaluation.counts import crossing_spans, nested_spans
from ..pipeline.annotations import annotated_spans
from ..pipeline.marks import marked_spans
from ..settings import Rule, at_least, one_of, probability, require
from ..spans.table import SpanTable
from ..spans.windows import WINDOW_MODES, plan_windows, spans_in_windows
from .tags import TokenSpan


@dataclass(frozen=True)
class Reach:
    """Settings of a model that limit which entities it can predict.

    max_width (int): maximum width of spans that are scored, in tokens.
    window, max_window, stride: see the settings of the components.
    seeds (Tuple[int, ...]): widths of the seed spans of a regression.
    min_iou (float): minimum overlap of a seed span with an entity.
    """

    max_width: int = 12
    window: str = "sentence"
    max_window: int = 256
    stride: int = 64
    seeds: Tuple[int, ...] = (1, 2, 3, 4, 5, 6, 7, 9, 11, 13, 15)
    min_iou: float = 0.7

    def __post_init__(self) -> None:
        require(at_least(1), max_width=self.max_width, max_window=self.max_window)
        limit = f"at least 0 and below max_window ({self.max_window})"
        below = Rule(limit, lambda value: 0 <= value < self.max_window)
        require(below, stride=self.stride)
        require(one_of(WINDOW_MODES), window=self.window)
        require(probability, min_iou=self.min_iou)
        for size in self.seeds:
            require(at_least(1), seeds=size)


@dataclass
class LabelCount:
    """The entities of one label."""

    entities: int = 0
    tokens: int = 0
    nested: int = 0


@dataclass
class Statistics:
    """Counts of a corpus.

    documents (int): all documents.
    unannotated (int): documents without annotation, which are not counted further.
    incomplete (int): documents with regions that are marked as incomplete.
    not_entities (int): spans that are marked as no entities.
    sentences, tokens (int): sentences and tokens.
    longest_sentence (int): length in tokens.
    entities (int): entities without exact duplicates.
    nested (int): entities that share tokens with another.
    crossing (int): entities that overlap another without containment.
    spans (int): distinct pairs of boundaries.
    multilabel (int): spans with several labels.
    sentences_empty, sentences_nested (int): sentences without entities, and with nested
        ones.
    across_sentences (int): entities that cross a sentence boundary.
    lengths (Counter): entities by length in tokens.
    labels (Dict[str, LabelCount]): counts by label.
    reach (Reach): settings for the following counts.
    in_width, in_window, by_seed (int): entities that are reachable.
    """

    reach: Reach = field(default_factory=Reach)
    documents: int = 0
    unannotated: int = 0
    incomplete: int = 0
    not_entities: int = 0
    sentences: int = 0
    tokens: int = 0
    longest_sentence: int = 0
    entities: int = 0
    nested: int = 0
    crossing: int = 0
    spans: int = 0
    multilabel: int = 0
    sentences_empty: int = 0
    sentences_nested: int = 0
    across_sentences: int = 0
    lengths: Counter = field(default_factory=Counter)
    labels: Dict[str, LabelCount] = field(default_factory=dict)
    in_width: int = 0
    in_window: int = 0
    by_seed: int = 0

    def to_dict(self) -> Dict[str, Any]:
        """RETURNS (Dict[str, Any]): all counts, for JSON."""
        labels = {name: dict(vars(one)) for name, one in sorted(self.labels.items())}
        lengths = {str(n): self.lengths[n] for n in sorted(self.lengths)}
        reach = dict(vars(self.reach))
        return {**vars(self), "reach": reach, "labels": labels, "lengths": lengths}


def count_docs(docs: Iterable[Doc], key: str, reach: Reach) -> Statistics:
    """Compute the statistics of documents.

    docs (Iterable[Doc]): the corpus.
    key (str): the span group with the entities; if it is missing, `doc.ents` are used.
    reach (Reach): settings that limit the reachable entities.
    RETURNS (Statistics): all counts.

    >>> docs = read_docs(Path("train.iob2"), spacy.blank("en"))
    >>> counts = count_docs(docs, "ents", Reach())
    >>> counts.entities, counts.nested
    (2, 0)
    """
    found = Statistics(reach=reach)
    for doc in docs:
        annotated = annotated_spans(doc, key)
        found.documents += 1
        if annotated is None:
            found.unannotated += 1
            continue
        regions, negative = marked_spans(doc, key)
        found.incomplete += bool(regions)
        found.not_entities += len(negative)
        spans = {(span.start, span.end, span.label_) for span in annotated}
        starts = sentence_starts(doc)
        nested = nested_spans(spans)
        _count_sentences(found, spans, nested, starts, len(doc))
        _count_entities(found, spans, nested)
        _count_reach(found, spans, starts, len(doc))
    return found


def sentence_starts(doc: Doc) -> List[int]:
    """RETURNS (List[int]): first tokens of sentences, or of the document if unknown."""
    if len(doc) and doc.has_annotation("SENT_START"):
        return [sent.start for sent in doc.sents]
    return [0] if len(doc) else []


def _count_sentences(
    found: Statistics,
    spans: Set[TokenSpan],
    nested: Set[TokenSpan],
    starts: List[int],
    length: int,
) -> None:
    found.sentences += len(starts)
    found.tokens += length
    sizes = np.diff([*starts, length])
    found.longest_sentence = max(found.longest_sentence, int(sizes.max(initial=0)))

    def sentence(token: int) -> int:
        return bisect_right(starts, token)

    filled = {sentence(start) for start, _, _ in spans}
    found.sentences_empty += len(starts) - len(filled)
    found.sentences_nested += len({sentence(start) for start, _, _ in nested})
    found.across_sentences += sum(sentence(s) != sentence(e - 1) for s, e, _ in spans)


def _count_entities(
    found: Statistics, spans: Set[TokenSpan], nested: Set[TokenSpan]
) -> None:
    found.entities += len(spans)
    found.nested += len(nested)
    found.crossing += len(crossing_spans(nested))
    by_place = Counter((start, end) for start, end, _ in spans)
    found.spans += len(by_place)
    found.multilabel += sum(count > 1 for count in by_place.values())
    for span in spans:
        start, end, label = span
        found.lengths[end - start] += 1
        count = found.labels.setdefault(label, LabelCount())
        count.entities += 1
        count.tokens += end - start
        count.nested += span in nested


def _count_reach(
    found: Statistics, spans: Set[TokenSpan], starts: Sequence[int], length: int
) -> None:
    reach = found.reach
    table = SpanTable.of((start, end, 0) for start, end, _ in sorted(spans))
    found.in_width += int((table.end - table.start <= reach.max_width).sum())
    if not table.n_spans:
        return
    limits = {"max_window": reach.max_window, "stride": reach.stride}
    windows = plan_windows([length], [starts], mode=reach.window, **limits)
    inside = spans_in_windows(table, windows.start, windows.end).reachable
    found.in_window += int(inside.sum())
    longest = windows.lengths.max(initial=0)
    seeds = np.asarray([size for size in reach.seeds if size <= longest])
    found.by_seed += int((seed_overlap(table, seeds) >= reach.min_iou)[inside].sum())


def seed_overlap(table: SpanTable, seeds: np.ndarray) -> np.ndarray:
    """Compute the overlap of each entity with its best seed span.

    The best seed of a width is inside or around the entity, so that the overlap is the
    smaller width divided by the larger.

    table (SpanTable): entities.
    seeds (np.ndarray): widths of the seeds. Shape: (seed,)
    RETURNS (np.ndarray): intersection over union. Shape: (span,)
    """
    widths = (table.end - table.start)[:, None]
    overlaps = np.minimum(widths, seeds) / np.maximum(widths, seeds)  # (span, seed)
    return overlaps.max(axis=1, initial=0.0)

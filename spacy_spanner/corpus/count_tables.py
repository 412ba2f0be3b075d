"""Lay out the counts of one or more corpora as text or as Markdown."""

from typing import Dict, List, NamedTuple

from wasabi import table as text_table

from ..evaluation.tables import markdown_table, percent
from .statistics import LabelCount, Statistics

# Lengths of entities that are counted together: first and last, in tokens.
SHORT = tuple((n, n) for n in range(1, 7))
LENGTH_CLASSES = (*SHORT, (7, 8), (9, 10), (11, 15), (16, 20), (21, 10**9))
# Rows that are left out if they are 0 for all corpora.
MARKS = ("documents marked incomplete", "spans known not to be entities")
# Wide enough for the names of all rows.
MAX_COLUMN = 80


class Table(NamedTuple):
    """A table whose columns are corpora."""

    title: str
    header: List[str]
    rows: List[List[str]]


def lay_out(counts: Dict[str, Statistics]) -> List[Table]:
    """RETURNS (List[Table]): size, overlap, reach, lengths and labels of corpora, whose
    counts are given by name.
    """
    found = list(counts.values())
    parts = {
        "Size": _size,
        "Overlap": _overlap,
        "Within reach": _reach,
        "Length of entities, in tokens": _lengths,
    }
    tables = []
    for title, describe in parts.items():
        columns = [describe(one) for one in found]
        rows = [[name, *(column[name] for column in columns)] for name in columns[0]]
        rows = [row for row in rows if row[0] not in MARKS or set(row[1:]) - {"0"}]
        tables.append(Table(title, ["", *counts], rows))
    labels = sorted({label for one in found for label in one.labels})
    rows = [[label, *(_label(one, label) for one in found)] for label in labels]
    tables.append(Table("Labels: entities, mean length, nested", ["", *counts], rows))
    return tables


def as_text(tables: List[Table]) -> str:
    """RETURNS (str): the tables for a terminal."""
    parts = []
    for title, header, rows in tables:
        aligns = ["l", *"r" * (len(header) - 1)]
        shown = text_table(rows, header=header, aligns=aligns, max_col=MAX_COLUMN)
        parts.append(f"{title}\n{shown}")
    return "\n".join(parts)


def as_markdown(tables: List[Table]) -> str:
    """RETURNS (str): the tables for a document."""
    parts = [
        f"### {title}\n\n{markdown_table(header, rows)}"
        for title, header, rows in tables
    ]
    return "\n\n".join(parts) + "\n"


def _mean(total: int, count: int) -> str:
    return f"{total / count:.2f}" if count else "-"


def _share(part: int, total: int) -> str:
    return f"{part:,} ({percent(part / total)} %)" if total else f"{part:,}"


def _size(one: Statistics) -> Dict[str, str]:
    annotated = one.documents - one.unannotated
    return {
        "documents": f"{annotated:,}",
        "documents without annotation": f"{one.unannotated:,}",
        MARKS[0]: f"{one.incomplete:,}",
        MARKS[1]: f"{one.not_entities:,}",
        "sentences": f"{one.sentences:,}",
        "tokens": f"{one.tokens:,}",
        "tokens a sentence": _mean(one.tokens, one.sentences),
        "longest sentence, tokens": f"{one.longest_sentence:,}",
        "entities": f"{one.entities:,}",
        "entities a sentence": _mean(one.entities, one.sentences),
        "sentences without entity": _share(one.sentences_empty, one.sentences),
    }


def _overlap(one: Statistics) -> Dict[str, str]:
    return {
        "nested entities": _share(one.nested, one.entities),
        "flat entities": _share(one.entities - one.nested, one.entities),
        "crossing entities": _share(one.crossing, one.entities),
        "sentences with nesting": _share(one.sentences_nested, one.sentences),
        "spans with several labels": _share(one.multilabel, one.spans),
    }


def _reach(one: Statistics) -> Dict[str, str]:
    reach = one.reach
    seeds = ", ".join(map(str, reach.seeds))
    windows = f"windows ({reach.window}, {reach.max_window} tokens)"
    return {
        f"max_width {reach.max_width}": _share(one.in_width, one.entities),
        windows: _share(one.in_window, one.entities),
        f"seeds {seeds} (IoU {reach.min_iou})": _share(one.by_seed, one.entities),
        "across sentences": _share(one.across_sentences, one.entities),
    }


def _lengths(one: Statistics) -> Dict[str, str]:
    rows = {}
    for first, last in LENGTH_CLASSES:
        count = sum(n for size, n in one.lengths.items() if first <= size <= last)
        name = f"{first}-{last}" if last < 10**9 else f"{first} and more"
        rows[name if first < last else str(first)] = _share(count, one.entities)
    total = sum(size * count for size, count in one.lengths.items())
    rows["mean"] = _mean(total, one.entities)
    rows["longest"] = f"{max(one.lengths, default=0):,}"
    return rows


def _label(one: Statistics, label: str) -> str:
    count = one.labels.get(label, LabelCount())
    if not count.entities:
        return "0"
    mean = _mean(count.tokens, count.entities)
    return f"{count.entities:,}, {mean}, {count.nested:,}"

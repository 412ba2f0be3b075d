"""Count the demo corpora and write the tables to their datasheet."""

from collections import Counter
from pathlib import Path
from typing import Dict, List, Set

import spacy
from datasets import DATASETS, DEMOS, ROOT, SPANS_KEY, SPLITS, Dataset
from spacy.tokens import Doc

from spacy_spanner.evaluation.counts import nested_spans
from spacy_spanner.evaluation.tables import markdown_table

DATASHEET = ROOT / "assets" / "demo" / "DATASHEET.md"
BEGIN, END = "<!-- counts: begin -->", "<!-- counts: end -->"
ROWS = (
    "documents",
    "sentences",
    "tokens",
    "entities",
    "entities per sentence",
    "entities inside or around another, %",
    "longest entity, tokens",
    "sentences without entities",
    "entity texts also in train, %",
)


def count(docs: List[Doc], known: Set[str]) -> Dict[str, str]:
    """Count one split.

    docs (List[Doc]): its documents.
    known (Set[str]): entity texts of the train part.
    RETURNS (Dict[str, str]): one value per entry of `ROWS` and one per label.
    """
    sentences = [sent for doc in docs for sent in doc.sents]
    spans = [span for doc in docs for span in doc.spans[SPANS_KEY]]
    nested = sum(map(_n_nested, docs))
    texts = {span.text for span in spans}
    values = (
        len(docs),
        len(sentences),
        sum(map(len, docs)),
        len(spans),
        f"{len(spans) / len(sentences):.2f}",
        f"{100 * nested / len(spans):.0f}",
        max(map(len, spans)),
        sum(map(_n_without_entity, docs)),
        f"{100 * len(texts & known) / len(texts):.1f}",
    )
    labels = Counter(span.label_ for span in spans)
    return {
        **dict(zip(ROWS, map(str, values))),
        **{label: str(number) for label, number in sorted(labels.items())},
    }


def _n_nested(doc: Doc) -> int:
    keys = {(span.start, span.end, span.label_) for span in doc.spans[SPANS_KEY]}
    return len(nested_spans(keys))


def _n_without_entity(doc: Doc) -> int:
    covered = {span.sent.start for span in doc.spans[SPANS_KEY]}
    return sum(sent.start not in covered for sent in doc.sents)


def tabulate(dataset: Dataset) -> str:
    """RETURNS (str): the Markdown table of a dataset with one column per split."""
    nlp = spacy.blank(dataset.lang)
    splits = {split: list(dataset.read(split, nlp)) for split in SPLITS}
    known = {span.text for doc in splits["train"] for span in doc.spans[SPANS_KEY]}
    columns = {split: count(docs, known) for split, docs in splits.items()}
    keys = dict.fromkeys(key for column in columns.values() for key in column)
    rows = [[key, *(columns[split].get(key, "0") for split in SPLITS)] for key in keys]
    return markdown_table(["", *SPLITS], rows)


def render() -> str:
    """RETURNS (str): the generated part of the datasheet."""
    parts = [f"### {name}\n\n{tabulate(DATASETS[name])}" for name in DEMOS]
    return f"{BEGIN}\n\n" + "\n\n".join(parts) + f"\n\n{END}"


def update(path: Path) -> bool:
    """Update the counts in the datasheet.

    RETURNS (bool): whether it changed.
    """
    old = path.read_text(encoding="utf8")
    before, rest = old.split(BEGIN)
    new = before + render() + rest.split(END)[1]
    path.write_text(new, encoding="utf8")
    return new != old


if __name__ == "__main__":
    print("changed" if update(DATASHEET) else "up to date")

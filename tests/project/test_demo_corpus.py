"""The demo corpora are what their datasheet promises."""

from pathlib import Path
from typing import Dict, List, Set

import pytest
import spacy
from spacy.tokens import Doc, Span

from spacy_spanner.corpus.conversion import read_docs

DEMO = Path(__file__).parents[2] / "assets" / "demo"
LABELS = {"PER", "ORG", "GPE", "LOC", "FAC"}


def read(lang: str, split: str) -> List[Doc]:
    nlp = spacy.blank(lang)
    return [
        doc
        for path in sorted((DEMO / lang).glob(f"{split}*.txt"))
        for doc in read_docs(path, nlp, format="brackets")
    ]


@pytest.fixture(scope="module")
def english() -> Dict[str, List[Doc]]:
    return {split: read("en", split) for split in ("train", "dev", "test")}


def entities(docs: List[Doc]) -> List[Span]:
    return [span for doc in docs for span in doc.spans["ents"]]


def sentences(docs: List[Doc]) -> List[Span]:
    return [sent for doc in docs for sent in doc.sents]


def texts(docs: List[Doc]) -> Set[str]:
    return {span.text for span in entities(docs)}


def overlaps_another(span: Span) -> bool:
    return any(
        other.start < span.end and span.start < other.end
        for other in span.doc.spans["ents"]
        if other != span
    )


@pytest.mark.parametrize("split, size", [("train", 520), ("dev", 80), ("test", 100)])
def test_english_split_is_large_enough(
    english: Dict[str, List[Doc]], split: str, size: int
) -> None:
    assert len(sentences(english[split])) >= size


@pytest.mark.parametrize("split", ["train", "dev", "test"])
def test_english_split_is_dense_and_nested(
    english: Dict[str, List[Doc]], split: str
) -> None:
    spans = entities(english[split])
    assert len(spans) >= 2.2 * len(sentences(english[split]))
    assert sum(map(overlaps_another, spans)) >= 0.35 * len(spans)
    assert max(map(len, spans)) >= 12


@pytest.mark.parametrize("split", ["train", "dev", "test"])
def test_english_entities_stay_inside_sentences(
    english: Dict[str, List[Doc]], split: str
) -> None:
    assert [span for span in entities(english[split]) if span.sent.end < span.end] == []
    assert {span.label_ for span in entities(english[split])} == LABELS


def test_english_entities_never_cross(english: Dict[str, List[Doc]]) -> None:
    for docs in english.values():
        for doc in docs:
            for one in doc.spans["ents"]:
                for two in doc.spans["ents"]:
                    assert not one.start < two.start < one.end < two.end


def test_english_test_part_has_new_entities(english: Dict[str, List[Doc]]) -> None:
    known, tested = texts(english["train"]), texts(english["test"])
    assert len(tested & known) <= 0.25 * len(tested)


def test_english_splits_share_no_sentence(english: Dict[str, List[Doc]]) -> None:
    seen = [{sent.text for sent in sentences(docs)} for docs in english.values()]
    assert not seen[0] & seen[1] and not seen[0] & seen[2] and not seen[1] & seen[2]


def test_chinese_corpus_is_large_enough() -> None:
    docs = [doc for split in ("train", "dev", "test") for doc in read("zh", split)]
    assert len(sentences(docs)) >= 150
    assert sum(map(overlaps_another, entities(docs))) >= 0.35 * len(entities(docs))

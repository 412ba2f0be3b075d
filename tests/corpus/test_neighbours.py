"""Neighbours of sentences reach the documents that a model reads."""

from pathlib import Path
from typing import Any, Dict

import pytest
import spacy
from spacy.tokens import DocBin
from spacy.training import Example
from spacy.util import registry

from spacy_spanner.encoders.surroundings import NEIGHBOURS
from spacy_spanner.evaluation.predicting import predict, read_corpus

from ..cli.helpers import run

TEXT = "-DOCSTART- O\n\nAnn B-PER\nleft O\n\nHe O\nran O\n\nBye O\n"
NLP = spacy.blank("en")


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("corpus")
    (folder / "a.iob2").write_text(TEXT, encoding="utf8")
    words = ("convert", folder / "a.iob2", folder / "a.spacy", "--split-sentences")
    run(*words, "--context", 1)
    return folder / "a.spacy"


def read(example: Example) -> Any:
    return example.predicted.user_data.get(NEIGHBOURS)


EXPECTED = [((), (("He", "ran"),)), ((("Ann", "left"),), (("Bye",),)), None]


def test_augmenter_of_a_config_keeps_neighbours(corpus: Path) -> None:
    block: Dict[str, Any] = {
        "@readers": "spacy.Corpus.v1",
        "path": str(corpus),
        "gold_preproc": False,
        "augmenter": {"@augmenters": "spacy_spanner.neighbours.v1"},
    }
    examples = list(registry.resolve({"corpus": block})["corpus"](NLP))
    assert [read(example) for example in examples][:2] == EXPECTED[:2]
    assert read(examples[2]) == ((("He", "ran"),), ())
    assert all(eg.predicted.text == eg.reference.text for eg in examples)
    del block["augmenter"]
    examples = list(registry.resolve({"corpus": block})["corpus"](NLP))
    assert [read(example) for example in examples] == [None] * 3


def test_augmenter_leaves_documents_without_neighbours() -> None:
    doc = NLP("Ann left.")
    augment = registry.augmenters.get("spacy_spanner.neighbours.v1")()
    (example,) = augment(NLP, Example(NLP.make_doc(doc.text), doc))
    assert NEIGHBOURS not in example.predicted.user_data


def test_evaluation_reads_neighbours_of_a_corpus(corpus: Path) -> None:
    examples = predict(NLP, read_corpus(corpus, NLP))
    assert [read(example) for example in examples][:2] == EXPECTED[:2]
    docs = list(NLP.pipe(DocBin().from_disk(corpus).get_docs(NLP.vocab)))
    assert docs[0].user_data[NEIGHBOURS] == EXPECTED[0]

"""Documents that are one sentence stay whole, from JSON Lines to training."""

import json
from pathlib import Path
from typing import List

import pytest
from spacy.tokens import DocBin
from spacy.util import load_config, load_model_from_config
from spacy.vocab import Vocab

from .helpers import run

TEXT = "Fans of St . Pauli sang all night ."
CLUB = {"start": 8, "end": 18, "label": "ORG"}


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    """Sentences as they come from a tokenized corpus, one document each."""
    rows = [{"text": f"{n} {TEXT}", "spans": [shifted(len(f"{n} "))]} for n in range(3)]
    source = tmp_path / "in.jsonl"
    source.write_text("\n".join(map(json.dumps, rows)), encoding="utf8")
    return source


def shifted(by: int) -> dict:
    return {**CLUB, "start": CLUB["start"] + by, "end": CLUB["end"] + by}


def sentences(path: Path) -> List[int]:
    docs = DocBin().from_disk(path).get_docs(Vocab())
    return [len(list(doc.sents)) for doc in docs]


def check(corpus: Path, *options: str) -> str:
    """RETURNS: what `debug-data` prints for a starter config with these options."""
    data, config = corpus.with_name("one.spacy"), corpus.with_name("config.cfg")
    run("convert", corpus, data, "--sentences", "one")
    run("init-config", config, "--force", *options)
    paths = ("--paths.train", data, "--paths.dev", data)
    return " ".join(run("debug-data", config, *paths, code=1).split())


def test_convert_keeps_documents_of_one_sentence_whole(corpus: Path) -> None:
    one, rules = corpus.with_name("one.spacy"), corpus.with_name("rules.spacy")
    run("convert", corpus, one, "--sentences", "one")
    assert sentences(one) == [1, 1, 1]
    printed = run("convert", corpus, rules, "--sentences", "rules", code=1)
    assert "crosses a sentence boundary" in printed
    assert sentences(rules) == [2, 2, 2]


@pytest.mark.parametrize("choice, hint", [("given", True), ("one", False)])
def test_convert_asks_whether_documents_are_sentences(
    corpus: Path, choice: str, hint: bool
) -> None:
    printed = run("convert", corpus, corpus.with_name("a.spacy"), "--sentences", choice)
    shown = "If each is one sentence, use --sentences one"
    assert (shown in " ".join(printed.split())) is hint


def test_sentences_of_existing_documents_become_one(corpus: Path) -> None:
    rules, one = corpus.with_name("rules.spacy"), corpus.with_name("one.spacy")
    run("convert", corpus, rules, "--sentences", "rules", "--window", "doc")
    run("convert", rules, one, "--sentences", "one")
    assert sentences(one) == [1, 1, 1]


def test_debug_data_tells_that_the_sentencizer_cuts_sentences(corpus: Path) -> None:
    printed = check(corpus)
    shown = "train: the pipeline cuts 3 documents of one sentence, before 'Pauli sang"
    assert shown in printed
    assert "init-config --window doc" in printed


def test_without_sentencizer_no_sentence_is_cut(corpus: Path) -> None:
    printed = check(corpus, "--window", "doc")
    assert "cuts" not in printed
    assert "The model can predict all spans within its windows" in printed
    config = load_config(corpus.with_name("config.cfg"))
    nlp = load_model_from_config(config, auto_fill=True)
    assert nlp.pipe_names == ["span_locate_label"]
    assert config["training"]["annotating_components"] == []

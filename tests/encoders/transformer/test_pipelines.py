"""An owned transformer in pipelines: it learns by heart, is stored, and listened to."""

import shutil
from pathlib import Path
from typing import Any, Dict

import numpy as np
import pytest
import spacy
from spacy.language import Language
from spacy.training import Example
from thinc.api import fix_random_seed

from ...helpers import (
    NESTED,
    assert_same_predictions,
    copy_of,
    doc_of,
    make_examples,
    predict_nested,
    small_model,
    spans_of,
    texts,
    time_limit,
    train,
)
from .helpers import WIDTH, WORDS, vectors_of


def transformer_block(name: str, **settings: Any) -> Dict[str, Any]:
    architecture = "spacy_spanner.Transformer.v1"
    return {"@architectures": architecture, "name": name, **settings}


def span_pipeline(folder: Path) -> Language:
    nlp = spacy.blank("en")
    model = small_model("span_biaffine", transformer_block(str(folder)))
    nlp.add_pipe("span_biaffine", config={"model": model})
    return nlp


@pytest.fixture(scope="module")
def learned(tiny_bert: Path, tmp_path_factory: pytest.TempPathFactory) -> Language:
    """A pipeline that knows a few texts by heart; the folder of its encoder is gone."""
    folder = tmp_path_factory.mktemp("source") / "bert"
    shutil.copytree(tiny_bert, folder)
    nlp = span_pipeline(folder)
    train(nlp, make_examples(nlp, NESTED), updates=300)
    shutil.rmtree(folder)
    return nlp


def test_transformer_lets_a_span_component_learn_by_heart(learned: Language) -> None:
    for doc, (_, spans) in zip(predict_nested(learned), NESTED):
        assert spans_of(doc) == spans


def test_transformer_pipeline_on_disk_needs_no_folder(
    learned: Language, tmp_path: Path
) -> None:
    learned.to_disk(tmp_path)
    loaded = spacy.load(tmp_path)
    assert_same_predictions(predict_nested(loaded), predict_nested(learned))


def test_transformer_pipeline_of_bytes_needs_no_folder(learned: Language) -> None:
    assert_same_predictions(predict_nested(copy_of(learned)), predict_nested(learned))


def test_transformer_pipeline_in_two_processes(learned: Language) -> None:
    with time_limit(60):
        docs = list(learned.pipe(texts(NESTED), n_process=2, batch_size=1))
    assert_same_predictions(docs, predict_nested(learned))


def test_transformer_of_a_tagger_learns_by_heart(tiny_bert: Path) -> None:
    nlp = spacy.blank("en")
    model = {
        "@architectures": "spacy.Tagger.v2",
        "tok2vec": transformer_block(str(tiny_bert)),
    }
    nlp.add_pipe("tagger", config={"model": model})
    tags = ["P", "P", "V", "D", "J", "N"]
    examples = [Example.from_dict(nlp.make_doc(" ".join(WORDS)), {"tags": tags})]
    train(nlp, examples, updates=100)
    assert [token.tag_ for token in nlp(" ".join(WORDS))] == tags


def test_transformer_below_a_listener_is_trained(tiny_bert: Path) -> None:
    nlp = spacy.blank("en")
    nlp.add_pipe("tok2vec", config={"model": transformer_block(str(tiny_bert))})
    listener = {"@architectures": "spacy.Tok2VecListener.v1", "width": WIDTH}
    model = small_model("span_biaffine", listener)
    nlp.add_pipe("span_biaffine", config={"model": model})
    examples = make_examples(nlp, NESTED)
    fix_random_seed(0)
    optimizer = nlp.initialize(lambda: examples)
    shared = nlp.get_pipe("tok2vec").model
    before = vectors_of(shared, doc_of(WORDS))[0]
    # The encoder steps before its listener: what it learns is applied with the next.
    nlp.update(examples, sgd=optimizer)
    nlp.update(examples, sgd=optimizer)
    assert np.abs(vectors_of(shared, doc_of(WORDS))[0] - before).max() > 1e-4

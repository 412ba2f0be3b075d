"""Encoders and tokenizers of other kinds than BERT."""

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from spacy_spanner.encoders.surroundings import with_neighbours
from spacy_spanner.encoders.transformer import build_transformer, get_shim, split_text

from ...helpers import doc_of
from .helpers import WIDTH, WORDS, encoder_of, long_words, plain_vectors, vectors_of

transformers = pytest.importorskip("transformers")


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
        tokenizer_object=own.backend_tokenizer, **own.special_tokens_map
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
        text = split_text(shim, [with_neighbours(doc_of(["the", "court", "met"]), 0)])
        pieces = shim.tokenizer.convert_ids_to_tokens(text.ids.tolist())
        assert pieces[-2:] == ["Ġcourt", "Ġmet"]


# As in Llama 3 and Qwen, but for the rare cases.
WORDS_AND_NUMBERS = r"'(?:s|t)| ?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+|\s+"


def byte_tokenizer(folder: Path, **special: str) -> None:
    """Store a tokenizer of bytes that splits words in front, without a frame."""
    tokenizers = pytest.importorskip("tokenizers")
    steps = tokenizers.pre_tokenizers
    made = tokenizers.Tokenizer(tokenizers.models.BPE())
    split = steps.Split(tokenizers.Regex(WORDS_AND_NUMBERS), "isolated")
    marks = steps.ByteLevel(add_prefix_space=False, use_regex=False)
    made.pre_tokenizer = steps.Sequence([split, marks])
    trainer = tokenizers.trainers.BpeTrainer(
        vocab_size=200,
        special_tokens=list(special.values()),
        initial_alphabet=["Ġ"],
        show_progress=False,
    )
    made.train_from_iterator([" The US Court didn't"] * 5, trainer)
    fast = transformers.PreTrainedTokenizerFast(tokenizer_object=made, **special)
    fast.save_pretrained(folder)
    replace_model(folder, "roberta", pad_token_id=1)


def test_transformer_with_byte_pieces_in_a_sequence_knows_where_words_begin(
    tmp_path: Path,
) -> None:
    byte_tokenizer(tmp_path, eos_token="<end>")
    model = encoder_of(tmp_path)
    loaded = build_transformer("no/such-model").from_bytes(model.to_bytes())
    again = build_transformer("no/such-model").from_bytes(loaded.to_bytes())
    for shim in (get_shim(model), get_shim(loaded), get_shim(again)):
        doc = doc_of(["The", "US", "Court", "didn't"])
        text = split_text(shim, [with_neighbours(doc, 0)])
        pieces = shim.tokenizer.convert_ids_to_tokens(text.ids.tolist())
        # What stands inside a token gets no mark.
        assert pieces == ["ĠThe", "ĠUS", "ĠCourt", "Ġdidn", "'t"]
        assert text.word.tolist() == [0, 1, 2, 3, 3]
    first, second = (
        get_shim(one).tokenizer.backend_tokenizer for one in (loaded, again)
    )
    assert first.to_str() == second.to_str()


def test_transformer_whose_tokenizer_adds_no_special_pieces(tmp_path: Path) -> None:
    byte_tokenizer(tmp_path, bos_token="<begin>", eos_token="<end>")
    model = encoder_of(tmp_path)
    special, tokenizer = get_shim(model).special, get_shim(model).tokenizer
    assert tokenizer.backend_tokenizer.encode("").ids == []
    names = tokenizer.convert_ids_to_tokens([special.first, special.last])
    assert names == ["<begin>", "<end>"]
    assert vectors_of(model, doc_of(["The", "Court"]))[0].shape == (2, WIDTH)


def test_transformer_whose_tokenizer_has_no_special_pieces(tmp_path: Path) -> None:
    byte_tokenizer(tmp_path)
    with pytest.raises(ValueError, match=r"SP160.*bos_token") as caught:
        encoder_of(tmp_path)
    assert str(tmp_path) in str(caught.value)


def test_transformer_without_a_fast_tokenizer(tiny_bert: Path, tmp_path: Path) -> None:
    for name in ("config.json", "model.safetensors"):
        shutil.copy(tiny_bert / name, tmp_path)
    transformers.CanineTokenizer().save_pretrained(tmp_path)
    with pytest.raises(ValueError, match="SP013") as caught:
        encoder_of(tmp_path)
    assert str(tmp_path) in str(caught.value)

"""Encoders of folders, their vectors and gradients, and those of Hugging Face alone."""

from pathlib import Path
from typing import Any, Dict, List, Optional, Sequence

import numpy as np
import pytest
import torch
from spacy.tokens import Doc
from thinc.api import Model

from spacy_spanner.encoders.transformer import build_transformer, get_shim

from ...helpers import doc_of

# Without it, all files that import from here are skipped.
transformers = pytest.importorskip("transformers")

WIDTH = 16
WORDS = ["Leon", "County", "is", "a", "fine", "county"]


def encoder_of(folder: Path, **settings: Any) -> Model:
    model = build_transformer(str(folder), **settings)
    model.initialize()
    return model


def vectors_of(model: Model, *docs: Doc) -> List[np.ndarray]:
    return model.predict(list(docs))


def weight_gradients(model: Model, docs: List[Doc], seed: int = 0) -> Dict[str, Any]:
    """Backpropagate a fixed random gradient, and collect what parameters get."""
    vectors, backprop = model(docs, is_train=True)
    rng = np.random.default_rng(seed)
    backprop([rng.normal(size=part.shape).astype("f") for part in vectors])
    parameters = get_shim(model).module.named_parameters()
    return {name: p.grad.numpy() for name, p in parameters if p.grad is not None}


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


def sentences(*lengths: int, words: Optional[List[str]] = None) -> Doc:
    """Make a document of sentences, by default of different words."""
    starts = np.cumsum([0, *lengths])
    words = words or [chr(97 + index) * 2 for index in range(starts[-1])]
    return doc_of(words, sent_starts=[i in starts for i in range(len(words))])


def long_words(n_tokens: int = 60) -> List[str]:
    return [chr(97 + index % 26) for index in range(n_tokens)]

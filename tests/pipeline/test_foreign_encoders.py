"""Components that listen to the encoders of spacy-transformers and of
spacy-curated-transformers, whose releases follow those of other libraries.
"""

from pathlib import Path
from typing import Any, Dict

import pytest
import spacy
from spacy.language import Language

from ..helpers import (
    NESTED,
    assert_same_predictions,
    make_examples,
    small_model,
    texts,
)

WIDTH = 16


def with_spacy_transformers(request: pytest.FixtureRequest) -> Language:
    pytest.importorskip("spacy_transformers")
    folder = request.getfixturevalue("tiny_bert")
    nlp = spacy.blank("en")
    architecture = "spacy-transformers.TransformerModel.v3"
    model = {"@architectures": architecture, "name": str(folder)}
    nlp.add_pipe("transformer", config={"model": model})
    return nlp


def with_curated_transformers(request: pytest.FixtureRequest) -> Language:
    pytest.importorskip("spacy_curated_transformers")
    nlp = spacy.blank("en")
    curated = "spacy-curated-transformers"
    words = sorted({word for text in texts(NESTED) for word in text.split()})
    pieces = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *words]
    vocabulary = request.getfixturevalue("tmp_path") / "vocab.txt"
    vocabulary.write_text("\n".join(pieces), encoding="utf8")
    model = {
        "@architectures": f"{curated}.BertTransformer.v1",
        "vocab_size": len(pieces),
        "num_hidden_layers": 1,
        "num_attention_heads": 2,
        "hidden_width": WIDTH,
        "intermediate_width": WIDTH,
        "piece_encoder": {"@architectures": f"{curated}.WordpieceEncoder.v1"},
        "with_spans": {"@architectures": f"{curated}.WithStridedSpans.v1"},
    }
    nlp.add_pipe("curated_transformer", name="transformer", config={"model": model})
    nlp.config["initialize"]["components"]["transformer"] = {
        "piecer_loader": {
            "@model_loaders": f"{curated}.WordpieceLoader.v1",
            "path": str(vocabulary),
        }
    }
    return nlp


POOLING = {"@layers": "reduce_mean.v1"}
LISTENERS: Dict[str, Dict[str, Any]] = {
    "spacy-transformers": {
        "@architectures": "spacy-transformers.TransformerListener.v1",
        "grad_factor": 1.0,
        "pooling": POOLING,
    },
    "spacy-curated-transformers": {
        "@architectures": "spacy-curated-transformers.LastTransformerLayerListener.v1",
        "width": WIDTH,
        "pooling": POOLING,
    },
}
ENCODERS = {
    "spacy-transformers": with_spacy_transformers,
    "spacy-curated-transformers": with_curated_transformers,
}


@pytest.mark.parametrize("package", LISTENERS)
def test_listener_learns_and_survives_disk(
    factory: str, package: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    nlp = ENCODERS[package](request)
    model = small_model(factory, LISTENERS[package])
    nlp.add_pipe(factory, name="ents", config={"model": model})
    examples = make_examples(nlp, NESTED)
    optimizer = nlp.initialize(lambda: examples)
    losses = [nlp.update(examples, sgd=optimizer)["ents"] for _ in range(20)]
    assert 0 < losses[-1] < losses[0]
    nlp.to_disk(tmp_path / "stored")
    found = spacy.load(tmp_path / "stored").pipe(texts(NESTED))
    assert_same_predictions(list(found), list(nlp.pipe(texts(NESTED))))

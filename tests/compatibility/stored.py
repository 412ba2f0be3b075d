"""Pipelines stored by version 0.1.0, and how they were made.

`python -m tests.compatibility.stored` made `pipelines/` with the code of that version:
small pipelines after ten training steps, and their predictions. Later versions must
load them, predict the same spans, and reach the same weights in the same ten steps. The
folder must not be made again: a new storage format gets a folder of its own.
"""

import json
from pathlib import Path
from typing import Any, Dict, List

import spacy
from spacy.language import Language
from spacy.tokens import Doc
from spacy.training import Example
from spacy.util import registry
from thinc.api import fix_random_seed

from ..helpers import FACTORIES, NESTED, annotate, defaults_of, scored_spans

FOLDER = Path(__file__).parent / "pipelines"
TINY_BERT = Path(__file__).parent / "tiny_bert"
EXPECTED = FOLDER / "expected.json"
WITH_TRANSFORMER = "span_offset_transformer"
NAMES = [*FACTORIES, WITH_TRANSFORMER]
N_STEPS = 10
WIDTHS = {"lstm_width": 8, "hidden_width": 8, "ffn_width": 8, "hidden_size": 8}
CNN: Dict[str, Any] = {
    "@architectures": "spacy.HashEmbedCNN.v2",
    "pretrained_vectors": None,
    "width": 8,
    "depth": 2,
    "embed_size": 50,
    "window_size": 1,
    "maxout_pieces": 2,
    "subword_features": True,
}
OPTIMIZERS: Dict[str, Dict[str, Any]] = {
    "cnn": {"@optimizers": "Adam.v1"},
    "transformer": {
        "@optimizers": "spacy_spanner.AdamW.v1",
        "encoder": 1e-4,
        "head": 1e-3,
    },
}
TEXTS = [text for text, _ in NESTED] + [
    "Ana Ruiz of Leon County met the US Supreme Court in Boston on Friday.",
    "It rained in Boston. The mayor left.",
]


def new_pipeline(name: str, encoder: Dict[str, Any]) -> Language:
    """Make a narrow pipeline with the default dropout."""
    factory = name.replace("_transformer", "")
    model = dict(defaults_of(factory)["model"])
    model.update({key: size for key, size in WIDTHS.items() if key in model})
    model["tok2vec"] = encoder
    nlp = spacy.blank("en")
    # Low enough to report spans after only ten steps.
    nlp.add_pipe(factory, config={"model": model, "threshold": 0.02})
    return nlp


def encoder_for(name: str) -> Dict[str, Any]:
    """RETURNS (Dict[str, Any]): the block [model.tok2vec] of a pipeline."""
    if name != WITH_TRANSFORMER:
        return dict(CNN)
    encoder = str(TINY_BERT.relative_to(Path.cwd()))
    return {"@architectures": "spacy_spanner.Transformer.v1", "name": encoder}


def ten_steps(nlp: Language, optimizer: str) -> None:
    """Train from a fixed seed."""
    examples: List[Example] = [
        Example(nlp.make_doc(text), annotate(nlp.make_doc(text), spans))
        for text, spans in NESTED
    ]
    fix_random_seed(0)
    nlp.initialize(lambda: examples)
    fix_random_seed(0)
    sgd = registry.resolve({"optimizer": OPTIMIZERS[optimizer]})["optimizer"]
    for _ in range(N_STEPS):
        nlp.update(examples, sgd=sgd, drop=0.1)


def optimizer_for(name: str) -> str:
    """RETURNS (str): the key in OPTIMIZERS of the optimizer that trains a pipeline."""
    return "transformer" if name == WITH_TRANSFORMER else "cnn"


def predictions(nlp: Language) -> List[List[Any]]:
    """RETURNS (List[List[Any]]): the scored spans of each text."""
    docs: List[Doc] = list(nlp.pipe(TEXTS))
    return [[list(span) for span in scored_spans(doc)] for doc in docs]


def main() -> None:
    """Make the folder."""
    expected = {}
    for name in NAMES:
        nlp = new_pipeline(name, encoder_for(name))
        ten_steps(nlp, optimizer_for(name))
        (FOLDER / name).parent.mkdir(exist_ok=True)
        nlp.to_disk(FOLDER / name)
        expected[name] = predictions(nlp)
    EXPECTED.write_text(json.dumps(expected, indent=1) + "\n", encoding="utf8")


if __name__ == "__main__":
    main()

"""One pipeline of all four components for every kind of encoder, trained a little."""

import os
import tempfile
from pathlib import Path
from typing import Any, Dict, Iterable, List, Sequence

import pytest
import spacy
from spacy.language import Language
from spacy.tokens import Doc
from spacy.training import Example
from thinc.api import fix_random_seed

from ...helpers import (
    FACTORIES,
    NESTED,
    SMALL_ENCODER,
    SMALL_WIDTH,
    annotate,
    scored_spans,
    small_model,
    spans_of,
)

LISTENER = {
    "@architectures": "spacy.Tok2VecListener.v1",
    "width": SMALL_WIDTH,
    "upstream": "*",
}
BILSTM = {
    "@architectures": "spacy_spanner.BiLSTM.v1",
    "tok2vec": SMALL_ENCODER,
    "width": SMALL_WIDTH,
}
TRANSFORMER = {"@architectures": "spacy_spanner.Transformer.v1", "max_pieces": 48}
ALL = list(FACTORIES)
N_UPDATES = 25
LEARN_RATE = 0.01
MIN_SPANS = 15

TEXTS = [
    NESTED[0][0],
    NESTED[1][0],
    "It rained all day.",
    "",
    " \n ",
    "Boston",
    "The mayor of Oslo met the US Supreme Court. It sat in Leon County! Ana left.",
    "Ana  Ruiz will \n hear arguments 😀 all\u200bday on Friday.",
    "Boston, Leon County and the US.",
    "The US Supreme Court will hear the mayor of Boston and Ana Ruiz. " * 6,
]
MANY = TEXTS * 7


def encoder_config(kind: str, bert: Path) -> Dict[str, Any]:
    """Write the block of an encoder."""
    blocks: Dict[str, Dict[str, Any]] = {
        "cnn": SMALL_ENCODER,
        "bilstm": BILSTM,
        "listener": LISTENER,
        "transformer": {**TRANSFORMER, "name": str(bert)},
        "minilm": {**TRANSFORMER, "name": "minilm"},
    }
    return blocks[kind]


def build(kind: str, bert: Path, factories: Sequence[str]) -> Language:
    """Train components on encoders of a kind; each writes under its own name."""
    nlp = spacy.blank("en")
    nlp.add_pipe("sentencizer")
    if kind == "listener":
        nlp.add_pipe("tok2vec", config={"model": SMALL_ENCODER})
    for name in factories:
        model = small_model(name, encoder_config(kind, bert))
        config = {"model": model, "spans_key": name, "threshold": 0.1}
        nlp.add_pipe(name, config=config)
    examples = [example_of(nlp, *row, factories) for row in NESTED]
    fix_random_seed(0)
    optimizer = nlp.initialize(lambda: examples)
    # At 1e-3 already, it depends on chance what a pretrained encoder ends with.
    optimizer.learn_rate = LEARN_RATE if kind != "minilm" else 2e-4
    for _ in range(N_UPDATES):
        nlp.update(examples, sgd=optimizer)
    return nlp


def example_of(nlp: Language, text: str, gold: Any, keys: Iterable[str]) -> Example:
    reference = nlp.make_doc(text)
    for key in keys:
        annotate(reference, gold, key)
    return Example(nlp.make_doc(text), reference)


def shared_folder(factory: pytest.TempPathFactory) -> Path:
    """Find the folder that all processes of this run of the tests have in common."""
    base = factory.getbasetemp()
    return base.parent if "PYTEST_XDIST_WORKER" in os.environ else base


def stored(kind: str, folder: Path, bert: Path, factories: Sequence[str]) -> Path:
    """Train once in a run of the tests, and leave the result where others find it."""
    path = folder / "-".join(["pipeline", kind, *factories])
    if not path.exists():
        building = Path(tempfile.mkdtemp(dir=folder))
        build(kind, bert, factories).to_disk(building / "pipeline")
        try:
            (building / "pipeline").rename(path)
        except OSError:
            assert path.exists()  # another process was faster
    return path


def predictions(docs: Iterable[Doc], keys: Sequence[str]) -> List[Dict[str, Any]]:
    """List the spans and scores of documents by component."""
    return [
        {key: (spans_of(doc, key), [span[3] for span in scored_spans(doc, key)])}
        for doc in docs
        for key in keys
    ]


def assert_same(
    found: Iterable[Doc], wanted: Iterable[Doc], keys: Sequence[str]
) -> None:
    """Compare spans exactly and scores to 1e-5, for every component."""
    found, wanted = list(found), list(wanted)
    assert [doc.text for doc in found] == [doc.text for doc in wanted]
    for one, two in zip(predictions(found, keys), predictions(wanted, keys)):
        for key, (spans, scores) in one.items():
            assert spans == two[key][0], key
            assert scores == pytest.approx(two[key][1], abs=1e-5), key


def assert_much_found(docs: Sequence[Doc], keys: Sequence[str]) -> None:
    """Spans that are the same because there are none would show nothing."""
    for key in keys:
        assert sum(len(doc.spans[key]) for doc in docs) >= MIN_SPANS, key

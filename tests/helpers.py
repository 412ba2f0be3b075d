"""Small data, small pipelines and comparisons that the tests share."""

import json
import multiprocessing
import signal
from contextlib import contextmanager
from copy import deepcopy
from functools import cache
from typing import Any, Dict, Iterable, Iterator, List, Optional, Sequence, Tuple

import spacy
from spacy.language import Language
from spacy.tokens import Doc, Span
from spacy.training import Example
from spacy.vocab import Vocab
from thinc.api import fix_random_seed

from spacy_spanner.spans.table import ScoredSpan

# Every model: a new one runs all tests of the component when it is added here.
FACTORIES = ["span_biaffine", "span_locate_label", "span_offset", "span_diffusion"]

# Models that can give several labels to one span, and the settings that this takes.
SEVERAL_LABELS: Dict[str, Dict[str, Any]] = {
    "span_biaffine": {"multilabel": True},
    "span_offset": {},
}

# Models that look at a fixed number of spans, however long a window is.
FIXED_NUMBER = ["span_diffusion"]

Gold = Sequence[Tuple[int, int, str]]
Data = Sequence[Tuple[str, Gold]]
Scored = Tuple[int, int, str, float]

NESTED: Data = (
    (
        "The US Supreme Court will hear arguments from Leon County.",
        [(0, 4, "ORG"), (1, 2, "GPE"), (8, 10, "GPE")],
    ),
    (
        "The mayor of Boston met Ana Ruiz on Friday.",
        [(0, 4, "PER"), (3, 4, "GPE"), (5, 7, "PER")],
    ),
    ("It rained all day.", []),
    ("", []),
)
# The first text of NESTED, as tokens.
COURT_WORDS = ["The", "US", "Supreme", "Court", "will", "hear"]
COURT_WORDS += ["arguments", "from", "Leon", "County", "."]

CROSSING: Data = (
    ("The Duke of York Street market opened.", [(1, 4, "PER"), (3, 5, "LOC")]),
    ("It closed at noon.", []),
)
TWO_LABELS: Data = (
    ("Georgia beat Spain in Turin.", [
        (0, 1, "GPE"),
        (0, 1, "TEAM"),
        (2, 3, "GPE"),
        (2, 3, "TEAM"),
        (4, 5, "GPE"),
    ]),
    ("Nobody else came.", []),
)  # fmt: skip
LONG: Data = (
    (
        " ".join([NESTED[0][0], NESTED[1][0]] * 8),
        [
            (start + 21 * turn, end + 21 * turn, label)
            for turn in range(8)
            for start, end, label in [
                (0, 4, "ORG"),
                (1, 2, "GPE"),
                (8, 10, "GPE"),
                (11, 15, "PER"),
                (14, 15, "GPE"),
                (16, 18, "PER"),
            ]
        ],
    ),
)
DATA: Dict[str, Data] = {
    "nested": NESTED,
    "crossing": CROSSING,
    "two_labels": TWO_LABELS,
    "long": LONG,
}

N_UPDATES = 100
SMALL_WIDTH = 32
WIDE = 384
SMALL_ENCODER = {
    "@architectures": "spacy.HashEmbedCNN.v2",
    "pretrained_vectors": None,
    "width": SMALL_WIDTH,
    "depth": 2,
    "embed_size": 500,
    "window_size": 1,
    "maxout_pieces": 2,
    "subword_features": True,
}

_trained: Dict[str, Language] = {}


@cache
def _blank() -> Language:
    """Make a pipeline, which loads the entry points that register the factories."""
    return spacy.blank("en")


def defaults_of(factory: str) -> Dict[str, Any]:
    """Look up the default config of a factory."""
    return deepcopy(_blank().get_factory_meta(factory).default_config)


def small_model(factory: str, encoder: Optional[Dict] = None) -> Dict[str, Any]:
    """Make the model of a factory narrow, and leave out its dropout."""
    default = defaults_of(factory)["model"]
    model: Dict[str, Any] = {"@architectures": default["@architectures"]}
    for name in default:
        if name in ("lstm_width", "hidden_width"):
            model[name] = SMALL_WIDTH
        elif name == "ffn_width":
            model[name] = WIDE  # to learn by heart in few updates
        elif name.endswith("dropout"):
            model[name] = 0.0
    return {**model, "tok2vec": encoder or SMALL_ENCODER}


def blank_pipeline(
    factory: str, *, lang: str = "en", name: Optional[str] = None, **settings: Any
) -> Language:
    """Make a pipeline of one small component, without weights."""
    nlp = spacy.blank(lang)
    config = {"model": small_model(factory), **settings}
    nlp.add_pipe(factory, name=name, config=config)
    return nlp


def annotate(doc: Doc, spans: Gold, key: str = "ents") -> Doc:
    """Put spans in a group."""
    doc.spans[key] = [Span(doc, start, end, label=name) for start, end, name in spans]
    return doc


def doc_of(words: Sequence[str], spans: Optional[Gold] = None, **kwargs: Any) -> Doc:
    """Make a document of words, with gold under "ents" if it is given."""
    doc = Doc(Vocab(), words=list(words), **kwargs)
    return doc if spans is None else annotate(doc, spans)


def make_examples(nlp: Language, data: Data, key: str = "ents") -> List[Example]:
    """Tokenize the texts of a data set and put its gold on the references."""
    return [
        Example(nlp.make_doc(text), annotate(nlp.make_doc(text), spans, key))
        for text, spans in data
    ]


def train(nlp: Language, examples: Sequence[Example], updates: int = N_UPDATES) -> None:
    """Initialize from a fixed seed and learn the examples by heart."""
    fix_random_seed(0)
    optimizer = nlp.initialize(lambda: examples)
    for _ in range(updates):
        nlp.update(examples, sgd=optimizer)


def new_module(factory: str, **model: Any) -> Any:
    """RETURNS (Any): the torch module of an architecture with these settings, new, with
    the three labels of `NESTED`.
    """
    nlp = blank_pipeline(factory, model={**small_model(factory), **model})
    train(nlp, make_examples(nlp, NESTED), updates=0)
    head: Any = nlp.get_pipe(factory).model.get_ref("output_layer")
    return head.shims[0].module


def dropout_rates(module: Any) -> Dict[str, float]:
    """RETURNS (Dict[str, float]): the rate of each dropout layer, by its name."""
    return {
        name: layer.p
        for name, layer in module.named_modules()
        if type(layer).__name__ == "Dropout"
    }


def trained(factory: str, data: str = "nested", **settings: Any) -> Language:
    """Train a small pipeline once per session; callers must not change it."""
    key = json.dumps([factory, data, settings], sort_keys=True)
    if key not in _trained:
        nlp = blank_pipeline(factory, **settings)
        examples = make_examples(nlp, DATA[data], settings.get("spans_key", "ents"))
        train(nlp, examples)
        _trained[key] = nlp
    return _trained[key]


def copy_of(nlp: Language) -> Language:
    """Make an independent pipeline of the same weights and settings."""
    copy = type(nlp).from_config(nlp.config)
    return copy.from_bytes(nlp.to_bytes())


def trained_copy(factory: str, data: str = "nested", **settings: Any) -> Language:
    """Give a trained pipeline that the caller may change."""
    return copy_of(trained(factory, data, **settings))


def texts(data: Data) -> List[str]:
    """Leave out the gold."""
    return [text for text, _ in data]


def predict_nested(nlp: Language) -> List[Doc]:
    """Let a pipeline read the texts of `NESTED`."""
    return list(nlp.pipe(texts(NESTED)))


def predicted_rows(pipe: Any, docs: Sequence[Doc]) -> List[List[ScoredSpan]]:
    """Let a component predict, and list the spans of each document."""
    return [spans.rows() for spans in pipe.predict(docs)]


def spans_of(doc: Doc, key: str = "ents") -> List[Tuple[int, int, str]]:
    """List the spans of a group in its order."""
    return [(span.start, span.end, span.label_) for span in doc.spans[key]]


def scored_spans(doc: Doc, key: str = "ents") -> List[Scored]:
    """List the spans of a group with their scores, in its order."""
    scores = doc.spans[key].attrs["scores"].tolist()
    assert len(scores) == len(doc.spans[key])
    return [(*span, score) for span, score in zip(spans_of(doc, key), scores)]


def assert_same_predictions(docs: Iterable[Doc], others: Iterable[Doc]) -> None:
    """Compare spans exactly, and scores to 1e-5."""
    docs, others = list(docs), list(others)
    assert len(docs) == len(others)
    for doc, other in zip(docs, others):
        assert doc.text == other.text
        assert spans_of(doc) == spans_of(other)
        pairs = zip(scored_spans(doc), scored_spans(other))
        assert all(abs(one[3] - two[3]) <= 1e-5 for one, two in pairs)


@contextmanager
def time_limit(seconds: int) -> Iterator[None]:
    """Turn a hang, also one in a child process, into a failure."""

    def give_up(signum: int, frame: Any) -> None:
        for child in multiprocessing.active_children():
            child.kill()
        raise TimeoutError(f"still running after {seconds} seconds")

    before = signal.signal(signal.SIGALRM, give_up)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def hear_interruptions() -> None:
    """Let a new process obey Ctrl-C, which those started in the background ignore."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)

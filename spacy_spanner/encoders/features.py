"""`spacy_spanner.Features.v1`: an encoder's vectors and other token features."""

import warnings
from dataclasses import dataclass
from typing import Any, Callable, List, Optional, Sequence, Tuple, cast

import numpy as np
from spacy.ml.featureextractor import FeatureExtractor
from spacy.ml.staticvectors import StaticVectors
from spacy.tokens import Doc
from spacy.util import registry
from thinc.api import HashEmbed, Model, chain, list2ragged, ragged2list, with_array
from thinc.types import Floats2d

from ..errors import Errors, Warnings
from ..layers.doc_arrays import is_placeholder
from ..settings import Rule, Settings, at_least, even, expand, one_of, require, setting
from .characters import character_vectors

InT = List[Doc]
OutT = List[Floats2d]

ATTRIBUTES = ("POS", "TAG", "DEP", "MORPH", "LEMMA", "ENT_TYPE", "ENT_IOB", "SHAPE")
# Attributes that another component must set; the tokenizer sets the shape.
ANNOTATIONS = set(ATTRIBUTES) - {"SHAPE"}
# Rows of the embedding table of an attribute; each value is hashed into several.
N_VALUES = 500

a_list = Rule("a list", lambda value: isinstance(value, (list, tuple)))


@dataclass(frozen=True)
class FeatureSettings(Settings):
    """Features of tokens, and the sizes of their vectors.

    vectors_width (int): output size of a learned projection of the pipeline's static
        vectors (`[initialize] vectors`), which are not trained. 0 to not use them.
    attrs (Sequence[str]): attributes to embed, such as POS or TAG. Earlier components
        must set them, also in training (`[training] annotating_components`).
    attr_width (int): size of each attribute embedding.
    char_width (int): size of a character embedding.
    char_lstm_width (int): output size of a bidirectional LSTM over the characters of
        each token, both directions together; 0 to not use characters.
    """

    vectors_width: int = setting(0, at_least(0))
    attrs: Sequence[str] = setting((), a_list)
    attr_width: int = setting(25, at_least(1))
    char_width: int = setting(25, at_least(1))
    char_lstm_width: int = setting(0, even)

    def __post_init__(self) -> None:
        super().__post_init__()
        for attr in self.attrs:
            require(one_of(ATTRIBUTES), attrs=attr)


def build_features(tok2vec: Model[InT, OutT], **chosen: Any) -> Model[InT, OutT]:
    """Concatenate an encoder's vectors with other features of the tokens.

    tok2vec (Model): the encoder, or a listener to a shared one.
    RAISES (ValueError): SP002 for a value out of range.
    RETURNS (Model): documents to token vectors.
    """
    settings = FeatureSettings(**chosen)
    width, attrs = settings.vectors_width, list(settings.attrs)
    features: List[Model] = [_attribute(attr, settings.attr_width) for attr in attrs]
    if width:
        features.append(chain(StaticVectors(nO=width), ragged2list()))
    if settings.char_lstm_width:
        characters = character_vectors(settings.char_width, settings.char_lstm_width)
        features.append(characters)
    return Model(
        "features",
        forward,
        init=init,
        dims={"nO": None},
        layers=[tok2vec, *features],
        attrs={"attrs": attrs, "vectors_width": width},
    )


registry.architectures(
    "spacy_spanner.Features.v1", func=expand(build_features, FeatureSettings)
)


def _attribute(attr: str, width: int) -> Model[InT, OutT]:
    embed: Model = HashEmbed(nO=width, nV=N_VALUES, column=0)
    columns = FeatureExtractor([attr])
    return chain(columns, list2ragged(), with_array(embed), ragged2list())


def init(model: Model, X: Optional[InT] = None, Y: Optional[OutT] = None) -> None:
    """Initialize all features, and check that the documents have them.

    RAISES (ValueError): SP018 when there are no static vectors.
    """
    if X:
        _check_documents(model, X)
    for layer in model.layers:
        layer.initialize(X=X)
    if X:
        model.set_dim("nO", sum(_width(layer.predict(X)) for layer in model.layers))


def _width(vectors: OutT) -> int:
    """RETURNS (int): size of the vectors; some encoders give empty documents size 0."""
    return max((rows.shape[1] for rows in vectors), default=0)


def _check_documents(model: Model, docs: InT) -> None:
    width = model.attrs["vectors_width"]
    if width and not docs[0].vocab.vectors.shape[1]:
        raise ValueError(Errors.SP018.format(width=width))
    if all(map(is_placeholder, docs)):  # there are no data yet
        return
    for attr in model.attrs["attrs"]:
        if attr in ANNOTATIONS and not any(doc.has_annotation(attr) for doc in docs):
            warnings.warn(Warnings.SW004.format(attr=attr), stacklevel=2)


def forward(model: Model, docs: InT, is_train: bool) -> Tuple[OutT, Callable]:
    """Concatenate all features. RETURNS: vectors (token, nO) of each document."""
    outputs, callbacks = zip(*(layer(docs, is_train) for layer in model.layers))
    xp = model.ops.xp
    widths = [_width(vectors) for vectors in outputs]
    vectors = [
        xp.concatenate(rows, axis=1) if len(doc) else xp.zeros((0, sum(widths)), "f")
        for doc, rows in zip(docs, zip(*outputs))
    ]

    def backprop(d_vectors: OutT) -> InT:
        edges = np.cumsum(widths)[:-1].tolist()
        parts = zip(*(xp.split(rows, edges, axis=1) for rows in d_vectors))
        for callback, d_rows in zip(callbacks, parts):
            callback([cast(Floats2d, model.ops.as_contig(rows)) for rows in d_rows])
        return docs

    return vectors, backprop

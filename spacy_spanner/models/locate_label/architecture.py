"""The two-stage identifier as a Thinc architecture."""

from functools import partial
from typing import List

from spacy.tokens import Doc
from spacy.util import registry
from thinc.api import Model
from thinc.types import Floats2d

from ...layers.span_model import SpanInput, build_span_model
from ...settings import at_least, even, fraction, one_of, require
from ...spans.table import SpanTable
from .module import OFFSETS, LocateLabelModule


@registry.architectures("spacy_spanner.LocateLabel.v1")
def build_locate_label_model(
    tok2vec: Model[List[Doc], List[Floats2d]],
    *,
    lstm_width: int = 200,
    hidden_width: int = 150,
    offsets: str = "linear",
    dropout: float = 0.2,
    input_dropout: float = 0.1,
) -> Model[SpanInput, SpanTable]:
    """Build filter, boundary regressor and classifier on an encoder.

    tok2vec (Model): the encoder, or a listener to a shared one.
    lstm_width (int): size of a BiLSTM between encoder and MLPs, both directions
        together; 0 for none.
    hidden_width (int): size of the hidden layer of each MLP.
    offsets (str): "linear" in tokens, or "squashed" to the length of the window.
    dropout (float): rate on the hidden layers. `[training] dropout` reaches the encoder
        only.
    input_dropout (float): rate in front of the BiLSTM, and behind it.
    RAISES (ValueError): SP002 for a value out of its limits.
    RETURNS (Model): see `build_span_model`.
    """
    require(even, lstm_width=lstm_width)
    require(at_least(1), hidden_width=hidden_width)
    require(one_of(tuple(OFFSETS)), offsets=offsets)
    require(fraction, dropout=dropout, input_dropout=input_dropout)
    build = partial(
        LocateLabelModule,
        lstm_width=lstm_width,
        hidden_width=hidden_width,
        offsets=offsets,
        dropout=dropout,
        input_dropout=input_dropout,
    )
    return build_span_model(tok2vec, build)

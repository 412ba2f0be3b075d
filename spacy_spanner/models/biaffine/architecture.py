"""The biaffine model as a Thinc architecture."""

from functools import partial
from typing import List

from spacy.tokens import Doc
from spacy.util import registry
from thinc.api import Model
from thinc.types import Floats2d

from ...layers.span_model import SpanInput, build_span_model
from ...settings import at_least, even, fraction, require
from ...spans.table import SpanTable
from .module import BiaffineModule


@registry.architectures("spacy_spanner.Biaffine.v1")
def build_biaffine_model(
    tok2vec: Model[List[Doc], List[Floats2d]],
    *,
    lstm_width: int = 200,
    hidden_width: int = 150,
    width_embedding: int = 25,
    n_widths: int = 32,
    dropout: float = 0.2,
    input_dropout: float = 0.1,
) -> Model[SpanInput, SpanTable]:
    """Build the biaffine span classifier on an encoder.

    tok2vec (Model): the encoder, or a listener to a shared one.
    lstm_width (int): size of a BiLSTM between encoder and classifier, both directions
        together, as in the authors' code; 0 for none.
    hidden_width (int): size of the representations of the two boundaries.
    width_embedding (int): size of the embedding of a span's width.
    n_widths (int): spans of this many tokens or more share one embedding.
    dropout (float): rate on the boundary representations. `[training] dropout` reaches
        the encoder only.
    input_dropout (float): rate in front of the BiLSTM, and behind it.
    RAISES (ValueError): SP002 for a value out of its limits.
    RETURNS (Model): see `build_span_model`.
    """
    require(even, lstm_width=lstm_width)
    require(at_least(1), hidden_width=hidden_width, n_widths=n_widths)
    require(at_least(1), width_embedding=width_embedding)
    require(fraction, dropout=dropout, input_dropout=input_dropout)
    build = partial(
        BiaffineModule,
        lstm_width=lstm_width,
        hidden_width=hidden_width,
        width_embedding=width_embedding,
        n_widths=n_widths,
        dropout=dropout,
        input_dropout=input_dropout,
    )
    return build_span_model(tok2vec, build)

"""The denoiser as a Thinc architecture."""

from functools import partial
from typing import List

from spacy.tokens import Doc
from spacy.util import registry
from thinc.api import Model
from thinc.types import Floats2d

from ...layers.span_model import SpanInput, build_span_model
from ...settings import Rule, at_least, even, fraction, one_of, require, yes_or_no
from ...spans.table import SpanTable
from .module import CLASSIFIERS, DiffusionModule
from .pointer import POINTERS
from .tokens import POOLINGS


@registry.architectures("spacy_spanner.Diffusion.v1")
def build_diffusion_model(
    tok2vec: Model[List[Doc], List[Floats2d]],
    *,
    lstm_width: int = 200,
    hidden_width: int = 192,
    ffn_width: int = 192,
    n_layers: int = 1,
    n_heads: int = 8,
    self_attention: bool = False,
    cross_attention: bool = True,
    pooling: str = "both",
    pointer: str = "product",
    classifier: str = "denoised",
    n_widths: int = 32,
    dropout: float = 0.1,
    input_dropout: float = 0.1,
) -> Model[SpanInput, SpanTable]:
    """Build the denoiser of spans on an encoder.

    tok2vec (Model): the encoder, or a listener to a shared one.
    lstm_width (int): size of a BiLSTM between encoder and denoiser, both directions
        together; 0 for none.
    hidden_width (int): size of the vectors of spans.
    ffn_width (int): hidden size of the feed-forward map of a layer.
    n_layers (int): layers of the denoiser.
    n_heads (int): heads of its attentions.
    self_attention (bool): whether the spans of a window look at each other.
    cross_attention (bool): whether spans look at the tokens.
    pooling (str): how tokens make a noisy span: "mean", "boundaries" (the sum of maps
        of the first and the last one) or "both".
    pointer (str): how pointers compare span and token: "product" of their projections,
        or as in the paper an MLP of their "sum".
    classifier (str): what is classified: the "denoised" span, or as in the paper the
        "noisy" one.
    n_widths (int): denoised spans of this many tokens or more share one embedding.
    dropout (float): rate inside the denoiser and the classifier. `[training] dropout`
        reaches the encoder only.
    input_dropout (float): rate in front of the BiLSTM, and behind it.
    RAISES (ValueError): SP002 for a value out of its limits.
    RETURNS (Model): see `build_span_model`.
    """
    require(even, lstm_width=lstm_width)
    require(at_least(1), ffn_width=ffn_width, n_heads=n_heads, n_widths=n_widths)
    require(at_least(0), n_layers=n_layers)
    require(_multiple_of(n_heads), hidden_width=hidden_width)
    require(yes_or_no, self_attention=self_attention, cross_attention=cross_attention)
    require(one_of(POOLINGS), pooling=pooling)
    require(one_of(POINTERS), pointer=pointer)
    require(one_of(CLASSIFIERS), classifier=classifier)
    require(fraction, dropout=dropout, input_dropout=input_dropout)
    build = partial(
        DiffusionModule,
        lstm_width=lstm_width,
        hidden_width=hidden_width,
        ffn_width=ffn_width,
        n_layers=n_layers,
        n_heads=n_heads,
        self_attention=self_attention,
        cross_attention=cross_attention,
        pooling=pooling,
        pointer=pointer,
        classifier=classifier,
        n_widths=n_widths,
        dropout=dropout,
        input_dropout=input_dropout,
    )
    return build_span_model(tok2vec, build)


def _multiple_of(number: int) -> Rule:
    return Rule(
        f"a multiple of the {number} heads of attention",
        lambda value: at_least(1).accepts(value) and value % number == 0,
    )

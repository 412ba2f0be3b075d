"""The biaffine model as a Thinc architecture."""

from functools import partial

from ...layers.architectures import Encoder, SpanModel, span_architecture
from ...layers.span_model import build_span_model
from .module import BiaffineModule, BiaffineSettings


@span_architecture("spacy_spanner.Biaffine.v1", BiaffineSettings)
def build_biaffine_model(tok2vec: Encoder, settings: BiaffineSettings) -> SpanModel:
    """Build the biaffine span classifier on an encoder.

    tok2vec (Model): the encoder, or a listener to a shared one.
    RAISES (ValueError): SP002 for a value out of its limits.
    RETURNS (Model): see `build_span_model`.
    """
    return build_span_model(tok2vec, partial(BiaffineModule, settings=settings))

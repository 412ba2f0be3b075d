"""The two-stage identifier as a Thinc architecture."""

from functools import partial

from ...layers.architectures import Encoder, SpanModel, span_architecture
from ...layers.span_model import build_span_model
from .module import LocateLabelModule, LocateLabelSettings


@span_architecture("spacy_spanner.LocateLabel.v1", LocateLabelSettings)
def build_locate_label_model(
    tok2vec: Encoder, settings: LocateLabelSettings
) -> SpanModel:
    """Build filter, boundary regressor and classifier on an encoder.

    tok2vec (Model): the encoder, or a listener to a shared one.
    RAISES (ValueError): SP002 for a value out of its limits.
    RETURNS (Model): see `build_span_model`.
    """
    return build_span_model(tok2vec, partial(LocateLabelModule, settings=settings))

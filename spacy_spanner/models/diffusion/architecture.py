"""The denoiser as a Thinc architecture."""

from functools import partial

from ...layers.architectures import Encoder, SpanModel, span_architecture
from ...layers.span_model import build_span_model
from .module import DiffusionModule, DiffusionSettings


@span_architecture("spacy_spanner.Diffusion.v1", DiffusionSettings)
def build_diffusion_model(tok2vec: Encoder, settings: DiffusionSettings) -> SpanModel:
    """Build the denoiser of spans on an encoder.

    tok2vec (Model): the encoder, or a listener to a shared one.
    RAISES (ValueError): SP002 for a value out of its limits.
    RETURNS (Model): see `build_span_model`.
    """
    return build_span_model(tok2vec, partial(DiffusionModule, settings=settings))

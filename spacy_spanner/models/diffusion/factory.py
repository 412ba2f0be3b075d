"""The factory `span_diffusion`."""

from ...pipeline.factories import register_span_factory
from .architecture import build_diffusion_model
from .codec import DiffusionCodec

__all__ = ["build_diffusion_model", "make_span_diffusion"]

make_span_diffusion = register_span_factory(
    "span_diffusion",
    codec_type=DiffusionCodec,
    architecture="spacy_spanner.Diffusion.v1",
    threshold=0.4,
    # `spans` noisy spans are enough for windows of this size.
    max_window=64,
    stride=32,
)

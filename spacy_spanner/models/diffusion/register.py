"""Register the denoiser: its architecture and its component."""

from ...layers.span_model import span_architecture
from ...pipeline.factories import register_span_factory
from .codec import DiffusionCodec
from .module import DiffusionModule, DiffusionSettings

build_diffusion_model = span_architecture(
    "spacy_spanner.Diffusion.v1", DiffusionModule, DiffusionSettings
)

make_span_diffusion = register_span_factory(
    "span_diffusion",
    codec_type=DiffusionCodec,
    architecture="spacy_spanner.Diffusion.v1",
    threshold=0.4,
    # `spans` noisy spans are enough for windows of this size.
    max_window=64,
    stride=32,
)

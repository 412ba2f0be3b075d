"""The factory `span_diffusion`."""

from ...pipeline.factories import register_span_factory
from .architecture import build_diffusion_model
from .codec import DiffusionCodec

__all__ = ["build_diffusion_model", "make_span_diffusion"]

MODEL_CONFIG = """
[model]
@architectures = "spacy_spanner.Diffusion.v1"
lstm_width = 200
hidden_width = 192
ffn_width = 192
n_layers = 1
n_heads = 8
self_attention = false
cross_attention = true
pooling = "both"
pointer = "product"
classifier = "denoised"
n_widths = 32
dropout = 0.1
input_dropout = 0.1
"""

make_span_diffusion = register_span_factory(
    "span_diffusion",
    codec_type=DiffusionCodec,
    model_config=MODEL_CONFIG,
    threshold=0.4,
    # `spans` noisy spans are enough for windows of this size.
    max_window=64,
    stride=32,
)

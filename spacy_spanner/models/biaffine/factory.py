"""The factory `span_biaffine`."""

from ...pipeline.factories import register_span_factory
from .architecture import build_biaffine_model
from .codec import BiaffineCodec

__all__ = ["build_biaffine_model", "make_span_biaffine"]

MODEL_CONFIG = """
[model]
@architectures = "spacy_spanner.Biaffine.v1"
lstm_width = 200
hidden_width = 150
width_embedding = 25
n_widths = 32
dropout = 0.2
input_dropout = 0.1
"""

make_span_biaffine = register_span_factory(
    "span_biaffine",
    codec_type=BiaffineCodec,
    model_config=MODEL_CONFIG,
    # F1 of calibrated scores is best at half of itself, so below one half.
    threshold=0.3,
)

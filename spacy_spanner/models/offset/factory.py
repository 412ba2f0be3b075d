"""The factory `span_offset`."""

from ...pipeline.factories import register_span_factory
from .architecture import build_offset_model
from .codec import OffsetCodec

__all__ = ["build_offset_model", "make_span_offset"]

MODEL_CONFIG = """
[model]
@architectures = "spacy_spanner.Offset.v1"
type_inputs = false
max_offset = 2
offset_sides = "both"
lstm_width = 200
hidden_width = 150
region_embedding = 20
distance_embedding = 20
n_distances = 32
conv_layers = 0
conv_width = 16
conv_types = false
dropout = 0.2
input_dropout = 0.1
"""

make_span_offset = register_span_factory(
    "span_offset",
    codec_type=OffsetCodec,
    model_config=MODEL_CONFIG,
    # F1 of calibrated scores is best at half of itself, so below one half.
    threshold=0.35,
)

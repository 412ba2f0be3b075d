"""The factory `span_locate_label`."""

from ...pipeline.factories import register_span_factory
from .architecture import build_locate_label_model
from .codec import LocateLabelCodec

__all__ = ["build_locate_label_model", "make_span_locate_label"]

MODEL_CONFIG = """
[model]
@architectures = "spacy_spanner.LocateLabel.v1"
lstm_width = 200
hidden_width = 150
offsets = "linear"
dropout = 0.2
input_dropout = 0.1
"""

make_span_locate_label = register_span_factory(
    "span_locate_label",
    codec_type=LocateLabelCodec,
    model_config=MODEL_CONFIG,
    # F1 of calibrated scores is best at half of itself, so below one half.
    threshold=0.3,
)

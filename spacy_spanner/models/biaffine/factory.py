"""The factory `span_biaffine`."""

from ...factory import register_span_factory
from .architecture import build_biaffine_model
from .codec import BiaffineCodec

__all__ = ["build_biaffine_model", "make_span_biaffine"]

MODEL_CONFIG = """
[model]
@architectures = "spacy_spanner.Biaffine.v1"
hidden_width = 150
width_embedding = 25
n_widths = 32
dropout = 0.2
input_dropout = 0.4
"""

make_span_biaffine = register_span_factory(
    "span_biaffine", codec_type=BiaffineCodec, model_config=MODEL_CONFIG
)

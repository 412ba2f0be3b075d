"""The factory `span_biaffine`."""

from ...pipeline.factories import register_span_factory
from .architecture import build_biaffine_model
from .codec import BiaffineCodec

__all__ = ["build_biaffine_model", "make_span_biaffine"]

make_span_biaffine = register_span_factory(
    "span_biaffine",
    codec_type=BiaffineCodec,
    architecture="spacy_spanner.Biaffine.v1",
    # With calibrated scores, F1 is best at a threshold of half that F1.
    threshold=0.3,
)

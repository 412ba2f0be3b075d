"""The factory `span_offset`."""

from ...pipeline.factories import register_span_factory
from .architecture import build_offset_model
from .codec import OffsetCodec

__all__ = ["build_offset_model", "make_span_offset"]

make_span_offset = register_span_factory(
    "span_offset",
    codec_type=OffsetCodec,
    architecture="spacy_spanner.Offset.v1",
    # With calibrated scores, F1 is best at a threshold of half that F1.
    threshold=0.35,
)

"""The factory `span_locate_label`."""

from ...pipeline.factories import register_span_factory
from .architecture import build_locate_label_model
from .codec import LocateLabelCodec

__all__ = ["build_locate_label_model", "make_span_locate_label"]

make_span_locate_label = register_span_factory(
    "span_locate_label",
    codec_type=LocateLabelCodec,
    architecture="spacy_spanner.LocateLabel.v1",
    # With calibrated scores, F1 is best at a threshold of half that F1.
    threshold=0.3,
)

"""Register the two-stage identifier: its architecture and its component."""

from ...layers.span_model import span_architecture
from ...pipeline.factories import register_span_factory
from .codec import LocateLabelCodec
from .module import LocateLabelModule, LocateLabelSettings

build_locate_label_model = span_architecture(
    "spacy_spanner.LocateLabel.v1", LocateLabelModule, LocateLabelSettings
)

make_span_locate_label = register_span_factory(
    "span_locate_label",
    codec_type=LocateLabelCodec,
    architecture="spacy_spanner.LocateLabel.v1",
    # With calibrated scores, F1 is best at a threshold of half that F1.
    threshold=0.3,
)

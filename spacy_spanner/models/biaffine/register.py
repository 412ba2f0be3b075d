"""Register the biaffine model: its architecture and its component."""

from ...layers.span_model import span_architecture
from ...pipeline.factories import register_span_factory
from .codec import BiaffineCodec
from .module import BiaffineModule, BiaffineSettings

build_biaffine_model = span_architecture(
    "spacy_spanner.Biaffine.v1", BiaffineModule, BiaffineSettings
)

make_span_biaffine = register_span_factory(
    "span_biaffine",
    codec_type=BiaffineCodec,
    architecture="spacy_spanner.Biaffine.v1",
    # With calibrated scores, F1 is best at a threshold of half that F1.
    threshold=0.3,
)

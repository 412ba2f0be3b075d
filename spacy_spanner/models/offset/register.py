"""Register the boundary offset network: its architecture and its component."""

from ...errors import Errors
from ...layers.span_model import Encoder, span_architecture
from ...pipeline.factories import register_span_factory
from .codec import OffsetCodec
from .module import OffsetModule, OffsetSettings


def require_type_vectors(tok2vec: Encoder, settings: OffsetSettings) -> None:
    """Check where the vectors of the types come from.

    RAISES (ValueError): SP020 for type inputs without an encoder that gives them, SP030
        for settings that leave types without vectors, or read inputs that do not exist.
    """
    for name, value in (("type_embeddings", False), ("type_lstm", True)):
        if getattr(settings, name) is value and not settings.type_inputs:
            raise ValueError(
                Errors.SP030.format(
                    first=f"model.{name} = {str(value).lower()}",
                    second="model.type_inputs = false",
                    why="only type inputs give types vectors from the encoder",
                )
            )
    # The number of prompts depends on that of the labels, the dimension nL.
    if settings.type_inputs and tok2vec.has_dim("nL") is False:
        raise ValueError(Errors.SP020.format(encoder=tok2vec.name))


build_offset_model = span_architecture(
    "spacy_spanner.Offset.v1", OffsetModule, OffsetSettings, require_type_vectors
)

make_span_offset = register_span_factory(
    "span_offset",
    codec_type=OffsetCodec,
    architecture="spacy_spanner.Offset.v1",
    # With calibrated scores, F1 is best at a threshold of half that F1.
    threshold=0.35,
)

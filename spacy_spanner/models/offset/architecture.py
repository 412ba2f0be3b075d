"""The boundary offset network as a Thinc architecture."""

from functools import partial

from ...errors import Errors
from ...layers.architectures import Encoder, SpanModel, span_architecture
from ...layers.span_model import build_span_model
from .module import OffsetModule, OffsetSettings


@span_architecture("spacy_spanner.Offset.v1", OffsetSettings)
def build_offset_model(tok2vec: Encoder, settings: OffsetSettings) -> SpanModel:
    """Build the boundary offset network on an encoder.

    tok2vec (Model): the encoder, or a listener to a shared one.
    RAISES (ValueError): SP002 for a value out of its limits, SP020 for type inputs
        without an encoder that gives them.
    RETURNS (Model): see `build_span_model`.
    """
    # The number of prompts depends on that of the labels, the dimension nL.
    if settings.type_inputs and tok2vec.has_dim("nL") is False:
        raise ValueError(Errors.SP020.format(encoder=tok2vec.name))
    return build_span_model(tok2vec, partial(OffsetModule, settings=settings))

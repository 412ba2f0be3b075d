"""The boundary offset network as a Thinc architecture."""

from functools import partial
from typing import List

from spacy.tokens import Doc
from spacy.util import registry
from thinc.api import Model
from thinc.types import Floats2d

from ...errors import Errors
from ...layers.span_model import SpanInput, build_span_model
from ...settings import at_least, even, fraction, one_of, require
from ...spans.table import SpanTable
from .convolution import ConvolutionShape
from .fusion import PlaceEmbeddings
from .module import OffsetModule
from .offsets import OFFSET_SIDES, OffsetClasses


@registry.architectures("spacy_spanner.Offset.v1")
def build_offset_model(
    tok2vec: Model[List[Doc], List[Floats2d]],
    *,
    type_inputs: bool = False,
    max_offset: int = 2,
    offset_sides: str = "both",
    lstm_width: int = 200,
    hidden_width: int = 150,
    region_embedding: int = 20,
    distance_embedding: int = 20,
    n_distances: int = 32,
    conv_layers: int = 0,
    conv_width: int = 16,
    conv_types: bool = False,
    dropout: float = 0.2,
    input_dropout: float = 0.1,
) -> Model[SpanInput, SpanTable]:
    """Build the boundary offset network on an encoder.

    tok2vec (Model): the encoder, or a listener to a shared one.
    type_inputs (bool): whether the encoder reads the types together with the text and
        gives their vectors, as `spacy_spanner.Transformer.v1` with `prompts` does; they
        are added to learned embeddings of the types.
    max_offset (int): S, how far the boundary of a span may be from that of the entity
        that it points at; 0 for no offsets.
    offset_sides (str): which boundaries have offsets: "both", "start" or "end".
    lstm_width (int): size of a BiLSTM between encoder and spans, both directions
        together; 0 for none.
    hidden_width (int): size of the vectors of boundaries and types.
    region_embedding (int): size of the embedding that tells spans from the other half
        of the grid; 0 for none.
    distance_embedding (int): size of the embedding of a span's width; 0 for none.
    n_distances (int): spans of this many tokens or more share one embedding.
    conv_layers (int): convolutions over the grid, with dilations 1, 2, ...; 0 for none.
    conv_width (int): channels of the convolutions.
    conv_types (bool): whether convolutions reach over neighbouring types too, as in the
        paper; results then depend on the order of the labels.
    dropout (float): rate on the vectors of boundaries and of type inputs, and in front
        of the convolutions. `[training] dropout` reaches the encoder only.
    input_dropout (float): rate in front of the BiLSTM, and behind it; also on what the
        encoder gives as type inputs.
    RAISES (ValueError): SP002 for a value out of its limits, SP020 for type inputs
        without an encoder that gives them.
    RETURNS (Model): see `build_span_model`.
    """
    require(at_least(0), max_offset=max_offset, conv_layers=conv_layers)
    require(one_of(OFFSET_SIDES), offset_sides=offset_sides)
    require(even, lstm_width=lstm_width)
    require(at_least(1), hidden_width=hidden_width, conv_width=conv_width)
    require(at_least(0), region_embedding=region_embedding)
    require(at_least(0), distance_embedding=distance_embedding)
    require(at_least(1), n_distances=n_distances)
    require(fraction, dropout=dropout, input_dropout=input_dropout)
    # The number of prompts depends on that of the labels, the dimension nL.
    if type_inputs and tok2vec.has_dim("nL") is False:
        raise ValueError(Errors.SP020.format(encoder=tok2vec.name))
    build = partial(
        OffsetModule,
        classes=OffsetClasses(max_offset, offset_sides),
        type_inputs=type_inputs,
        lstm_width=lstm_width,
        hidden_width=hidden_width,
        places=PlaceEmbeddings(region_embedding, distance_embedding, n_distances),
        convolution=ConvolutionShape(conv_layers, conv_width, conv_types),
        dropout=dropout,
        input_dropout=input_dropout,
    )
    return build_span_model(tok2vec, build)

"""`spacy_spanner.Transformer.v1`: a Hugging Face encoder that a component owns.

Documents are encoded sentence by sentence where boundaries are known. The fast
tokenizer splits the tokens of the document, so that the alignment is exact. Pieces are
pooled to tokens on the device.
"""

from dataclasses import dataclass
from typing import Any, Callable, List, NamedTuple, Optional, Tuple, Union, cast

import numpy as np
import torch
from spacy.tokens import Doc
from spacy.util import registry
from thinc.api import Model
from thinc.types import Floats2d, Floats3d
from thinc.util import torch2xp
from torch import Tensor, nn

from ..errors import Errors
from ..layers.devices import device_of, to_module
from ..layers.doc_arrays import TypedVectors, split_rows
from ..layers.torch_shim import switch
from ..models.blocks.padded_rows import to_device
from ..settings import (
    Settings,
    at_least,
    expand,
    one_of,
    optional,
    or_auto,
    setting,
    text,
)
from ..spans.table import Ints
from .batch_size import PIECES_ON_CPU, pieces_at_once
from .fast.copies import Chosen
from .fast.processor import PRECISIONS
from .pooling import POOLINGS, pool_pieces
from .pretrained import PretrainedShim
from .segments import Segment, plan_segments
from .surroundings import Surroundings, own_tokens, with_neighbours
from .word_pieces import (
    N_SPECIAL,
    PieceBatch,
    PieceText,
    batch_segments,
    encode_words,
    join_pieces,
    owner_of_tokens,
    restore_order,
)

InT = List[Doc]
OutT = List[Floats2d]

# Settings that are stored with the weights, and replace those of the config.
STORED_SETTINGS = ("pooling", "context", "prompts", "max_pieces", "batch_pieces")


@dataclass(frozen=True)
class TransformerSettings(Settings):
    """How a pretrained transformer encodes documents.

    revision (Optional[str]): commit, tag or branch of a model on the hub. Pin the
        commit to always start from the same weights. Stored pipelines contain the
        weights and never load them again.
    pooling (str): how to combine the pieces of a token: "mean", "max" or "first".
        Tokens without pieces, such as white space, get zeros.
    layers (int): number of last layers to average.
    context (int): neighbouring sentences on each side to encode as context only: those
        of the document or, around a document that is a single sentence of a text, those
        that were stored with it.
    prompts (int): number of learned pieces per label that precede the text. The span
        model gets their outputs as vectors of the labels (see `TypedVectors`). Needs a
        span model that owns the encoder and reads them (`type_inputs` of span_offset).
    max_pieces (int): maximum input length, with prompts and special pieces; longer
        sentences are split into overlapping segments.
    batch_pieces (Union[int, str]): maximum number of padded pieces in a batch. With
        "auto", it is 4096 on a CPU, and on a GPU as many as fit into half of its free
        memory.
    gradient_checkpointing (bool): save memory in training at the cost of time.
    mixed_precision (bool): multiply matrices in bfloat16 in training, and in prediction
        if precision is "float32".
    precision (str): what to predict in: "float32", "bfloat16", "int8", or "auto" for
        bfloat16 on devices that are fast in it. Independent of training; may be changed
        later with `spacy_spanner.set_precision`.
    emulate_precision (bool): predict in this precision also on processors that have no
        fast instructions for it and are much slower than in float32.
    """

    revision: Optional[str] = setting(None, optional(text))
    pooling: str = setting("mean", one_of(POOLINGS))
    layers: int = setting(1, at_least(1))
    context: int = setting(0, at_least(0))
    prompts: int = setting(0, at_least(0))
    max_pieces: int = setting(512, at_least(N_SPECIAL + 1))
    batch_pieces: Union[int, str] = setting(PIECES_ON_CPU, or_auto(at_least(1)))
    gradient_checkpointing: bool = False
    mixed_precision: bool = False
    precision: str = setting("float32", one_of(PRECISIONS))
    emulate_precision: bool = False


def build_transformer(name: str, **chosen: Any) -> Model[InT, OutT]:
    """Build an encoder from a pretrained transformer.

    name (str): a packaged model ("minilm"), a local folder, or a name on a model hub.
    RAISES (ValueError): SP002 for a value out of range.
    RETURNS (Model): documents to token vectors.
    """
    settings = TransformerSettings(**chosen)
    shim = PretrainedShim(
        name,
        layers=settings.layers,
        mixed_precision=settings.mixed_precision,
        gradient_checkpointing=settings.gradient_checkpointing,
        revision=settings.revision,
        chosen=Chosen(settings.precision, settings.emulate_precision),
    )
    return Model(
        "transformer",
        forward,
        init=init,
        dims={"nO": None, **({"nL": None} if settings.prompts else {})},
        shims=[shim],
        attrs={key: getattr(settings, key) for key in STORED_SETTINGS},
    )


registry.architectures(
    "spacy_spanner.Transformer.v1", func=expand(build_transformer, TransformerSettings)
)


def init(model: Model, X: Optional[InT] = None, Y: Optional[OutT] = None) -> None:
    """Load the pretrained weights."""
    shim = get_shim(model)
    if model.has_dim("nL") is None:
        raise ValueError(Errors.SP016.format(name=shim.name))
    if shim.tokenizer is None:
        if model.attrs["prompts"]:
            shim.n_prompts = model.attrs["prompts"] * model.get_dim("nL")
        shim.load()
    model.set_dim("nO", shim.width)


def get_shim(model: Model) -> PretrainedShim:
    """RETURNS (PretrainedShim): the shim that holds encoder and tokenizer."""
    return cast(PretrainedShim, model.shims[0])


def forward(model: Model, docs: InT, is_train: bool) -> Tuple[OutT, Callable]:
    """Encode documents.

    RETURNS (Tuple[OutT, Callable]): vectors (token, width) of each document, with
        prompts as `TypedVectors`, and the callback for backpropagation.
    """
    with torch.set_grad_enabled(is_train):
        output = encode(get_shim(model), docs, model.attrs, is_train)
    vectors = split_rows(output.flat.detach(), [len(doc) for doc in docs])

    def backprop(d_vectors: OutT) -> InT:
        if output.flat.requires_grad:
            module = get_shim(model).module
            d_flat = to_module(model.ops.xp.concatenate(d_vectors), module)
            tensors, gradients = [output.flat], [d_flat.to(output.flat.dtype)]
            if isinstance(d_vectors, TypedVectors) and output.types is not None:
                tensors.append(output.types)
                gradients.append(to_module(d_vectors.types, module))
            torch.autograd.backward(tensors, gradients)
        return docs

    if output.types is None:
        return vectors, backprop
    types = cast(Floats3d, torch2xp(output.types.detach()))
    return TypedVectors(vectors, types, output.segment), backprop


class Encoded(NamedTuple):
    """The vectors of several documents.

    flat (Tensor): vectors of the concatenated documents. (token, width)
    types (Optional[Tensor]): vectors of the labels. (segment, label, width)
    segment (Ints): the segment of each token. (token,)
    """

    flat: Tensor
    types: Optional[Tensor]
    segment: Ints


def encode(shim: PretrainedShim, docs: InT, options: Any, is_train: bool) -> Encoded:
    """Encode the segments of documents in batches of similar length.

    RETURNS (Encoded): vectors in the order of the documents.
    """
    switch(shim.module, is_train)
    module = shim.trained_module() if is_train else shim.prediction_module()
    device = device_of(shim.module)
    read = [with_neighbours(doc, options["context"]) for doc in docs]
    text = split_text(shim, read)
    segments = all_segments(shim, read, text, options)
    most = pieces_at_once(shim, segments, options["batch_pieces"], is_train)
    batches = list(
        batch_segments(
            segments,
            text,
            shim.special,
            max_pieces=most,
            n_prompts=shim.n_prompts,
        )
    )
    flat = torch.zeros(text.token_start[-1], shim.width, device=device)
    segment = owner_of_tokens(segments)
    if not batches:
        return Encoded(flat[:0], None, segment)
    # bfloat16 has the range of float32, so that no gradient needs scaling. Around all
    # batches: autocast keeps the weights that it has cast until it ends.
    mixed = shim.mixed_precision and module is shim.module
    with torch.autocast(device.type, torch.bfloat16, enabled=mixed):
        parts = [
            _encode_batch(shim, module, batch, options["pooling"]) for batch in batches
        ]
    places = [np.concatenate([batch.token for batch in batches])]
    places += [own_tokens(read, text.token_start), restore_order(batches)]
    token, own, order = to_device(places, device)
    flat = flat.index_copy(0, token, torch.cat([vectors for vectors, _ in parts]))
    if len(own) < len(flat):
        flat = flat.index_select(0, own)
    if not shim.n_prompts:
        return Encoded(flat, None, segment)
    prompts = torch.cat([prompts for _, prompts in parts]).index_select(0, order)
    by_label = prompts.unflatten(1, (-1, options["prompts"])).mean(dim=2)
    return Encoded(flat, by_label, segment)


def split_text(shim: PretrainedShim, read: List[Surroundings]) -> PieceText:
    """RETURNS (PieceText): word pieces of documents and their neighbours."""
    words = [one.words for one in read]
    return join_pieces(encode_words(shim.tokenizer, words), list(map(len, words)))


def all_segments(
    shim: PretrainedShim, read: List[Surroundings], text: PieceText, options: Any
) -> List[Segment]:
    """RETURNS (List[Segment]): segments of all documents, in order, without those of
    neighbours.
    """
    max_pieces = min(options["max_pieces"], shim.max_pieces)
    room = max_pieces - N_SPECIAL - shim.n_prompts
    if room < 1:
        raise ValueError(
            Errors.SP017.format(
                name=shim.name, prompts=shim.n_prompts, max_pieces=max_pieces
            )
        )
    return [
        segment
        for index, one in enumerate(read)
        for segment in plan_segments(
            index,
            text.words_of(index),
            len(one.words),
            one.sentence_starts,
            context=options["context"],
            max_pieces=room,
        )
        if one.start <= segment.start < one.end
    ]


def _encode_batch(
    shim: PretrainedShim, module: nn.Module, batch: PieceBatch, pooling: str
) -> Tuple[Tensor, Tensor]:
    """Run the transformer on a batch and pool its pieces.

    module (nn.Module): the encoder, or its copy for prediction.
    RETURNS (Tuple[Tensor, Tensor]): vectors of the tokens (token, width), and of the
        prompts (batch, prompt, width).
    """
    # Rows of the flat output: the backward pass of indexing sorts, this one adds up.
    n_columns = shim.n_prompts + batch.ids.shape[1]
    place = batch.row * n_columns + shim.n_prompts + batch.column
    columns = (batch.ids, batch.mask, place, batch.local)
    ids, mask, rows, local = to_device(columns, device_of(shim.module))
    hidden = module(ids, mask)
    pieces = hidden.flatten(0, 1).index_select(0, rows).float()
    prompts = hidden[:, : shim.n_prompts].float()
    return pool_pieces(pieces, local, len(batch.token), pooling), prompts

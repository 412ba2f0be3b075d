"""`spacy_spanner.Transformer.v1`: a Hugging Face encoder that a component owns.

Documents are encoded sentence by sentence where boundaries are known. Word pieces come
from the fast tokenizer on the tokens of the document, so that alignment is exact, and
pieces are pooled to tokens before anything leaves the device.
"""

from itertools import pairwise
from typing import Any, Callable, List, NamedTuple, Optional, Sequence, Tuple, cast

import numpy as np
import torch
from spacy.tokens import Doc
from spacy.util import registry
from thinc.api import Model
from thinc.types import Floats2d
from thinc.util import torch2xp, xp2torch
from torch import Tensor

from ..layers.doc_arrays import sentence_starts
from ..nn.pooling import POOLINGS, pool_pieces
from ..settings import at_least, one_of, require
from ..types import Ints
from ..windows import batch_windows
from .pretrained import PretrainedShim, encode_words
from .segments import Segment, plan_segments

InT = List[Doc]
OutT = List[Floats2d]
N_SPECIAL = 2  # [CLS] and [SEP], or what stands for them


@registry.architectures("spacy_spanner.Transformer.v1")
def build_transformer(
    name: str,
    *,
    pooling: str = "mean",
    layers: int = 1,
    context: int = 0,
    max_pieces: int = 512,
    batch_pieces: int = 4096,
    gradient_checkpointing: bool = False,
    mixed_precision: bool = False,
) -> Model[InT, OutT]:
    """Build an encoder from a pretrained transformer.

    name (str): a packaged model ("minilm"), a local folder, or a name on a model hub.
    pooling (str): how pieces make a token: "mean", "max" or "first". Tokens without
        pieces, such as white space, get zeros.
    layers (int): how many of the last layers are averaged.
    context (int): neighbouring sentences on each side that are seen but not labelled.
    max_pieces (int): longest input, with special pieces; what is longer is strided.
    batch_pieces (int): padded pieces that are encoded at once in prediction.
    gradient_checkpointing (bool): less memory in training, for more time.
    mixed_precision (bool): multiply in bfloat16.
    RETURNS (Model): documents to token vectors.
    """
    require(one_of(POOLINGS), pooling=pooling)
    require(at_least(1), layers=layers, batch_pieces=batch_pieces)
    require(at_least(0), context=context)
    require(at_least(N_SPECIAL + 1), max_pieces=max_pieces)
    shim = PretrainedShim(
        name,
        layers=layers,
        mixed_precision=mixed_precision,
        gradient_checkpointing=gradient_checkpointing,
    )
    return Model(
        "transformer",
        forward,
        init=init,
        dims={"nO": None},
        shims=[shim],
        attrs={
            "pooling": pooling,
            "context": context,
            "max_pieces": max_pieces,
            "batch_pieces": batch_pieces,
        },
    )


def init(model: Model, X: Optional[InT] = None, Y: Optional[OutT] = None) -> None:
    """Load the pretrained weights."""
    shim = get_shim(model)
    if shim.tokenizer is None:
        shim.load()
    model.set_dim("nO", shim.width)


def get_shim(model: Model) -> PretrainedShim:
    """RETURNS (PretrainedShim): the holder of encoder and tokenizer."""
    return cast(PretrainedShim, model.shims[0])


def forward(model: Model, docs: InT, is_train: bool) -> Tuple[OutT, Callable]:
    """Encode documents.

    RETURNS (Tuple[OutT, Callable]): vectors (token, width) of each document.
    """
    lengths = [len(doc) for doc in docs]
    with torch.set_grad_enabled(is_train):
        flat = encode(get_shim(model), docs, model.attrs, is_train)
    vectors = cast(Floats2d, torch2xp(flat.detach()))

    def backprop(d_vectors: OutT) -> InT:
        if flat.requires_grad:
            gradient = model.ops.xp.concatenate(d_vectors)
            flat.backward(xp2torch(gradient).to(flat.dtype))
        return docs

    bounds = np.cumsum([0, *lengths]).tolist()
    return [vectors[a:b] for a, b in pairwise(bounds)], backprop


def encode(shim: PretrainedShim, docs: InT, options: Any, is_train: bool) -> Tensor:
    """Encode the segments of documents in groups of similar length.

    RETURNS (Tensor): vectors of the concatenated documents. (token, width)
    """
    module = shim.module.train(is_train)
    texts = split_texts(shim, docs)
    segments = [
        segment
        for index, (doc, text) in enumerate(zip(docs, texts))
        for segment in plan_segments(
            index,
            text.words,
            len(doc),
            sentence_starts(doc),
            context=options["context"],
            max_pieces=min(options["max_pieces"], shim.max_pieces) - N_SPECIAL,
        )
    ]
    offsets = np.cumsum([0, *map(len, docs)])
    sizes = np.asarray([segment.last - segment.first for segment in segments])
    groups = batch_windows(sizes + N_SPECIAL, options["batch_pieces"], power=1)
    tokens, vectors = [], []
    for group in groups:
        batch = make_batch([segments[index] for index in group], texts, offsets, shim)
        if batch.token.size:
            tokens.append(batch.token)
            vectors.append(_encode_batch(module, batch, shim, options["pooling"]))
    device = next(module.parameters()).device
    flat = torch.zeros(int(offsets[-1]), shim.width, device=device)
    if not tokens:
        return flat
    index = torch.as_tensor(np.concatenate(tokens), device=device)
    return flat.index_copy(0, index, torch.cat(vectors))


class PieceText(NamedTuple):
    """The word pieces of one document, and the token of each. Shapes: (piece,)"""

    ids: Ints
    words: Ints


def split_texts(shim: PretrainedShim, docs: InT) -> List[PieceText]:
    """RETURNS (List[PieceText]): word pieces of the documents' own tokens."""
    words = [[token.text for token in doc] for doc in docs]
    return [
        PieceText(
            np.asarray(encoding.ids, dtype=np.int64),
            np.asarray(encoding.word_ids, dtype=np.int64),
        )
        for encoding in encode_words(shim.tokenizer, words)
    ]


class PieceBatch(NamedTuple):
    """Padded segments, and the pieces whose vectors are wanted.

    ids (Ints), mask (Bools): (batch, piece)
    row, column (Ints): where the wanted pieces stand. Shape: (wanted,)
    local (Ints): the token of each wanted piece, as a row of `token`. Shape: (wanted,)
    token (Ints): these tokens in the concatenated documents. Shape: (token,)
    """

    ids: Ints
    mask: Any
    row: Ints
    column: Ints
    local: Ints
    token: Ints


def make_batch(
    segments: Sequence[Segment],
    texts: Sequence[PieceText],
    offsets: Ints,
    shim: PretrainedShim,
) -> PieceBatch:
    """Pad segments between special pieces, and find the pieces that they own."""
    longest = max(segment.last - segment.first for segment in segments) + N_SPECIAL
    ids = np.full((len(segments), longest), shim.pad_id, dtype=np.int64)
    lengths = np.zeros(len(segments), dtype=np.int64)
    rows, columns, tokens = [], [], []
    for row, (doc, first, last, start, end) in enumerate(segments):
        text = texts[doc]
        content = [shim.first_id, *text.ids[first:last], shim.last_id]
        lengths[row] = len(content)
        ids[row, : len(content)] = content
        own = np.clip(np.searchsorted(text.words, [start, end]), first, last)
        pieces = np.arange(*own)
        rows.append(np.full(len(pieces), row))
        columns.append(pieces - first + 1)  # behind the first special piece
        tokens.append(text.words[pieces] + offsets[doc])
    token, local = np.unique(np.concatenate(tokens), return_inverse=True)
    mask = np.arange(longest) < lengths[:, None]
    return PieceBatch(
        ids, mask, np.concatenate(rows), np.concatenate(columns), local, token
    )


def _encode_batch(
    module: Any, batch: PieceBatch, shim: PretrainedShim, pooling: str
) -> Tensor:
    """RETURNS (Tensor): vectors of the batch's tokens. (token, width)"""
    device = next(module.parameters()).device
    ids, mask, row, column, local = (
        torch.as_tensor(array, device=device) for array in batch[:5]
    )
    # bfloat16 has the range of float32, so that no gradient needs scaling.
    with torch.autocast(device.type, torch.bfloat16, enabled=shim.mixed_precision):
        hidden = module(ids, mask)
    return pool_pieces(hidden[row, column].float(), local, len(batch.token), pooling)

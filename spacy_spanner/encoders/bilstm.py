"""`spacy_spanner.BiLSTM.v1`: a bidirectional LSTM on the vectors of any encoder."""

from functools import partial
from typing import Callable, List, Tuple, cast

import numpy as np
import torch
from spacy.tokens import Doc
from spacy.util import registry
from thinc.api import Model, chain
from thinc.types import Floats2d
from thinc.util import torch2xp
from torch import Tensor, nn
from torch.nn.utils.rnn import pad_sequence

from ..layers.devices import to_module
from ..layers.torch_shim import LazyShim, get_shim, switch
from ..models.blocks.lstm import BiLSTM
from ..models.codec import WindowBatch
from ..settings import at_least, even, fraction, require
from ..spans.windows import batch_windows

InT = List[Floats2d]
# Maximum number of padded tokens in a batch.
BATCH_TOKENS = 16_384


@registry.architectures("spacy_spanner.BiLSTM.v1")
def build_bilstm_encoder(
    tok2vec: Model[List[Doc], List[Floats2d]],
    *,
    width: int = 200,
    depth: int = 1,
    dropout: float = 0.5,
) -> Model[List[Doc], List[Floats2d]]:
    """Add a bidirectional LSTM on top of an encoder.

    A document's vectors do not depend on the other documents in its batch.

    tok2vec (Model): the encoder, or a listener to a shared one.
    width (int): output size, both directions together; even.
    depth (int): number of layers.
    dropout (float): dropout rate on the input of every layer during training.
    RAISES (ValueError): SP002 for a value out of range.
    RETURNS (Model): documents to token vectors.
    """
    require(even, width=width)
    require(at_least(1), width=width, depth=depth)
    require(fraction, dropout=dropout)
    model: Model = tok2vec
    for _ in range(depth):
        model = chain(model, _bilstm_layer(width, dropout))
    return model


def _bilstm_layer(width: int, dropout: float) -> Model[InT, InT]:
    build = partial(_build_module, width=width, dropout=dropout)
    return Model(
        "bilstm",
        forward,
        init=init,
        dims={"nI": None, "nO": width},
        shims=[LazyShim(build)],
    )


def _build_module(n_in: int, _: int, *, width: int, dropout: float) -> nn.Module:
    return BiLSTM(n_in, width, dropout=dropout)


def init(model: Model, X: InT = None, Y: InT = None) -> None:  # type: ignore[assignment]
    """Build the LSTM for the input width."""
    if X:
        model.set_dim("nI", max(doc.shape[1] for doc in X))
    get_shim(model).create(model.get_dim("nI"), model.get_dim("nO"))


def forward(model: Model, X: InT, is_train: bool) -> Tuple[InT, Callable]:
    """Run the LSTM on each document. Shapes: (token, nI) to (token, nO)"""
    module = switch(get_shim(model).module, is_train)
    lengths = np.asarray([len(doc) for doc in X], dtype=np.int64)
    inputs = [to_module(doc, module).requires_grad_(is_train) for doc in X]
    outputs: List[Tensor] = [doc.new_zeros(0, model.get_dim("nO")) for doc in inputs]
    with torch.set_grad_enabled(is_train):
        for group in batch_windows(lengths, BATCH_TOKENS):
            group = group[lengths[group] > 0]
            if not len(group):
                continue
            padded = pad_sequence([inputs[i] for i in group], batch_first=True)
            vectors = module(WindowBatch(padded, lengths[group])).vectors
            for rows, index in zip(vectors, group.tolist()):
                outputs[index] = rows[: len(inputs[index])]

    def backprop(d_outputs: InT) -> InT:
        pairs = [(y, dy) for y, dy in zip(outputs, d_outputs) if len(y)]
        if pairs:
            gradients = [to_module(dy, module) for _, dy in pairs]
            torch.autograd.backward([y for y, _ in pairs], gradients)
        return [
            cast(Floats2d, torch2xp(torch.zeros_like(x) if x.grad is None else x.grad))
            for x in inputs
        ]

    return [cast(Floats2d, torch2xp(doc.detach())) for doc in outputs], backprop

"""Character-based token vectors, a feature of `spacy_spanner.Features.v1`."""

from functools import partial
from typing import Callable, List, Optional, Tuple

import numpy as np
import torch
from spacy.tokens import Doc
from thinc.api import Model
from thinc.types import Floats2d
from torch import Tensor, nn

from ..layers.devices import device_of, to_module
from ..layers.doc_arrays import split_rows
from ..layers.torch_shim import LazyShim, get_shim, switch
from ..models.blocks.lstm import read_rows
from ..models.blocks.padded_rows import to_device
from ..spans.table import Ints
from ..spans.windows import batch_windows

InT = List[Doc]
OutT = List[Floats2d]

# Size of the embedding table; the row of a character is its code point modulo this.
N_CHARACTERS = 1024
# Longer words are reduced to their beginning and end.
MAX_CHARACTERS = 64
# Maximum number of padded characters in a batch.
BATCH_CHARACTERS = 65_536


def character_vectors(character_width: int, width: int) -> Model[InT, OutT]:
    """Build the layer.

    character_width (int): size of a character's vector.
    width (int): size of a token's vector; even.
    RETURNS (Model): documents to token vectors.
    """
    build = partial(_build_module, character_width=character_width)
    return Model(
        "characters",
        forward,
        init=init,
        dims={"nO": width},
        shims=[LazyShim(build)],
    )


def _build_module(width: int, _: int, *, character_width: int) -> nn.Module:
    return CharacterLSTM(N_CHARACTERS, character_width, width)


def init(model: Model, X: Optional[InT] = None, Y: Optional[OutT] = None) -> None:
    """Build the LSTM with new weights."""
    get_shim(model).create(model.get_dim("nO"), 0)


def forward(model: Model, docs: InT, is_train: bool) -> Tuple[OutT, Callable]:
    """Encode each distinct word once. RETURNS: vectors (token, nO) of each document."""
    words: dict = {}
    rows = [words.setdefault(token.text, len(words)) for doc in docs for token in doc]
    module = switch(get_shim(model).module, is_train)
    with torch.set_grad_enabled(is_train):
        vectors = _encode_words(module, list(words), model.get_dim("nO"))
        (row,) = to_device([np.asarray(rows, dtype=np.int64)], vectors.device)
        # Not indexing, whose backward pass sorts.
        flat = vectors.index_select(0, row)

    def backprop(d_vectors: OutT) -> InT:
        if flat.requires_grad:
            flat.backward(to_module(model.ops.xp.concatenate(d_vectors), module))
        return docs

    return split_rows(flat.detach(), [len(doc) for doc in docs]), backprop


def _encode_words(module: nn.Module, words: List[str], width: int) -> Tensor:
    """RETURNS (Tensor): vectors in the order of the words. (word, width)"""
    device = device_of(module)
    if not words:
        return torch.zeros(0, width, device=device)
    codes, lengths = encode_characters(words)
    order = batch_windows(lengths, BATCH_CHARACTERS)
    longest = [int(lengths[group].max()) for group in order]
    columns = [codes[group, :size] for group, size in zip(order, longest)]
    *batches, row = to_device([*columns, np.argsort(np.concatenate(order))], device)
    parts = [module(one, lengths[group]) for one, group in zip(batches, order)]
    return torch.cat(parts).index_select(0, row)


def encode_characters(words: List[str]) -> Tuple[Ints, Ints]:
    """Convert words to rows of the embedding table.

    words (List[str]): non-empty words.
    RETURNS (Tuple[Ints, Ints]): rows, padded with 0 (word, character), and the number
        of characters of each word (word,).
    """
    half = MAX_CHARACTERS // 2
    words = [
        word if len(word) <= MAX_CHARACTERS else word[:half] + word[-half:]
        for word in words
    ]
    lengths = np.asarray([len(word) for word in words], dtype=np.int64)
    codes = np.zeros((len(words), int(lengths.max())), dtype=np.int64)
    flat = np.frombuffer("".join(words).encode("utf-32-le", "surrogatepass"), "<u4")
    codes[np.arange(codes.shape[1]) < lengths[:, None]] = flat % N_CHARACTERS
    return codes, lengths


class CharacterLSTM(nn.Module):
    """A bidirectional LSTM over the characters of each word, with max pooling."""

    def __init__(self, n_characters: int, n_in: int, n_out: int) -> None:
        """Build the layers.

        n_characters (int): rows of the embedding table.
        n_in (int): size of a character vector.
        n_out (int): size of a word vector, both directions together; even.
        """
        super().__init__()
        self.embedding = nn.Embedding(n_characters, n_in)
        self.lstm = nn.LSTM(n_in, n_out // 2, batch_first=True, bidirectional=True)

    def forward(self, characters: Tensor, lengths: Ints) -> Tensor:
        """Encode words.

        characters (Tensor): rows of the table; padding is ignored. (word, character)
        lengths (Ints): characters per word, at least one, on the host. (word,)
        RETURNS (Tensor): (word, n_out)
        """
        vectors = self.embedding(characters)
        read = read_rows(self.lstm, vectors, lengths, padding=-torch.inf)
        return read.amax(dim=1)

"""Transformers of the kind of BERT on word pieces without padding.

The layers are those of Hugging Face. Only the products of matrices are in another
precision; sums, normalization and embeddings stay in float32. Attention alone needs
padded rows; all else runs on the concatenated pieces of the segments.
"""

from math import sqrt
from typing import Any, List, NamedTuple, Optional

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from .linear import convert_linear

# Kinds of transformers with the same layers.
KINDS = ("bert", "camembert", "roberta", "xlm-roberta")
# From this number of pieces on, torch's own attention is faster.
LONG = 192


class Places(NamedTuple):
    """Where the pieces of a padded batch are.

    source (Optional[Tensor]): for each place of the flattened batch, its piece in the
        concatenation; any piece for padding. (place,)
    bias (Optional[Tensor]): 0 for pieces, minus infinity for padding.
        (batch, 1, 1, piece)
    target (Optional[Tensor]): the place of each piece in the flattened batch. (piece,)
    shape (torch.Size): batch, piece.

    All three are None for a batch without padding.
    """

    source: Optional[Tensor]
    bias: Optional[Tensor]
    target: Optional[Tensor]
    shape: torch.Size


def find_places(mask: Tensor) -> Places:
    """RETURNS (Places): the places of the pieces.

    mask (Tensor): True for pieces; each row begins with them. (batch, piece)
    """
    if bool(mask.all()):
        return Places(None, None, None, mask.shape)
    target = mask.flatten().nonzero()[:, 0]
    source = torch.zeros(mask.numel(), dtype=torch.int64, device=mask.device)
    source[target] = torch.arange(len(target), device=mask.device)
    bias = torch.zeros(mask.shape, device=mask.device)
    bias.masked_fill_(~mask, -torch.inf)
    return Places(source, bias[:, None, None], target, mask.shape)


def attend(inputs: Tensor, places: Places, n_heads: int) -> Tensor:
    """Let the pieces of each segment attend to each other.

    inputs (Tensor): queries, keys and values. (piece, 3 * width)
    RETURNS (Tensor): (piece, width)
    """
    rows, longest = places.shape
    if places.source is not None:
        inputs = inputs.index_select(0, places.source)
    heads = inputs.reshape(rows, longest, 3, n_heads, -1).permute(2, 0, 3, 1, 4)
    queries, keys, values = heads.unbind(0)  # (batch, head, piece, size) each
    bias = None if places.bias is None else places.bias.to(inputs.dtype)
    if longest < LONG:
        scores = queries @ (keys / sqrt(keys.shape[-1])).transpose(-1, -2)
        scores = scores if bias is None else scores.add_(bias)
        read = scores.softmax(dim=-1) @ values
    else:
        bias = None if bias is None else bias.expand(-1, n_heads, longest, -1)
        read = F.scaled_dot_product_attention(queries, keys, values, attn_mask=bias)
    outputs = read.transpose(1, 2).reshape(rows * longest, -1)
    # Faster than indexing.
    return outputs if places.target is None else outputs.index_select(0, places.target)


class PackedLayer(nn.Module):
    """A layer of the transformer."""

    def __init__(self, layer: Any, precision: str) -> None:
        """Convert the weights of a layer.

        layer (BertLayer): of Hugging Face.
        precision (str): "bfloat16" or "int8".
        """
        super().__init__()
        attention = layer.attention.self
        self.n_heads = int(attention.num_attention_heads)
        projections = [attention.query, attention.key, attention.value]
        self.projections = convert_linear(projections, precision)
        self.read = convert_linear([layer.attention.output.dense], precision)
        self.read_norm = layer.attention.output.LayerNorm
        self.inner = convert_linear([layer.intermediate.dense], precision)
        self.activation = layer.intermediate.intermediate_act_fn
        self.outer = convert_linear([layer.output.dense], precision)
        self.outer_norm = layer.output.LayerNorm

    def forward(self, pieces: Tensor, places: Places) -> Tensor:
        """RETURNS (Tensor): (piece, width)"""
        read = attend(self.projections(pieces), places, self.n_heads)
        pieces = self.read_norm(pieces + self.read(read))
        inner = self.activation(self.inner(pieces))
        return self.outer_norm(pieces + self.outer(inner))


class PackedTransformer(nn.Module):
    """Encode word pieces as the mean of the last layers."""

    def __init__(
        self, transformer: Any, *, layers: int, first_position: int, precision: str
    ) -> None:
        """Convert the weights of a transformer; embeddings are shared with it.

        transformer (BertModel): of Hugging Face, one of `KINDS`.
        layers (int): number of last layers to average.
        first_position (int): position of the first piece.
        precision (str): "bfloat16" or "int8".
        """
        super().__init__()
        self.embeddings = transformer.embeddings
        self.layers = nn.ModuleList(
            PackedLayer(layer, precision) for layer in transformer.encoder.layer
        )
        self.n_averaged = layers
        self.first_position = first_position

    def forward(self, ids: Tensor, mask: Tensor) -> Tensor:
        """Encode segments.

        ids (Tensor): piece ids. (batch, piece)
        mask (Tensor): True for real pieces, which come first. (batch, piece)
        RETURNS (Tensor): zeros for padding. (batch, piece, width)
        """
        places = find_places(mask)
        position = torch.arange(ids.shape[1], device=ids.device) + self.first_position
        position, ids = position.expand(ids.shape).flatten(), ids.flatten()
        if places.target is not None:
            position, ids = position[places.target], ids[places.target]
        pieces = self.embeddings(
            input_ids=ids[None],
            token_type_ids=torch.zeros_like(ids)[None],
            position_ids=position[None],
        )[0]
        states: List[Tensor] = [pieces]
        for layer in self.layers:
            states = [*states, layer(states[-1], places)][-self.n_averaged :]
        encoded = states[0] if len(states) == 1 else torch.stack(states).mean(dim=0)
        if places.target is not None:
            padded = encoded.new_zeros(mask.numel(), encoded.shape[1])
            encoded = padded.index_copy_(0, places.target, encoded)
        return encoded.unflatten(0, mask.shape)


def can_be_packed(transformer: Any) -> bool:
    """RETURNS (bool): whether a transformer is of the kind of BERT."""
    config = transformer.config
    absolute = getattr(config, "position_embedding_type", None) in (None, "absolute")
    causal = getattr(config, "is_decoder", False)
    return config.model_type in KINDS and absolute and not causal

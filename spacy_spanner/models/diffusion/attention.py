"""A layer of the denoiser: spans attend to each other, and to the tokens."""

from typing import Optional

from torch import Tensor, nn
from torch.nn import functional as F

from .noise import TokenSpans
from .tokens import IMPOSSIBLE, N_DISTANCES, Care, KeysValues


class Attention(nn.Module):
    """Multi-head attention whose keys and values are computed separately."""

    def __init__(self, width: int, n_heads: int) -> None:
        """width (int): size of all vectors; a multiple of `n_heads`."""
        super().__init__()
        self.n_heads = n_heads
        self.query = nn.Linear(width, width)
        self.key = nn.Linear(width, width)
        self.value = nn.Linear(width, width)
        self.output = nn.Linear(width, width)

    def keys_values(self, vectors: Tensor) -> KeysValues:
        """RETURNS (KeysValues): each (batch, head, position, width / head)"""
        return self._split(self.key(vectors)), self._split(self.value(vectors))

    def forward(
        self, x: Tensor, keys_values: KeysValues, bias: Optional[Tensor] = None
    ) -> Tensor:
        """Attend.

        x (Tensor): (batch, span, width)
        keys_values (KeysValues): see `keys_values`.
        bias (Optional[Tensor]): added to the scores. Shape:
            (batch, head, span, position)
        RETURNS (Tensor): (batch, span, width)
        """
        keys, values = keys_values
        heads = F.scaled_dot_product_attention(
            self._split(self.query(x)), keys, values, attn_mask=bias
        )  # (batch, head, span, width / head)
        return self.output(heads.transpose(1, 2).reshape(x.shape))

    def _split(self, vectors: Tensor) -> Tensor:
        batch, position, width = vectors.shape
        heads = vectors.view(batch, position, self.n_heads, width // self.n_heads)
        return heads.transpose(1, 2)


class DistanceBias(nn.Module):
    """The bias of each head for tokens at a distance from the boundaries."""

    def __init__(self, n_heads: int) -> None:
        """n_heads (int): heads of the attention. At first, all biases are 0."""
        super().__init__()
        self.start = nn.Embedding(N_DISTANCES, n_heads)
        self.last = nn.Embedding(N_DISTANCES, n_heads)
        nn.init.zeros_(self.start.weight)
        nn.init.zeros_(self.last.weight)

    def care(self, distances: Tensor) -> Care:
        """Look up all pairs of tokens, once for all windows and denoising steps.

        distances (Tensor): see `Tables`. Shape: (boundary, token)
        RETURNS (Care): for a start and for a last token, all heads and tokens in a row.
        """
        start, last = self.start(distances), self.last(distances)
        return start.transpose(1, 2).flatten(1), last.transpose(1, 2).flatten(1)

    def forward(self, care: Care, spans: TokenSpans, mask: Tensor) -> Tensor:
        """Select the biases for the boundaries of each span.

        care (Care): see `care`.
        spans (TokenSpans): (batch, span)
        mask (Tensor): True for real tokens. Shape: (batch, token)
        RETURNS (Tensor): the biases, low where padded. (batch, head, span, token)
        """
        start, last = care
        bias = start.index_select(0, spans.start.flatten())
        bias = bias + last.index_select(0, spans.last.flatten())
        bias = bias.view(*spans.start.shape, -1, mask.shape[1])
        return bias.masked_fill_(~mask[:, None, None, :], IMPOSSIBLE).transpose(1, 2)


class DenoiserLayer(nn.Module):
    """Self attention of the spans, cross attention to the tokens, a feed-forward map.

    Each part normalises its input and adds its output to it.
    """

    def __init__(
        self,
        width: int,
        *,
        n_heads: int,
        ffn_width: int,
        dropout: float,
        self_attention: bool,
        cross_attention: bool,
        distances: bool = True,
    ) -> None:
        """Build the layer.

        width (int): size of the vectors of spans and tokens.
        n_heads (int): heads of both attentions.
        ffn_width (int): hidden size of the feed-forward map.
        dropout (float): rate on the output of each part.
        self_attention, cross_attention (bool): whether the layer has these parts.
        distances (bool): whether cross attention counts the distance of tokens.
        """
        super().__init__()
        self.among_spans = Attention(width, n_heads) if self_attention else None
        self.to_tokens = Attention(width, n_heads) if cross_attention else None
        by_distance = cross_attention and distances
        self.bias = DistanceBias(n_heads) if by_distance else None
        self.span_norm = nn.LayerNorm(width) if self_attention else None
        self.token_norm = nn.LayerNorm(width) if cross_attention else None
        self.feed_forward = nn.Sequential(
            nn.LayerNorm(width),
            nn.Linear(width, ffn_width),
            nn.GELU(),
            nn.Dropout(dropout),
            nn.Linear(ffn_width, width),
        )
        self.dropout = nn.Dropout(dropout)

    def keys_values(self, tokens: Tensor) -> Optional[KeysValues]:
        """RETURNS (Optional[KeysValues]): of the tokens, for cross attention."""
        return None if self.to_tokens is None else self.to_tokens.keys_values(tokens)

    def care(self, distances: Tensor) -> Optional[Care]:
        """RETURNS (Optional[Care]): see `DistanceBias`, for cross attention."""
        return None if self.bias is None else self.bias.care(distances)

    def forward(
        self,
        x: Tensor,
        keys_values: Optional[KeysValues],
        care: Optional[Care],
        spans: TokenSpans,
        mask: Tensor,
    ) -> Tensor:
        """Refine the vectors of spans.

        x (Tensor): (batch, span, width)
        keys_values (Optional[KeysValues]): see `keys_values`.
        care (Optional[Care]): see `care`.
        spans (TokenSpans): the noisy spans. Shape: (batch, span)
        mask (Tensor): True for real tokens. Shape: (batch, token)
        RETURNS (Tensor): (batch, span, width)
        """
        if self.among_spans is not None and self.span_norm is not None:
            y = self.span_norm(x)
            y = self.among_spans(y, self.among_spans.keys_values(y))
            x = x + self.dropout(y)
        if self.to_tokens is not None and self.token_norm is not None:
            assert keys_values is not None  # made by this layer
            bias = mask[:, None, None]
            if self.bias is not None and care is not None:
                bias = self.bias(care, spans, mask)
            x = x + self.dropout(self.to_tokens(self.token_norm(x), keys_values, bias))
        return x + self.dropout(self.feed_forward(x))

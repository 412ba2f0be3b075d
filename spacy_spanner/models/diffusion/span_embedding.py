"""The vectors of noisy spans before the layers of the denoiser."""

from typing import Optional, Tuple

from torch import Tensor, nn
from torch.nn import functional as F

from .noise import TokenSpans
from .tokens import SINUSOIDS, SpanPooling, TokenMemory, sinusoids


class SpanEmbedding(nn.Module):
    """Embeds noisy spans by their tokens, and by width or position."""

    def __init__(
        self, n_in: int, width: int, pooling: str, *, by_width: bool, by_position: bool
    ) -> None:
        """Build the layers.

        n_in (int): size of the token vectors.
        width (int): size of the vectors of spans.
        pooling (str): one of `tokens.POOLINGS`.
        by_width, by_position (bool): whether widths, and both boundaries are embedded.
        """
        super().__init__()
        self.pooling = SpanPooling(n_in, width, pooling)
        self.width: Optional[nn.Linear] = None
        self.position: Optional[nn.Linear] = None
        if by_width:
            self.width = nn.Linear(SINUSOIDS, width, bias=False)
        if by_position:
            self.position = nn.Linear(SINUSOIDS, 2 * width, bias=False)

    def tables(self, position: Tensor) -> Tuple[Optional[Tensor], Optional[Tensor]]:
        """Embed all widths and positions, of which there are fewer than spans.

        position (Tensor): 0, 1, ... Shape: (token,)
        RETURNS (Tuple[Optional[Tensor], Optional[Tensor]]): vectors of widths (token,
            width), and of positions as first and as last token (token, 2 × width).
        """
        waves = sinusoids(position, SINUSOIDS)
        width = None if self.width is None else self.width(waves)
        return width, None if self.position is None else self.position(waves)

    def forward(self, memory: TokenMemory, spans: TokenSpans) -> Tensor:
        """Embed noisy spans.

        memory (TokenMemory): the encoded windows.
        spans (TokenSpans): (batch, span)
        RETURNS (Tensor): (batch, span, width)
        """
        further = spans.last - spans.start
        x, tables = memory.spans.of(spans, further), memory.tables
        if tables.widths is not None:
            x = x + F.embedding(further, tables.widths)
        if tables.positions is not None:
            as_start, as_last = tables.positions.chunk(2, dim=-1)
            x = x + F.embedding(spans.start, as_start)
            x = x + F.embedding(spans.last, as_last)
        return x

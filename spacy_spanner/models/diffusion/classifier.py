"""The classifier of proposals, in two variants."""

from typing import Optional

from torch import Tensor, nn

from .noise import TokenSpans
from .tokens import SpanFeatures, SpanPooling


class DenoisedClassifier(nn.Module):
    """Reads the denoised span only, so that the probabilities of a span do not depend
    on the noise that it came from.
    """

    def __init__(
        self, n_in: int, width: int, n_labels: int, *, n_widths: int, dropout: float
    ) -> None:
        """Build the layers.

        n_in (int): size of the token vectors.
        width (int): hidden size.
        n_labels (int): number of labels; "no entity" is added as class 0.
        n_widths (int): spans of this many tokens or more share one embedding.
        dropout (float): rate on the hidden layer.
        """
        super().__init__()
        self.pooling = SpanPooling(n_in, width, "both")
        self.width_embedding = nn.Embedding(n_widths, width)
        self.output = nn.Sequential(
            nn.GELU(), nn.Dropout(dropout), nn.Linear(width, n_labels + 1)
        )

    def features(self, vectors: Tensor) -> Optional[SpanFeatures]:
        """RETURNS (Optional[SpanFeatures]): projections from which spans are pooled."""
        return self.pooling(vectors)

    def forward(
        self,
        features: Optional[SpanFeatures],
        state: Optional[Tensor],
        spans: TokenSpans,
    ) -> Tensor:
        """RETURNS (Tensor): (batch, span, class)"""
        assert features is not None  # for the type checker: made by this classifier
        width = (spans.last - spans.start).clamp(
            max=self.width_embedding.num_embeddings - 1
        )
        return self.output(features.of(spans) + self.width_embedding(width))


class NoisyClassifier(nn.Module):
    """Reads the denoiser's vector of the noisy span, as in the paper."""

    def __init__(self, width: int, n_labels: int, *, dropout: float) -> None:
        """width (int): size of the denoiser's vectors. Others as above."""
        super().__init__()
        self.output = nn.Sequential(
            nn.Linear(width, width),
            nn.GELU(),
            nn.Dropout(dropout),
            nn.Linear(width, n_labels + 1),
        )

    def features(self, vectors: Tensor) -> Optional[SpanFeatures]:
        """RETURNS (Optional[SpanFeatures]): None, because only the state is read."""
        return None

    def forward(
        self,
        features: Optional[SpanFeatures],
        state: Optional[Tensor],
        spans: TokenSpans,
    ) -> Tensor:
        """RETURNS (Tensor): (batch, span, class)"""
        assert state is not None  # for the type checker: the denoiser's
        return self.output(state)

"""Features of tokens and timesteps, computed once for all denoising steps."""

from typing import Any, Callable, List, NamedTuple, Optional, Tuple

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from ...spans.table import Floats
from ..blocks.constants import constant
from ..blocks.padded_rows import at_tokens, first_rows
from .noise import TokenSpans

# The wavelengths of sinusoidal embeddings go up to 2π times this (Vaswani et al. 2017).
LONGEST_WAVE = 10_000.0

POOLINGS = ("both", "boundaries", "mean")

SINUSOIDS = 64  # size of the embeddings of positions and timesteps
REACH = 32  # tokens further from a boundary count as this far
N_DISTANCES = 2 * REACH + 1
IMPOSSIBLE = -1e4  # score of tokens that do not exist

KeysValues = Tuple[Tensor, Tensor]
# For a start and for a last token: the bias of each head for the tokens around it.
# Shapes: (boundary, head × token)
Care = Tuple[Tensor, Tensor]


class PointerKeys(NamedTuple):
    """The tokens as a pointer compares spans with them.

    vectors (Tensor): of the tokens, zero where padded. Shape: (batch, width, token)
    constant (Tensor): the part of each token's score that is the same for all spans,
        low where padded. Shape: (batch, 1, token)
    """

    vectors: Tensor
    constant: Tensor


def sinusoids(numbers: Tensor, width: int) -> Tensor:
    """Embed numbers, such as positions and timesteps.

    numbers (Tensor): any shape (...)
    width (int): an even number.
    RETURNS (Tensor): sines, then cosines of falling frequency. Shape: (..., width)
    """
    frequencies = constant(_frequencies, width // 2, device=numbers.device)
    angle = numbers[..., None] * frequencies
    return torch.cat([angle.sin(), angle.cos()], dim=-1)


def _frequencies(count: int) -> Floats:
    """RETURNS (Floats): from 1 down to almost 1 / LONGEST_WAVE. Shape: (count,)"""
    exponent = np.arange(count, dtype=np.float32) / count
    return np.power(np.float32(LONGEST_WAVE), -exponent)


class Tables(NamedTuple):
    """Features that depend on the positions of tokens only.

    distances (Tensor): from each token to all, from 0 to 2 REACH; REACH to itself.
        Shape: (boundary, token)
    widths (Optional[Tensor]): vectors of the widths of spans. Shape: (token, width)
    positions (Optional[Tensor]): vectors of positions as first, and as last token.
        Shape: (token, 2 × width)
    care (List[Optional[Care]]): see `attention.DistanceBias`, by layer; None without
        cross attention or distances.
    """

    distances: Tensor
    widths: Optional[Tensor]
    positions: Optional[Tensor]
    care: List[Optional[Care]]


def distance_table(position: Tensor) -> Tensor:
    """RETURNS (Tensor): REACH at a boundary itself, less to the left of it.
    Shape: (boundary, token)

    position (Tensor): 0, 1, ... Shape: (token,)
    """
    return (position - position[:, None]).clamp(-REACH, REACH) + REACH


class Moments(NamedTuple):
    """Features that depend on timesteps only.

    vector (Tensor): their embeddings. Shape: (batch, width)
    start, last (Tensor): what each pointer adds to the scores of tokens, by the noisy
        boundary. Shapes: (batch, boundary, token)
    """

    vector: Tensor
    start: Tensor
    last: Tensor

    def at(self, row: int) -> "Moments":
        """RETURNS (Moments): one timestep, which broadcasts over windows."""
        return Moments(*(column[row : row + 1] for column in self))


class SpanFeatures(NamedTuple):
    """Projections of the tokens, from which the vectors of spans are pooled.

    left, right (Tensor): columns for a first and for a last token: its projection as a
        boundary, then a running sum of the inner projections: the negative sum of all
        tokens before the first, and the sum of all up to the last. Either may be
        missing. Shapes: (batch, token, part × width)
    n_boundary (int): number of columns for the boundaries.
    """

    left: Tensor
    right: Tensor
    n_boundary: int

    def of(self, spans: TokenSpans, further: Optional[Tensor] = None) -> Tensor:
        """Add the projections of both boundary tokens and of the mean over all tokens.

        spans (TokenSpans): both ends inclusive. Shape: (batch, span)
        further (Optional[Tensor]): how far the last token is from the first, if known.
        RETURNS (Tensor): (batch, span, width)
        """
        first = first_rows(self.left)
        parts = at_tokens(self.left, spans.start, first)
        parts = parts + at_tokens(self.right, spans.last, first)
        boundaries, total = parts.tensor_split([self.n_boundary], dim=-1)
        if not total.shape[-1]:
            return boundaries
        further = spans.last - spans.start if further is None else further
        mean = total / (further + 1)[:, :, None]
        return boundaries + mean if self.n_boundary else mean


class SpanPooling(nn.Module):
    """Token vectors to projections from which any number of spans can be pooled."""

    def __init__(self, n_in: int, n_out: int, pooling: str) -> None:
        """Build the projections.

        pooling (str): one of `POOLINGS`.
        """
        super().__init__()
        boundaries, mean = pooling != "mean", pooling != "boundaries"
        self.start = nn.Linear(n_in, n_out) if boundaries else None
        self.last = nn.Linear(n_in, n_out) if boundaries else None
        self.inside = nn.Linear(n_in, n_out) if mean else None

    def forward(self, vectors: Tensor) -> SpanFeatures:
        """vectors (Tensor): (batch, token, n_in). RETURNS (SpanFeatures)"""
        left, right, n_boundary = [], [], 0
        if self.start is not None and self.last is not None:
            left, right = [self.start(vectors)], [self.last(vectors)]
            n_boundary = self.start.out_features
        if self.inside is not None:
            # No span contains padding, so the sums need no mask.
            sums = self.inside(vectors).cumsum(dim=1)
            left, right = [*left, -F.pad(sums[:, :-1], (0, 0, 1, 0))], [*right, sums]
        return SpanFeatures(torch.cat(left, -1), torch.cat(right, -1), n_boundary)


class TokenMemory(NamedTuple):
    """An encoded batch of windows.

    mask (Tensor): True for real tokens. Shape: (batch, token)
    spans (SpanFeatures): projections from which noisy spans are pooled.
    classes (Optional[SpanFeatures]): projections for classifying denoised spans.
    layers (List[Optional[KeysValues]]): keys and values of cross attention by layer,
        None without it. Shapes: (batch, head, token, width)
    start_keys, last_keys (PointerKeys): keys of the two pointers.
    tables (Tables): the same for all windows.
    """

    mask: Tensor
    spans: SpanFeatures
    classes: Optional[SpanFeatures]
    layers: List[Optional[KeysValues]]
    start_keys: PointerKeys
    last_keys: PointerKeys
    tables: Tables

    def take(self, windows: slice) -> "TokenMemory":
        """RETURNS (TokenMemory): some of the windows."""
        return _map_tensors(self, lambda tensor: tensor[windows])

    def repeat(self, times: int) -> "TokenMemory":
        """RETURNS (TokenMemory): every window this many times in a row."""
        if times == 1:
            return self
        return _map_tensors(self, lambda t: t.repeat_interleave(times, dim=0))


def _map_tensors(value: Any, change: Callable[[Tensor], Tensor]) -> Any:
    """Change every tensor of windows in nested tuples and lists."""
    if isinstance(value, Tensor):
        return change(value)
    if value is None or isinstance(value, (int, Tables)):
        return value
    parts = [_map_tensors(part, change) for part in value]
    return type(value)(*parts) if hasattr(value, "_fields") else type(value)(parts)

"""A bidirectional LSTM whose output does not depend on padding."""

from typing import List, Tuple

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.nn.utils.rnn import PackedSequence

from ...spans.table import Ints
from ..codec import WindowBatch
from .padded_rows import at_tokens, to_device

# Sizes up to this one are not rounded, so that short texts lose no time.
EXACT = 32
# Rounded sizes between a power of two and the next one.
SIZES_PER_OCTAVE = 16


class BiLSTM(nn.Module):
    """One bidirectional layer over the tokens of each window."""

    def __init__(self, n_in: int, n_out: int, *, dropout: float) -> None:
        """Build the layer; forget gates start open (bias 1).

        n_in (int): size of the token vectors.
        n_out (int): size of the output, both directions together; must be even.
        dropout (float): rate on the token vectors.
        """
        super().__init__()
        self.dropout = nn.Dropout(dropout)
        self.lstm = nn.LSTM(n_in, n_out // 2, batch_first=True, bidirectional=True)
        with torch.no_grad():
            for name, bias in self.lstm.named_parameters():
                if name.startswith("bias"):
                    # Both bias vectors of torch add up; gates: input, forget, ...
                    bias.zero_()
                    if name.startswith("bias_ih"):
                        bias[n_out // 2 : n_out] = 1.0

    def forward(self, batch: WindowBatch) -> WindowBatch:
        """RETURNS (WindowBatch): vectors of shape (batch, token, n_out)"""
        vectors = read_rows(self.lstm, self.dropout(batch.vectors), batch.lengths)
        return batch._replace(vectors=vectors)


def optional_lstm(
    n_in: int, n_out: int, *, dropout: float, n_layers: int = 1
) -> nn.Module:
    """RETURNS (nn.Module): a BiLSTM or a stack of several, or for a width of 0 the
    identity.
    """
    if not n_out:
        return nn.Identity()
    layer = BiLSTM(n_in, n_out, dropout=dropout)
    if n_layers == 1:
        return layer
    more = (BiLSTM(n_out, n_out, dropout=dropout) for _ in range(n_layers - 1))
    return nn.Sequential(layer, *more)


def read_rows(
    lstm: nn.LSTM, vectors: Tensor, lengths: Ints, *, padding: float = 0.0
) -> Tensor:
    """Let a bidirectional LSTM read rows of different lengths.

    On a CPU, oneDNN trains three times as fast as torch's own loop over the tokens, but
    backwards it would read the padding of a row first. So rows are reversed for it. If
    most of the batch is padding, rows of similar length are read together. In
    prediction, rows of the same length are read as they are.

    oneDNN compiles code for each size, and keeps the last thousand of them: hundreds of
    MB in a process that reads documents of all lengths. So sizes are rounded up in
    prediction, which leaves it few to compile.

    vectors (Tensor): (batch, token, width)
    lengths (Ints): of each row, on the host. Shape: (batch,)
    padding (float): value after the end of a row.
    RETURNS (Tensor): (batch, token, n_out)
    """
    n_rows, n_tokens = vectors.shape[:2]
    by_size = vectors.is_cpu and torch.backends.mkldnn.is_available()
    sizes = round_up(n_rows), round_up(n_tokens)
    as_it_is = not by_size or sizes == (n_rows, n_tokens)
    if as_it_is and not torch.is_grad_enabled() and (lengths == n_tokens).all():
        whole: Tensor = lstm(vectors)[0]  # such as one sentence
        return whole
    if not by_size:
        return _read_packed(lstm, vectors, lengths, padding)
    if n_rows * n_tokens > 2 * int(lengths.sum()):
        return _read_by_length(lstm, vectors, lengths, padding)
    return _read_sized(lstm, vectors, lengths, padding)


def _read_by_length(
    lstm: nn.LSTM, vectors: Tensor, lengths: Ints, padding: float
) -> Tensor:
    """Read rows together of which the longest is at most twice as long as the shortest.

    RETURNS (Tensor): (batch, token, n_out)
    """
    n_tokens = vectors.shape[1]
    octave = np.frexp(n_tokens / np.maximum(lengths, 1))[1]
    order = np.argsort(octave, kind="stable")
    parts = []
    for rows in np.split(order, np.flatnonzero(np.diff(octave[order])) + 1):
        longest = max(1, int(lengths[rows].max()))
        some = vectors[torch.as_tensor(rows), :longest]
        read = _read_sized(lstm, some, lengths[rows], padding)
        parts.append(F.pad(read, (0, 0, 0, n_tokens - longest), value=padding))
    return torch.cat(parts)[torch.as_tensor(np.argsort(order))]


def _read_sized(
    lstm: nn.LSTM, vectors: Tensor, lengths: Ints, padding: float
) -> Tensor:
    """RETURNS (Tensor): (batch, token, n_out), in prediction read with one of few
    sizes.
    """
    n_rows, n_tokens = vectors.shape[:2]
    if not torch.is_grad_enabled():
        sizes = round_up(n_rows), round_up(n_tokens)
        vectors, lengths = _extend(vectors, lengths, sizes)
    return _read_padded(lstm, vectors, lengths, padding)[:n_rows, :n_tokens]


def round_up(size: int) -> int:
    """RETURNS (int): one of few sizes, at least this one and at most 1/16 more."""
    if size <= EXACT:
        return size
    step = 2 ** ((size - 1).bit_length() - 1) // SIZES_PER_OCTAVE
    return -(-size // step) * step


def _extend(
    vectors: Tensor, lengths: Ints, sizes: Tuple[int, int]
) -> Tuple[Tensor, Ints]:
    """RETURNS (Tuple[Tensor, Ints]): with empty rows and padding up to these sizes."""
    rows, tokens = sizes[0] - vectors.shape[0], sizes[1] - vectors.shape[1]
    return F.pad(vectors, (0, 0, 0, tokens, 0, rows)), np.pad(lengths, (0, rows))


def _read_padded(
    lstm: nn.LSTM, vectors: Tensor, lengths: Ints, padding: float
) -> Tensor:
    """RETURNS (Tensor): (batch, token, n_out), from two LSTMs of one direction each."""
    place = torch.arange(vectors.shape[1])
    mirrored = torch.as_tensor(lengths)[:, None] - 1 - place
    outside = mirrored < 0
    turned = torch.where(outside, place, mirrored)  # its own inverse
    weights_there, weights_back = lstm.all_weights
    there = _read_one_way(lstm, vectors, weights_there)
    back = _read_one_way(lstm, at_tokens(vectors, turned), weights_back)
    read = torch.cat([there, at_tokens(back, turned)], dim=-1)
    return read.masked_fill(outside[:, :, None], padding)


def _read_one_way(
    lstm: nn.LSTM, vectors: Tensor, weights: List[nn.Parameter]
) -> Tensor:
    start = vectors.new_zeros(1, len(vectors), lstm.hidden_size)
    read: Tensor = torch.lstm(
        vectors,
        (start, start),
        list(weights),
        has_biases=True,
        num_layers=1,
        dropout=0.0,
        train=lstm.training,
        bidirectional=False,
        batch_first=True,
    )[0]
    return read


def _read_packed(
    lstm: nn.LSTM, vectors: Tensor, lengths: Ints, padding: float
) -> Tensor:
    """Read the rows packed. Torch's own functions for that copy the tokens of each
    size apart, and the order of the rows to the host.

    RETURNS (Tensor): (batch, token, n_out)
    """
    n_rows, n_tokens = vectors.shape[:2]
    columns, sizes = plan_packing(lengths, n_tokens)
    padded, packed = to_device(columns, vectors.device)
    data = vectors.flatten(0, 1).index_select(0, padded)
    read = lstm(PackedSequence(data, torch.as_tensor(sizes)))[0].data
    # One more row, which padding reads.
    read = F.pad(read, (0, 0, 0, 1), value=padding)
    return read.index_select(0, packed).view(n_rows, n_tokens, -1)


def plan_packing(lengths: Ints, n_tokens: int) -> Tuple[List[Ints], Ints]:
    """Plan a packed sequence: the first tokens of all rows, then the second ones.

    lengths (Ints): of each row. Shape: (batch,)
    n_tokens (int): of a padded row.
    RETURNS (Tuple[List[Ints], Ints]): the padded token of each packed one (packed,) and
        the packed token of each padded one, or the one after all (batch·token,); and
        how many rows have a first token, a second one, and so on (token,).
    """
    order = np.argsort(-lengths, kind="stable")
    exists = np.arange(n_tokens)[:, None] < lengths[order]  # (token, row)
    place, rank = exists.nonzero()
    padded = order[rank] * n_tokens + place
    packed = np.full(len(lengths) * n_tokens, len(padded))
    packed[padded] = np.arange(len(padded))
    sizes = exists.sum(axis=1)
    return [padded, packed], sizes[sizes > 0]

"""A bidirectional LSTM that padding cannot reach."""

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from ..codec import WindowBatch
from ..types import Ints


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
        vectors = read_packed(self.lstm, self.dropout(batch.vectors), batch.lengths)
        return batch._replace(vectors=vectors)


def read_packed(
    lstm: nn.LSTM, vectors: Tensor, lengths: Ints, *, padding: float = 0.0
) -> Tensor:
    """Let an LSTM read rows of different lengths, without a copy to the host.

    torch would sort the rows by itself, and look at the order on the host afterwards.

    vectors (Tensor): (batch, token, width)
    lengths (Ints): of each row, on the host. Shape: (batch,)
    padding (float): what stands behind a row's end.
    RETURNS (Tensor): (batch, token, n_out)
    """
    order = np.argsort(-lengths, kind="stable")
    is_sorted = bool((order[1:] > order[:-1]).all())  # as windows of a group are
    if not is_sorted:
        vectors = vectors[torch.as_tensor(order, device=vectors.device)]
    packed = pack_padded_sequence(
        vectors,
        torch.as_tensor(lengths[order]),  # torch wants them on the host
        batch_first=True,
    )
    read: Tensor = pad_packed_sequence(
        lstm(packed)[0],
        batch_first=True,
        padding_value=padding,
        total_length=vectors.shape[1],
    )[0]
    if is_sorted:
        return read
    return read[torch.as_tensor(np.argsort(order), device=read.device)]

"""A bidirectional LSTM that padding cannot reach."""

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from ..codec import WindowBatch


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
        packed = pack_padded_sequence(
            self.dropout(batch.vectors),
            torch.as_tensor(batch.lengths),  # torch wants them on the host
            batch_first=True,
            enforce_sorted=False,
        )
        vectors: Tensor = pad_packed_sequence(
            self.lstm(packed)[0], batch_first=True, total_length=batch.vectors.shape[1]
        )[0]
        return batch._replace(vectors=vectors)

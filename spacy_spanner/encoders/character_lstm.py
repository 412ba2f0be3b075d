"""Vectors of words from their characters."""

import torch
from torch import Tensor, nn

from ..models.blocks.lstm import read_rows
from ..spans.table import Ints


class CharacterLSTM(nn.Module):
    """Read the characters of each word in both directions and keep the maxima."""

    def __init__(self, n_characters: int, n_in: int, n_out: int) -> None:
        """Build the layers.

        n_characters (int): rows of the table of characters.
        n_in (int): size of a character's vector.
        n_out (int): size of a word's vector, both directions together; even.
        """
        super().__init__()
        self.embedding = nn.Embedding(n_characters, n_in)
        self.lstm = nn.LSTM(n_in, n_out // 2, batch_first=True, bidirectional=True)

    def forward(self, characters: Tensor, lengths: Ints) -> Tensor:
        """Read words.

        characters (Tensor): rows of the table, padded with any. (word, character)
        lengths (Ints): characters per word, at least one, on the host. (word,)
        RETURNS (Tensor): (word, n_out)
        """
        vectors = self.embedding(characters)
        read = read_rows(self.lstm, vectors, lengths, padding=-torch.inf)
        return read.amax(dim=1)

"""A hidden layer with dropout, which projects token vectors for a scorer."""

from torch import Tensor, nn


class Projection(nn.Module):
    """Dropout, linear map, nonlinearity, dropout."""

    def __init__(
        self, n_in: int, n_out: int, *, dropout: float, input_dropout: float
    ) -> None:
        """Build the layer.

        n_in, n_out (int): vector sizes.
        dropout, input_dropout (float): rates after and before the map.
        """
        super().__init__()
        self.input_dropout = nn.Dropout(input_dropout)
        self.linear = nn.Linear(n_in, n_out)
        self.activation = nn.GELU()
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: Tensor) -> Tensor:
        """x (Tensor): (..., n_in). RETURNS (Tensor): (..., n_out)"""
        return self.dropout(self.activation(self.linear(self.input_dropout(x))))

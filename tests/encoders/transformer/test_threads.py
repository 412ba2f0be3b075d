"""Threads share an encoder that changes itself while it collects outputs of layers."""

import time
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace
from typing import Any, List

import torch
from torch import Tensor, nn

from spacy_spanner.encoders.pretrained_module import PretrainedEncoder


class SelfChanging(nn.Module):
    """Collects the outputs of layers as transformers 4.57 does: through methods that it
    replaces during a call.
    """

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Identity()

    def forward(
        self, input_ids: Tensor, attention_mask: Tensor, output_hidden_states: bool
    ) -> Any:
        collected: List[Tensor] = [input_ids.float()]
        original = self.layer.forward

        def collect(x: Tensor) -> Tensor:
            output = original(x)
            collected.append(output)
            return output

        if output_hidden_states:
            self.layer.forward = collect  # type: ignore[method-assign]
        time.sleep(0.005)
        last = self.layer(input_ids.float())
        if output_hidden_states:
            self.layer.forward = original  # type: ignore[method-assign]
        return SimpleNamespace(last_hidden_state=last, hidden_states=tuple(collected))


def test_each_thread_gets_the_outputs_of_its_own_call() -> None:
    encoder = PretrainedEncoder(SelfChanging(), layers=2)
    inputs = [torch.full((1, 3), number) for number in range(8)]
    mask = torch.ones(1, 3, dtype=torch.bool)
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda ids: encoder(ids, mask), inputs))
    for ids, vectors in zip(inputs, found):
        torch.testing.assert_close(vectors, ids.float())
    assert encoder.transformer.layer.forward.__name__ == "forward"

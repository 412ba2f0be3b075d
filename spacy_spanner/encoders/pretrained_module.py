"""The torch module around a Hugging Face encoder: mean of the last layers, prompts."""

from inspect import signature
from threading import Lock
from typing import Any, Dict, Optional

import torch
from torch import Tensor, nn
from torch.nn import functional as F

# While a call collects the outputs of all layers, some versions of transformers (such
# as 4.57) replace methods of the layers, which other threads would use.
_collecting = Lock()


class PretrainedEncoder(nn.Module):
    """Encode word pieces as the mean of the transformer's last layers.

    Prompts are learned vectors that precede every segment as if they were pieces. They
    are initialized with the embeddings of random pieces. The text keeps its usual
    positions. All prompts share one position, so that the order of the labels has no
    effect; it is not that of [CLS], where every input gets the same vector.
    """

    def __init__(self, transformer: Any, *, layers: int, n_prompts: int = 0) -> None:
        """Wrap a transformer.

        transformer (Any): a Hugging Face encoder.
        layers (int): number of last layers to average.
        n_prompts (int): number of learned vectors that precede every segment.
        """
        super().__init__()
        self.transformer: Any = transformer
        self.layers = layers
        self.prompts: Optional[nn.Parameter] = None
        parameters = signature(transformer.forward).parameters
        self.takes_positions = "position_ids" in parameters
        if n_prompts:
            pieces = transformer.get_input_embeddings().weight.detach()
            chosen = torch.randperm(len(pieces))[:n_prompts]
            self.prompts = nn.Parameter(pieces[chosen].clone())

    def forward(self, ids: Tensor, mask: Tensor) -> Tensor:
        """Encode segments.

        ids (Tensor): piece ids. (batch, piece)
        mask (Tensor): True for real pieces. (batch, piece)
        RETURNS (Tensor): (batch, prompt + piece, width)
        """
        inputs = {"input_ids": ids, "attention_mask": mask.long()}
        if self.prompts is not None:
            inputs = self._add_prompts(ids, mask, self.prompts)
        if self.layers == 1:
            output = self.transformer(**inputs, output_hidden_states=False)
            return output.last_hidden_state
        with _collecting:
            output = self.transformer(**inputs, output_hidden_states=True)
        return torch.stack(output.hidden_states[-self.layers :]).mean(dim=0)

    def _add_prompts(
        self, ids: Tensor, mask: Tensor, prompts: Tensor
    ) -> Dict[str, Tensor]:
        """RETURNS (Dict[str, Tensor]): inputs of the transformer, prompts first."""
        n_rows, n_prompts = len(ids), len(prompts)
        pieces = self.transformer.get_input_embeddings()(ids)
        prompts = prompts.to(pieces.dtype).expand(n_rows, -1, -1)
        inputs = {
            "inputs_embeds": torch.cat([prompts, pieces], dim=1),
            "attention_mask": F.pad(mask.long(), (n_prompts, 0), value=1),
        }
        if self.takes_positions:
            position = torch.arange(ids.shape[1], device=ids.device)
            position = F.pad(position, (n_prompts, 0), value=1) + self.first_position
            inputs["position_ids"] = position.expand(n_rows, -1)
        return inputs

    @property
    def first_position(self) -> int:
        """Position of the first piece; RoBERTa-like models count from the one after
        the position of padding.
        """
        embeddings = getattr(self.transformer, "embeddings", None)
        table = getattr(embeddings, "position_embeddings", None)
        padding = getattr(table, "padding_idx", None)
        return 0 if padding is None else int(padding) + 1

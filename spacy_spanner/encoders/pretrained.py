"""A Hugging Face encoder with its tokenizer: loading, running, storing."""

import json
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, List, Optional

import srsly
import torch
from thinc.api import PyTorchShim
from thinc.util import get_torch_default_device
from torch import Tensor, nn

from ..errors import Errors
from ..settings import Rule, require
from .packaged import resolve_name

# Encoders with relative positions take inputs of any length.
UNLIMITED = 10**9


class PretrainedEncoder(nn.Module):
    """Word piece ids to vectors: the mean of the last layers."""

    def __init__(self, transformer: Any, *, layers: int) -> None:
        """Take over a transformer.

        transformer (Any): a Hugging Face encoder.
        layers (int): how many of the last layers are averaged.
        """
        super().__init__()
        self.transformer: Any = transformer
        self.layers = layers

    def forward(self, ids: Tensor, mask: Tensor) -> Tensor:
        """Encode segments.

        ids (Tensor): piece ids. (batch, piece)
        mask (Tensor): True for real pieces. (batch, piece)
        RETURNS (Tensor): (batch, piece, width)
        """
        output = self.transformer(
            input_ids=ids,
            attention_mask=mask.long(),
            output_hidden_states=self.layers > 1,
        )
        if self.layers == 1:
            return output.last_hidden_state
        return torch.stack(output.hidden_states[-self.layers :]).mean(dim=0)


class PretrainedShim(PyTorchShim):
    """Holds encoder and tokenizer, which are loaded when first needed.

    The bytes carry configuration, weights and tokenizer files: a stored pipeline is
    loaded without a network, and without the folder or package it was made from.
    """

    def __init__(
        self,
        name: str,
        *,
        layers: int,
        mixed_precision: bool,
        gradient_checkpointing: bool,
    ) -> None:
        """Remember what to load.

        name (str): see `packaged.resolve_name`.
        layers (int): see `PretrainedEncoder`.
        mixed_precision (bool): whether matrices are multiplied in half precision.
        gradient_checkpointing (bool): compute activations twice to store fewer.
        """
        super().__init__(nn.Module(), mixed_precision=mixed_precision)
        self.name = name
        self.layers = layers
        self.gradient_checkpointing = gradient_checkpointing
        self.tokenizer: Optional[Any] = None

    @property
    def module(self) -> PretrainedEncoder:
        """The encoder; without parameters before `load`."""
        return self._model

    @property
    def mixed_precision(self) -> bool:
        """Whether to run under autocast."""
        return self._mixed_precision

    @property
    def width(self) -> int:
        """Size of the vectors."""
        return int(self.module.transformer.config.hidden_size)

    @property
    def max_pieces(self) -> int:
        """Longest input that the transformer has positions for."""
        config = self.module.transformer.config
        positions = getattr(config, "max_position_embeddings", None)
        if not positions:
            return UNLIMITED
        # RoBERTa and its kin count positions from behind that of padding.
        embeddings = getattr(self.module.transformer, "embeddings", None)
        table = getattr(embeddings, "position_embeddings", None)
        padding = getattr(table, "padding_idx", None)
        return int(positions - (0 if padding is None else padding + 1))

    @property
    def pad_id(self) -> int:
        """Piece that fills up short inputs; masked, so any would do."""
        return int(getattr(self.tokenizer, "pad_token_id", None) or 0)

    @property
    def first_id(self) -> int:
        """Special piece in front of every input."""
        return self._special(0)

    @property
    def last_id(self) -> int:
        """Special piece behind every input."""
        return self._special(-1)

    def _special(self, index: int) -> int:
        assert self.tokenizer is not None  # loaded before use
        return int(self.tokenizer._tokenizer.encode("").ids[index])

    def load(self) -> None:
        """Read encoder and tokenizer from the folder or hub."""
        try:
            from transformers import AutoModel, AutoTokenizer
        except ImportError as error:
            raise ImportError(Errors.SP014.format(name=self.name)) from error
        path = resolve_name(self.name)
        try:
            tokenizer = AutoTokenizer.from_pretrained(path, use_fast=True)
            transformer = AutoModel.from_pretrained(path)
        except (OSError, ValueError) as error:
            message = Errors.SP015.format(name=self.name, problem=error)
            raise ValueError(message) from error
        self._take(transformer, tokenizer)

    def _take(self, transformer: Any, tokenizer: Any) -> None:
        if not tokenizer.is_fast:
            raise ValueError(Errors.SP013.format(name=self.name))
        n_layers = transformer.config.num_hidden_layers
        limit = Rule(f"at most {n_layers}", lambda value: value <= n_layers)
        require(limit, layers=self.layers)
        if getattr(transformer, "pooler", None) is not None:
            transformer.pooler = None
        if self.gradient_checkpointing:
            transformer.gradient_checkpointing_enable()
        encoder = PretrainedEncoder(transformer, layers=self.layers)
        self._model = encoder.to(get_torch_default_device())
        # Stored tokenizers may cut and pad on their own; here nothing is cut silently.
        tokenizer._tokenizer.no_truncation()
        tokenizer._tokenizer.no_padding()
        # Pieces of bytes tell by a space where words begin; tokens come without it.
        splitter = tokenizer._tokenizer.pre_tokenizer
        if getattr(splitter, "add_prefix_space", True) is False:
            splitter.add_prefix_space = True
            tokenizer._tokenizer.pre_tokenizer = splitter
        self.tokenizer = tokenizer

    def to_bytes(self) -> bytes:
        """RETURNS (bytes): configuration, safetensors weights and tokenizer files."""
        from safetensors.torch import save

        if self.tokenizer is None:
            return srsly.msgpack_dumps({"weights": None})
        with TemporaryDirectory() as folder:
            self.tokenizer.save_pretrained(folder)
            files = {path.name: path.read_bytes() for path in Path(folder).iterdir()}
        state = {
            key: value.detach().cpu().contiguous().clone()
            for key, value in self.module.state_dict().items()
        }
        message = {
            "config": self.module.transformer.config.to_json_string(use_diff=False),
            "weights": save(state),
            "tokenizer": files,
        }
        return srsly.msgpack_dumps(message)

    def from_bytes(self, bytes_data: bytes) -> "PretrainedShim":
        """Rebuild encoder and tokenizer from the bytes alone.

        RETURNS (PretrainedShim): the shim itself.
        """
        from safetensors.torch import load
        from transformers import AutoModel, AutoTokenizer

        message: Any = srsly.msgpack_loads(bytes_data)
        if message["weights"] is None:
            return self
        with TemporaryDirectory() as folder:
            for name, content in message["tokenizer"].items():
                (Path(folder) / name).write_bytes(content)
            tokenizer = AutoTokenizer.from_pretrained(folder, use_fast=True)
        transformer = AutoModel.from_config(read_config(message["config"]))
        self._take(transformer, tokenizer)
        self.module.load_state_dict(load(message["weights"]))
        return self


def read_config(text: str) -> Any:
    """RETURNS (PretrainedConfig): the configuration that `to_json_string` wrote."""
    from transformers import AutoConfig

    content = json.loads(text)
    return AutoConfig.for_model(content.pop("model_type"), **content)


def encode_words(tokenizer: Any, words: List[List[str]]) -> List[Any]:
    """Split the tokens of documents into word pieces, without special pieces.

    words (List[List[str]]): the tokens of each document.
    RETURNS (List[Encoding]): with `ids` and `word_ids`.
    """
    return tokenizer._tokenizer.encode_batch(
        words, is_pretokenized=True, add_special_tokens=False
    )

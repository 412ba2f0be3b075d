"""A Hugging Face encoder with its tokenizer: loading, running, storing."""

import json
from inspect import signature
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Dict, List, Optional

import srsly
import torch
from thinc.util import get_torch_default_device
from torch import Tensor, nn
from torch.nn import functional as F

from ..errors import Errors
from ..layers.torch_shim import TorchShim
from ..settings import Rule, require
from .packaged import resolve_name
from .piece_batches import SpecialPieces

# Encoders with relative positions take inputs of any length.
UNLIMITED = 10**9
# Pieces that may stand at the ends of a text: the first there is, and the last.
FRAMES = ("cls", "bos", "eos", "sep")


class PretrainedEncoder(nn.Module):
    """Word piece ids to vectors: the mean of the last layers.

    With prompts, learned vectors stand in front of every segment as if they were
    pieces; they begin as random ones. The text keeps the positions that the transformer
    was trained with. The prompts share one, so that the order of labels means nothing,
    but not that of [CLS]: what stands there becomes the same vector, whatever it is.
    """

    def __init__(self, transformer: Any, *, layers: int, n_prompts: int = 0) -> None:
        """Take over a transformer.

        transformer (Any): a Hugging Face encoder.
        layers (int): how many of the last layers are averaged.
        n_prompts (int): learned vectors in front of every segment.
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
            inputs = self._behind_prompts(ids, mask, self.prompts)
        output = self.transformer(**inputs, output_hidden_states=self.layers > 1)
        if self.layers == 1:
            return output.last_hidden_state
        return torch.stack(output.hidden_states[-self.layers :]).mean(dim=0)

    def _behind_prompts(
        self, ids: Tensor, mask: Tensor, prompts: Tensor
    ) -> Dict[str, Tensor]:
        """RETURNS (Dict[str, Tensor]): inputs of the transformer with prompts."""
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
        """Position of the first piece; RoBERTa and its kin count from behind that of
        padding.
        """
        embeddings = getattr(self.transformer, "embeddings", None)
        table = getattr(embeddings, "position_embeddings", None)
        padding = getattr(table, "padding_idx", None)
        return 0 if padding is None else int(padding) + 1


class PretrainedShim(TorchShim):
    """Holds encoder and tokenizer, which are loaded when first needed.

    The bytes carry configuration, weights and tokenizer files: a stored pipeline is
    loaded without a network, and without the folder or package it was made from.
    """

    is_encoder = True  # see `training.owners`

    def __init__(
        self,
        name: str,
        *,
        layers: int,
        mixed_precision: bool,
        gradient_checkpointing: bool,
        n_prompts: int = 0,
    ) -> None:
        """Remember what to load.

        name (str): see `packaged.resolve_name`.
        layers (int): see `PretrainedEncoder`.
        mixed_precision (bool): whether matrices are multiplied in half precision.
        gradient_checkpointing (bool): compute activations twice to store fewer.
        n_prompts (int): see `PretrainedEncoder`; may be set before loading.
        """
        super().__init__(nn.Module(), mixed_precision=mixed_precision)
        self.n_prompts = n_prompts
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
        return int(positions) - self.module.first_position

    @property
    def special(self) -> SpecialPieces:
        """Pieces that frame inputs and fill them up; the latter are masked, so that any
        would do where a tokenizer has none.
        """
        assert self.tokenizer is not None  # loaded before use
        frame = frame_of(self.tokenizer, self.name)
        padding = getattr(self.tokenizer, "pad_token_id", None) or 0
        return SpecialPieces(int(frame[0]), int(frame[-1]), int(padding))

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
        encoder = PretrainedEncoder(
            transformer, layers=self.layers, n_prompts=self.n_prompts
        )
        # What transformers loads is in another mode than the module around it.
        self._model = encoder.to(get_torch_default_device()).eval()
        # Stored tokenizers may cut and pad on their own; here nothing is cut silently.
        tokenizer._tokenizer.no_truncation()
        tokenizer._tokenizer.no_padding()
        frame_of(tokenizer, self.name)  # its error shall come before the first text
        mark_words(tokenizer._tokenizer)
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
            "prompts": self.n_prompts,
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
        self.n_prompts = message["prompts"]
        transformer = AutoModel.from_config(read_config(message["config"]))
        self._take(transformer, tokenizer)
        self.module.load_state_dict(load(message["weights"]))
        return self


def read_config(text: str) -> Any:
    """RETURNS (PretrainedConfig): the configuration that `to_json_string` wrote."""
    from transformers import AutoConfig

    content = json.loads(text)
    return AutoConfig.for_model(content.pop("model_type"), **content)


def mark_words(tokenizer: Any) -> None:
    """Let a tokenizer of bytes mark where words begin, though these come without space.

    In a sequence of pre-tokenizers, the space is set in front of the first: the last
    would also mark what others cut off inside a word.
    """
    splitter = tokenizer.pre_tokenizer
    if getattr(splitter, "add_prefix_space", True) is False:
        splitter.add_prefix_space = True
        tokenizer.pre_tokenizer = splitter
    elif splitter is not None and _lacks_mark(splitter):
        from tokenizers import pre_tokenizers

        prefix = pre_tokenizers.Metaspace(replacement=" ")  # where there is none
        tokenizer.pre_tokenizer = pre_tokenizers.Sequence([prefix, splitter])


def _lacks_mark(splitter: Any) -> bool:
    """RETURNS (bool): whether only a space in front makes the mark of byte pieces."""
    spaced, bare = splitter.pre_tokenize_str(" a"), splitter.pre_tokenize_str("a")
    return [piece for piece, _ in [*spaced, *bare]] == ["Ġa", "a"]


def frame_of(tokenizer: Any, name: str) -> List[int]:
    """Find the special pieces at both ends of a text.

    Decoders often add none; then it is what texts are divided by in their training.

    tokenizer (PreTrainedTokenizerFast): without truncation and padding.
    name (str): of the encoder.
    RETURNS (List[int]): ids, of which the first and the last are meant.
    RAISES (ValueError): SP160 where the tokenizer has no such piece.
    """
    pieces = [getattr(tokenizer, f"{kind}_token_id", None) for kind in FRAMES]
    existing = [piece for piece in pieces if piece is not None]
    frame = tokenizer._tokenizer.encode("").ids or existing
    if not frame:
        special = tokenizer.all_special_tokens
        raise ValueError(Errors.SP160.format(name=name, special=special))
    return frame


def encode_words(tokenizer: Any, words: List[List[str]]) -> List[Any]:
    """Split the tokens of documents into word pieces, without special pieces.

    words (List[List[str]]): the tokens of each document.
    RETURNS (List[Encoding]): with `ids` and `word_ids`.
    """
    return tokenizer._tokenizer.encode_batch(
        words, is_pretokenized=True, add_special_tokens=False
    )

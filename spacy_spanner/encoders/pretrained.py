"""A Hugging Face encoder with its tokenizer: load, run and store it."""

from inspect import signature
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Lock
from typing import Any, Dict, Optional, Sequence

import srsly
import torch
from thinc.api import Optimizer
from thinc.util import get_torch_default_device
from torch import Tensor, nn
from torch.nn import functional as F

from ..errors import Errors
from ..layers.devices import device_of
from ..layers.stored_state import read_message, require_values
from ..layers.torch_shim import TorchShim, renew_id
from ..settings import Rule, require
from .fast.copies import Chosen, PredictionCopies
from .sources import Origin, find_pretrained, naming_encoder, require_transformers
from .stored_encoder import (
    build_transformer_of,
    read_config,
    read_tokenizer,
    without_pooler,
)
from .word_pieces import SpecialPieces, find_special_pieces, mark_words

# Encoders with relative positions accept inputs of any length.
UNLIMITED = 10**9
AMPERE = (8, 0)  # compute capability
# While a call collects the outputs of all layers, some versions of transformers (such
# as 4.57) replace methods of the layers, which other threads would use.
_collecting = Lock()
# What `PretrainedShim.to_bytes` stores, and the beginning of names of the weights of
# the transformer.
STORED = {"weights": bytes, "prompts": int, "config": str, "tokenizer": dict}
OWN = "transformer."
FULL_PRECISION = Chosen()


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


def has_bfloat16(device: torch.device) -> bool:
    """RETURNS (bool): whether a device multiplies in bfloat16: of CUDA's GPUs, those
    since Ampere.
    """
    if device.type != "cuda" or torch.version.hip:
        return True
    return torch.cuda.get_device_capability(device) >= AMPERE


class PretrainedShim(TorchShim):
    """Hold the encoder and its tokenizer, and load both when first needed.

    The bytes contain configuration, weights and tokenizer files: a stored pipeline can
    be loaded without network access and without the original folder or package.

    origin (Origin): where the weights came from. Before `load`, the revision is the one
        that was asked for.
    chosen (Chosen): the precision to predict in. May be changed at any time.
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
        revision: Optional[str] = None,
        chosen: Chosen = FULL_PRECISION,
    ) -> None:
        """Set up the shim without loading anything.

        name (str): see `resolve_name`.
        layers (int): see `PretrainedEncoder`.
        mixed_precision (bool): multiply matrices in half precision.
        gradient_checkpointing (bool): recompute activations instead of storing them.
        n_prompts (int): see `PretrainedEncoder`; may be set before loading.
        revision (Optional[str]): commit, tag or branch of a model on the hub.
        chosen (Chosen): the precision to predict in.
        """
        super().__init__(nn.Module(), mixed_precision=mixed_precision)
        self.n_prompts = n_prompts
        self.name = name
        self.origin = Origin(name, revision)
        self.layers = layers
        self.gradient_checkpointing = gradient_checkpointing
        self.chosen = chosen
        self.copies = PredictionCopies()
        self.tokenizer: Optional[Any] = None

    @property
    def module(self) -> PretrainedEncoder:
        """The encoder; without parameters before `load`."""
        return self._model

    def prediction_module(self) -> nn.Module:
        """RETURNS (nn.Module): the encoder, or its copy in the precision to predict in,
        which is called in the same way.
        """
        return self.copies.get(self.module, self.chosen, self.name)

    def trained_module(self) -> nn.Module:
        """RETURNS (nn.Module): the encoder, whose weights are going to change."""
        self.copies.forget()
        return self.module

    def finish_update(self, optimizer: Optimizer) -> None:
        """Update the weights; see `TorchShim.finish_update`."""
        try:
            super().finish_update(optimizer)
        finally:
            self.copies.forget()

    @property
    def mixed_precision(self) -> bool:
        """Whether to run under autocast: not on GPUs that would emulate bfloat16."""
        return self._mixed_precision and has_bfloat16(device_of(self.module))

    @property
    def width(self) -> int:
        """Size of the vectors."""
        return int(self.module.transformer.config.hidden_size)

    @property
    def max_pieces(self) -> int:
        """Maximum number of pieces that the transformer has positions for."""
        config = self.module.transformer.config
        positions = getattr(config, "max_position_embeddings", None)
        if not positions:
            return UNLIMITED
        return int(positions) - self.module.first_position

    @property
    def special(self) -> SpecialPieces:
        """Special pieces of the tokenizer."""
        return find_special_pieces(self.tokenizer, self.name)

    def load(self) -> None:
        """Load encoder and tokenizer from the folder or hub."""
        found = find_pretrained(self.name, self.origin.revision)
        tokenizer, config, path, options = found
        from transformers import AutoModel

        options["config"] = config
        # See `find_pretrained` for the reason.
        with naming_encoder(self.name):
            transformer = AutoModel.from_pretrained(path, **options)  # nosec B615
        commit = getattr(transformer.config, "_commit_hash", None)
        self.origin = Origin(self.name, commit)
        self._set_up(transformer, tokenizer)

    def _set_up(self, transformer: Any, tokenizer: Any) -> None:
        """Check and configure encoder and tokenizer, and keep them."""
        if not tokenizer.is_fast:
            raise ValueError(Errors.SP013.format(name=self.name))
        n_layers = transformer.config.num_hidden_layers
        limit = Rule(f"at most {n_layers}", lambda value: value <= n_layers)
        require(limit, layers=self.layers)
        transformer = without_pooler(transformer)
        if self.gradient_checkpointing:
            transformer.gradient_checkpointing_enable()
        encoder = PretrainedEncoder(
            transformer, layers=self.layers, n_prompts=self.n_prompts
        )
        # Loaded transformers are in evaluation mode, a new module is in training mode.
        self._model = encoder.to(get_torch_default_device()).eval()
        # Stored tokenizers may truncate and pad; here nothing is truncated silently.
        tokenizer.backend_tokenizer.no_truncation()
        tokenizer.backend_tokenizer.no_padding()
        find_special_pieces(tokenizer, self.name)  # fails here, not at the first text
        mark_words(tokenizer.backend_tokenizer)
        self.tokenizer = tokenizer

    def resize_prompts(self, sources: Sequence[Optional[int]], per_label: int) -> None:
        """Give the encoder prompts for other labels; new ones begin as random pieces.

        sources (Sequence[Optional[int]]): for each label, which of the old ones it is;
            None if it is new.
        per_label (int): prompts of each label.
        """
        module, n_prompts = self.module, per_label * len(sources)
        assert module.prompts is not None  # other encoders do not know the labels
        pieces = module.transformer.get_input_embeddings().weight.detach()
        new = pieces[torch.randperm(len(pieces))[:n_prompts]].clone()
        old = module.prompts.detach().unflatten(0, (-1, per_label))
        for place, source in enumerate(sources):
            if source is not None:
                new[place * per_label : (place + 1) * per_label] = old[source]
        requires_grad = module.prompts.requires_grad
        module.prompts = nn.Parameter(new.to(old.dtype), requires_grad)
        self.n_prompts = n_prompts
        self.copies.forget()
        renew_id(self)

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
            "origin": self.origin._asdict(),
            "config": self.module.transformer.config.to_json_string(use_diff=False),
            "weights": save(state),
            "tokenizer": files,
        }
        return srsly.msgpack_dumps(message)

    def from_bytes(self, bytes_data: bytes) -> "PretrainedShim":
        """Rebuild encoder and tokenizer from the bytes alone, without running code that
        comes with them; see `stored_encoder`.

        RETURNS (PretrainedShim): the shim itself.
        RAISES (ImportError): SP014 if transformers or safetensors is not installed.
        RAISES (ValueError): SP150 to SP152 for what `to_bytes` cannot have stored.
        """
        message = read_message(bytes_data, {"weights": (bytes, type(None))})
        if message["weights"] is None:
            return self
        require_transformers(self.name, "encoder")
        from safetensors.torch import load

        weights, prompts = require_values(message, STORED)[:2]
        tokenizer = read_tokenizer(message["tokenizer"], self.name)
        state = load(weights)
        own = {n.removeprefix(OWN): state[n] for n in state if n.startswith(OWN)}
        config = read_config(message["config"])
        transformer = build_transformer_of(config, own, len(weights))
        self.n_prompts = prompts
        if "origin" in message:  # version 0.1.0 did not store it
            self.origin = Origin(**message["origin"])
        self._set_up(transformer, tokenizer)
        try:
            self.module.load_state_dict(state)
        except RuntimeError as error:
            raise ValueError(Errors.SP150.format(problem=error)) from error
        return self

"""A Hugging Face encoder with its tokenizer: load, hold and store it."""

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Optional, Sequence

import srsly
import torch
from thinc.api import Optimizer
from thinc.util import get_torch_default_device
from torch import nn

from ..errors import Errors
from ..layers.devices import device_of
from ..layers.stored_state import read_message, require_values
from ..layers.torch_shim import TorchShim, renew_id
from ..settings import Rule, require
from .fast.copies import Chosen, PredictionCopies
from .pretrained_module import PretrainedEncoder
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
# What `PretrainedShim.to_bytes` stores, and the beginning of names of the weights of
# the transformer.
STORED = {"weights": bytes, "prompts": int, "config": str, "tokenizer": dict}
OWN = "transformer."
FULL_PRECISION = Chosen()


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

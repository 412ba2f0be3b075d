"""A copy of an encoder in another precision, made when it is needed.

The weights of the encoder stay in float32, for training and storage. The copy is made
by the first prediction, and made again when the weights have changed.
"""

import warnings
from copy import deepcopy
from threading import Lock
from typing import Any, List, NamedTuple, Optional, Tuple, Type

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from ...errors import Warnings
from ...internals import internal
from .linear import convert_linear
from .packed import PackedTransformer, can_be_packed
from .processor import BFLOAT16, FLOAT32, usable_precision

# Vectors of a copy and of its encoder must be at least this similar (mean cosine of
# random pieces). Less is no rounding, but a broken kernel or weights out of range.
LEAST_COSINE = 0.9
PROBE_SHAPE = (4, 16)


class Chosen(NamedTuple):
    """How to predict.

    precision (str): one of `processor.PRECISIONS`.
    emulate (bool): whether to use it on processors without fast instructions, too.
    """

    precision: str = FLOAT32
    emulate: bool = False


class _Made(NamedTuple):
    """A copy, and what it was made from."""

    chosen: Chosen
    encoder: Any
    parameters: List[Tensor]
    state: List[Tuple[int, int]]
    module: nn.Module

    def fits(self, chosen: Chosen, encoder: Any) -> bool:
        """RETURNS (bool): whether the copy can still be used."""
        known = encoder is self.encoder and chosen == self.chosen
        return known and state_of(self.parameters) == self.state


class PredictionCopies:
    """Keeps the copy of an encoder that predictions use, in any number of threads."""

    def __init__(self) -> None:
        """Start without a copy."""
        self._lock = Lock()
        self._made: Optional[_Made] = None

    def __reduce__(self) -> Tuple[Type["PredictionCopies"], Tuple[()]]:
        """A copy of the encoder, also one in another process, makes its own."""
        return PredictionCopies, ()

    def forget(self) -> None:
        """Drop the copy, because the weights change."""
        self._made = None

    def get(self, encoder: Any, chosen: Chosen, name: str) -> nn.Module:
        """Get what predicts in a precision.

        encoder (PretrainedEncoder): in evaluation mode.
        chosen (Chosen): the precision.
        name (str): name of the encoder, for warnings.
        RETURNS (nn.Module): called like the encoder: itself for float32, or where the
            precision cannot be used, with a warning (SW241 or SW242).
        """
        if chosen.precision == FLOAT32:
            return encoder
        made = self._made
        if made is None or not made.fits(chosen, encoder):
            with self._lock:
                made = self._made
                if made is None or not made.fits(chosen, encoder):
                    made = _make(encoder, chosen, name)
                    self._made = made
        return made.module


def state_of(parameters: List[Tensor]) -> List[Tuple[int, int]]:
    """RETURNS (List[Tuple[int, int]]): numbers that change when torch changes tensors
    or moves them. Optimizers that write to their memory as arrays do not change them.
    """
    return [
        (one.data_ptr(), 0 if one.is_inference() else internal(one, "_version"))
        for one in parameters
    ]


def _make(encoder: Any, chosen: Chosen, name: str) -> _Made:
    parameters = list(encoder.parameters())
    state = state_of(parameters)
    device = parameters[0].device.type
    precision = usable_precision(chosen.precision, device, emulate=chosen.emulate)
    module: nn.Module = encoder
    if precision != FLOAT32:
        module = convert(encoder, precision)
        cosine = compare(encoder, module)
        if not cosine >= LEAST_COSINE:
            message = Warnings.SW242.format(
                precision=precision,
                name=name,
                cosine=f"{cosine:.3f}",
                least=LEAST_COSINE,
            )
            warnings.warn(message)
            module = encoder
    return _Made(chosen, encoder, parameters, state, module)


def convert(encoder: Any, precision: str) -> nn.Module:
    """RETURNS (nn.Module): a copy in another precision, called like the encoder.

    encoder (PretrainedEncoder): may have prompts, and any transformer.
    precision (str): "bfloat16" or "int8".
    """
    with torch.no_grad():
        if encoder.prompts is None and can_be_packed(encoder.transformer):
            return PackedTransformer(
                encoder.transformer,
                layers=encoder.layers,
                first_position=encoder.first_position,
                precision=precision,
            ).eval()
        copied = deepcopy(encoder).eval().requires_grad_(False)
        if precision == BFLOAT16:
            return copied.to(torch.bfloat16)
        _replace_linear(copied, precision)
        return copied


def _replace_linear(module: nn.Module, precision: str) -> None:
    """Convert all linear layers in a module."""
    for name, child in module.named_children():
        if isinstance(child, nn.Linear):
            setattr(module, name, convert_linear([child], precision))
        else:
            _replace_linear(child, precision)


def compare(encoder: Any, copied: nn.Module) -> float:
    """RETURNS (float): mean cosine of the vectors of an encoder and of its copy, for
    random pieces. NaN if any of the vectors is not finite.
    """
    n_pieces, device = len(pieces_of(encoder).weight), pieces_of(encoder).weight.device
    generator = torch.Generator().manual_seed(0)
    ids = torch.randint(n_pieces, PROBE_SHAPE, generator=generator).to(device)
    mask = torch.ones_like(ids, dtype=torch.bool)
    with torch.no_grad():
        first, second = (module(ids, mask).float() for module in (encoder, copied))
    return float(F.cosine_similarity(first, second, dim=-1).mean())


def pieces_of(encoder: Any) -> Any:
    """RETURNS (nn.Embedding): the embeddings of the pieces."""
    return encoder.transformer.get_input_embeddings()

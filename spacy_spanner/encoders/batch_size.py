"""How many word pieces an encoder reads at once."""

from typing import Sequence, Union

from ..layers.devices import as_many_as_fit, device_of
from .pretrained import PretrainedShim
from .segments import Segment
from .word_pieces import N_SPECIAL

PIECES_ON_CPU = 4096
# Pieces in a batch of predictions on a CPU: with more, what the layers compute does not
# fit into its caches.
CACHED_PIECES = 512
# What a layer keeps of each piece for the backward pass. In BERT and MiniLM, with 16 to
# 512 pieces, 20 vectors of its width were counted and, where no kernel spares them, 2.9
# numbers for each head and other piece.
VECTORS_PER_LAYER = 20
NUMBERS_PER_PAIR = 3


def pieces_at_once(
    shim: PretrainedShim,
    segments: Sequence[Segment],
    wanted: Union[int, str],
    is_train: bool,
) -> int:
    """RETURNS (int): the setting `batch_pieces` as a number.

    segments (Sequence[Segment]): what the encoder is going to read.
    wanted (Union[int, str]): the setting.
    is_train (bool): whether the encoder is going to learn.
    """
    device, config = device_of(shim.module), shim.module.transformer.config
    longest = max((one.last - one.first for one in segments), default=0)
    longest += N_SPECIAL + shim.n_prompts
    pairs = NUMBERS_PER_PAIR * config.num_attention_heads * longest
    each = config.num_hidden_layers * (VECTORS_PER_LAYER * shim.width + pairs)
    most = as_many_as_fit(wanted, device, numbers_each=each, on_cpu=PIECES_ON_CPU)
    in_cache = device.type == "cpu" and not is_train
    return min(most, CACHED_PIECES) if in_cache else most

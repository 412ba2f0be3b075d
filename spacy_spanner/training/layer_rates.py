"""Learning rates that fall from the top layer of a transformer to its embeddings.

Lower layers hold what is common to all tasks, and need to change less (Howard and
Ruder 2018; Sun et al. 2019).
"""

import re
from typing import Dict, Mapping

from .owners import ENCODER, Key, Owner

# The number of a layer in the name of a tensor, as Hugging Face names them:
# "encoder.layer.3.output", "layers.3.mlp", "h.3.attn".
NUMBERED = re.compile(r"(?:^|[._])(?:layers?|h|blocks?)\.(\d+)\.")
EMBEDDING = re.compile(r"embed|(^|\.)wte|(^|\.)wpe")


def layer_factors(owners: Mapping[Key, Owner], decay: float) -> Dict[Key, float]:
    """Find the factors on the learning rates of encoders with numbered layers.

    owners (Mapping[Key, Owner]): of the tensors of a model.
    decay (float): the rate of a layer in proportion to that of the layer above it.
    RETURNS (Dict[Key, float]): decay ** (top - number) for a layer, and for embeddings
        as if they were a layer below the lowest; other tensors of the encoder, such as
        a norm after the top layer, are left out: their factor is 1.
    """
    number: Dict[Key, int] = {}
    for key, owner in owners.items():
        found = NUMBERED.search(owner.tensor)
        if owner.part == ENCODER and owner.in_torch and found:
            number[key] = int(found.group(1))
    top: Dict[int, int] = {}  # by id of the shim
    for (shim, _), layer in number.items():
        top[shim] = max(layer, top.get(shim, 0))
    for key, owner in owners.items():
        below = owner.part == ENCODER and key[0] in top and key not in number
        if below and EMBEDDING.search(owner.tensor):
            number[key] = -1
    return {key: decay ** (top[key[0]] - layer) for key, layer in number.items()}

"""The loss on documents, also along a random direction through the trained weights.

After Li et al., "Visualizing the Loss Landscape of Neural Nets" (2018), as in Section 5
of the boundary-smoothing paper: the direction of every weight is rescaled to the norm
of that weight. Biases and norms, which have one axis, are not changed.
"""

from typing import Any, Dict, Iterator, List, Mapping, NamedTuple, Sequence

import numpy as np
import torch
from spacy.language import Language
from spacy.training import Example
from spacy.util import minibatch
from thinc.api import Model, get_array_module
from torch import Tensor

from ..errors import Errors
from ..layers.torch_shim import torch_module
from ..training.owners import torch_shims
from .model_costs import count_parameters
from .predicting import Track, span_components, untracked
from .scorer import annotated_examples

N_POINTS = 51
RANGE = 1.0
BATCH_DOCS = 64
# Losses with and without smoothing are comparable only on hard targets.
HARD: Dict[str, Any] = {"boundary_smoothing": 0.0, "label_smoothing": 0.0}


class Weight(NamedTuple):
    """A torch parameter, or a parameter of a Thinc layer.

    owner (Any): the torch tensor, or the Thinc layer.
    name (str): name of the Thinc parameter; empty for torch.
    """

    owner: Any
    name: str

    def read(self) -> Any:
        """RETURNS (Any): a copy of the values."""
        if isinstance(self.owner, Tensor):
            return self.owner.detach().clone()
        return self.owner.get_param(self.name).copy()

    def write(self, values: Any) -> None:
        """Set the values."""
        if isinstance(self.owner, Tensor):
            with torch.no_grad():
                self.owner.copy_(values)
        else:
            self.owner.set_param(self.name, values)


def weights_of(model: Model) -> Iterator[Weight]:
    """YIELDS (Weight): all weights with at least two axes, in a fixed order."""
    for node in model.walk():
        for name in node.param_names:
            if node.has_param(name) and node.get_param(name).ndim > 1:
                yield Weight(node, name)
        for shim in torch_shims(node):
            for parameter in torch_module(shim).parameters():
                if parameter.ndim > 1:
                    yield Weight(parameter, "")


def random_direction(weights: Sequence[Any], rng: np.random.Generator) -> List[Any]:
    """RETURNS (List[Any]): random arrays or tensors with the shapes, types and norms of
    the weights.
    """
    direction = []
    for values in weights:
        draw = rng.standard_normal(tuple(values.shape)).astype("f")
        draw *= float((values**2).sum()) ** 0.5 / np.linalg.norm(draw)
        if isinstance(values, Tensor):
            direction.append(torch.as_tensor(draw, device=values.device))
        else:
            direction.append(get_array_module(values).asarray(draw))
    return direction


def loss_landscape(
    nlp: Language,
    name: str,
    splits: Mapping[str, Sequence[Example]],
    *,
    n_points: int = N_POINTS,
    seed: int = 0,
    track: Track = untracked,
) -> Dict[str, Any]:
    """Compute the loss of a component along a random direction.

    nlp (Language): the trained pipeline; its weights are restored at the end.
    name (str): the component. A shared encoder that it listens to is not changed.
    splits (Mapping[str, Sequence[Example]]): documents by part of the data.
    n_points (int): number of positions from -1 to 1; odd to include the trained
        weights.
    seed (int): seed of the direction.
    RETURNS (Dict[str, Any]): `positions`, `losses` by part, and how many parameters
        were `moved` and how many were left `still`, those of other components too.
    """
    pipe: Any = nlp.get_pipe(name)
    parts = {part: prepare_examples(nlp, name, egs) for part, egs in splits.items()}
    weights = list(weights_of(pipe.model))
    centre = [weight.read() for weight in weights]
    direction = random_direction(centre, np.random.default_rng(seed))
    positions = np.linspace(-RANGE, RANGE, n_points).tolist()
    losses: Dict[str, List[float]] = {part: [] for part in parts}
    try:
        for position in track(positions, total=n_points, what="Computing losses"):
            for weight, origin, step in zip(weights, centre, direction):
                weight.write(origin + position * step)
            for part, examples in parts.items():
                losses[part].append(mean_loss(pipe, examples))
    finally:
        for weight, origin in zip(weights, centre):
            weight.write(origin)
    moved = sum(int(np.prod(values.shape)) for values in centre)
    return {
        "component": name,
        "positions": positions,
        "losses": losses,
        "seed": seed,
        "moved": moved,
        "still": sum(count_parameters(nlp, name)) - moved,
    }


def find_component(nlp: Language, name: str = "") -> str:
    """RETURNS (str): the component to analyse, named if there are several.

    RAISES (ValueError): SP079 if there is none, or several and no name.
    """
    names = list(span_components(nlp))
    if name in names or (not name and len(names) == 1):
        return name or names[0]
    present = ", ".join(names) or "none"
    raise ValueError(Errors.SP079.format(name=name, present=present))


def prepare_examples(
    nlp: Language, name: str, examples: Sequence[Example]
) -> List[Example]:
    """Run the preceding components of the pipeline on copies of the documents.

    RETURNS (List[Example]): the annotated examples, as the component gets them.
    """
    key = nlp.get_pipe(name).cfg["spans_key"]  # type: ignore[attr-defined]
    kept = annotated_examples(examples, key)
    before = nlp.pipe_names[: nlp.pipe_names.index(name)]
    with nlp.select_pipes(enable=before):
        docs = list(nlp.pipe(eg.predicted.copy() for eg in kept))
    return [Example(doc, eg.reference) for doc, eg in zip(docs, kept)]


def mean_loss(pipe: Any, examples: Sequence[Example], *, hard: bool = True) -> float:
    """Compute the loss, with the same random numbers each time.

    examples (Sequence[Example]): see `prepare_examples`.
    hard (bool): whether targets are not smoothed; otherwise they are as in training.
    RETURNS (float): mean over batches, weighted by their number of documents; within a
        batch, the mean over windows. 0 without documents.
    """
    cfg, rng = dict(pipe.cfg), pipe.rng
    if hard:
        pipe.cfg.update({name: value for name, value in HARD.items() if name in cfg})
    pipe.rng = np.random.default_rng(0)
    total = 0.0
    try:
        for batch in minibatch(examples, BATCH_DOCS):
            total += pipe.get_loss(batch)[0] * len(batch)
    finally:
        pipe.cfg.update(cfg)
        pipe.rng = rng
    return total / len(examples) if examples else 0.0

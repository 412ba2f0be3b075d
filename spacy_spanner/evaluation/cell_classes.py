"""How well a trained model tells the classes of cells that are no labels, such as the
offsets of `span_offset`: Table 5 of its paper.
"""

from typing import Any, Dict, List, Sequence

import numpy as np
import torch
from spacy.language import Language
from spacy.training import Example
from spacy.util import minibatch
from torch import nn

from ..errors import Errors
from ..layers.span_model import measure_loss
from ..models.codec import ClassCounts, SpanCodec, WindowBatch
from ..pipeline.gold import GoldReader, read_batch
from ..pipeline.state import MadeSettings
from .counts import Counts
from .landscape import prepare_examples

BATCH_DOCS = 64
ALL = "all"


class CountingCodec:
    """Stands in for the codec of a component: it counts instead of measuring a loss."""

    def __init__(self, codec: SpanCodec) -> None:
        """codec (SpanCodec): makes the targets, and counts."""
        self.codec = codec
        self.targets, self.lost, self.cells = codec.targets, codec.lost, codec.cells
        self.found: List[ClassCounts] = []

    def loss(self, module: nn.Module, batch: WindowBatch, targets: Any) -> torch.Tensor:
        """RETURNS (Tensor): 0; the counts are kept."""
        counts = self.codec.count_classes(module, batch, targets)
        if counts is not None:
            self.found.append(counts)
        return batch.vectors.new_zeros(())


def count_cells(nlp: Language, name: str, examples: Sequence[Example]) -> ClassCounts:
    """Count the cells of documents by gold class and predicted class.

    nlp (Language): the trained pipeline.
    name (str): the component.
    examples (Sequence[Example]): annotated documents.
    RETURNS (ClassCounts): the sums.
    RAISES (ValueError): SP093 for a model without such classes.
    """
    pipe: Any = nlp.get_pipe(name)
    counting: Any = CountingCodec(pipe.codec)
    made, reader = MadeSettings(pipe.settings, counting), GoldReader(name)
    rng = np.random.default_rng(pipe.settings.seed)
    for batch in minibatch(prepare_examples(nlp, name, examples), BATCH_DOCS):
        work, gold = read_batch(batch, made, pipe.head_label_ids, reader, rng)
        measure_loss(pipe.model, [eg.predicted for eg in batch], work, gold)
    if not counting.found:
        raise ValueError(Errors.SP093.format(component=name))
    total = np.sum([one.counts for one in counting.found], axis=0)
    return ClassCounts(counting.found[0].names, total)


def class_scores(found: ClassCounts) -> Dict[str, Dict[str, Any]]:
    """Score each class but the first, and all of these together.

    RETURNS (Dict[str, Dict[str, Any]]): `p`, `r`, `f` and the number of `gold` cells,
        by the name of the class; the last is "all".
    """
    hits, gold = found.counts.diagonal(), found.counts.sum(axis=1)
    predicted = found.counts.sum(axis=0)
    chosen = {name: [place] for place, name in enumerate(found.names) if place}
    chosen[ALL] = [place for places in chosen.values() for place in places]
    scores = {}
    for name, part in chosen.items():
        right, n_gold = int(hits[part].sum()), int(gold[part].sum())
        counts = Counts(right, n_gold, right, int(predicted[part].sum()))
        scores[name] = {**counts.prf, "gold": n_gold}
    return scores

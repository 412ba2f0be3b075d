"""An augmenter that keeps the neighbours of sentences in training and evaluation."""

from typing import Callable, Iterator

from spacy.language import Language
from spacy.training import Example
from spacy.util import registry

from ..encoders.surroundings import copy_neighbours

Augmenter = Callable[[Language, Example], Iterator[Example]]


@registry.augmenters("spacy_spanner.neighbours.v1")
def make_neighbours() -> Augmenter:
    """Let encoders read the neighbours of sentences in training and evaluation.

    spaCy makes the documents to predict from the text alone. This gives them the
    neighbouring sentences that `spanner convert --split-sentences --context` has stored
    with each sentence, for `context` of spacy_spanner.Transformer.v1.

    RETURNS (Callable): the augmenter, which adds no examples.
    """
    return give_neighbours


def give_neighbours(nlp: Language, example: Example) -> Iterator[Example]:
    """YIELDS (Example): the example, with the stored neighbours."""
    copy_neighbours(example.reference, example.predicted)
    yield example

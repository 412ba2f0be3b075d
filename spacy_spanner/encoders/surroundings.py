"""The sentences around a document that is a single sentence of a longer text.

Corpora are often split into sentences, to learn from batches of them. An encoder that
reads neighbouring sentences as context does not find them in the text of the document,
but in its user data.
"""

from itertools import accumulate, chain
from typing import Any, List, NamedTuple, Optional, Sequence

import numpy as np
from spacy.tokens import Doc

from ..layers.doc_arrays import sentence_starts
from ..spans.table import Ints

# Key in `Doc.user_data`: the words of the sentences before and after the document.
NEIGHBOURS = "spanner_neighbours"


class Surroundings(NamedTuple):
    """The words of a document and of its neighbours.

    words (List[str]): of the neighbours before, the document, and the neighbours after.
    start, end (int): the words of the document; `end` is exclusive.
    sentence_starts (Optional[Sequence[int]]): first words of sentences, if known.
    """

    words: List[str]
    start: int
    end: int
    sentence_starts: Optional[Sequence[int]]


def set_neighbours(
    doc: Doc, before: Sequence[Sequence[str]], after: Sequence[Sequence[str]]
) -> None:
    """Store the sentences around a document with it, as lists of words."""
    user_data: Any = doc.user_data
    user_data[NEIGHBOURS] = [list(map(list, before)), list(map(list, after))]


def copy_neighbours(source: Doc, target: Doc) -> None:
    """Give a document the neighbours of another one with the same text."""
    if NEIGHBOURS in source.user_data:
        target.user_data[NEIGHBOURS] = source.user_data[NEIGHBOURS]


def with_neighbours(doc: Doc, context: int) -> Surroundings:
    """RETURNS (Surroundings): the words that an encoder reads for a document.

    context (int): sentences on each side; there may be fewer, or none.
    """
    words = [token.text for token in doc]
    starts = sentence_starts(doc)
    before, after = doc.user_data.get(NEIGHBOURS, ((), ()))
    if not context or not words or not (before or after):
        return Surroundings(words, 0, len(words), starts)
    before, after = before[-context:], after[:context]
    edges = [0, *accumulate(map(len, before))]
    start, end = edges[-1], edges[-1] + len(words)
    own = (start + index for index in starts or ())
    known = {*edges, *own, *accumulate(map(len, after), initial=end)}
    everything = [*chain(*before), *words, *chain(*after)]
    return Surroundings(everything, start, end, sorted(known))


def own_tokens(read: Sequence[Surroundings], token_start: Ints) -> Ints:
    """Find the documents' own tokens among those that were read.

    token_start (Ints): where each document with its neighbours begins. (doc,)
    RETURNS (Ints): positions in the concatenated words. (token,)
    """
    ranges = [
        np.arange(first + one.start, first + one.end)
        for one, first in zip(read, token_start)
    ]
    return np.concatenate([np.zeros(0, dtype=np.int64), *ranges])

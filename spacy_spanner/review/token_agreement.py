"""Cohen's kappa and Krippendorff's alpha on tokens.

Both compare one category of each token: the label of the span that it is in, or none.
Where spans overlap, a token has several, and neither measure means anything. By label,
the question is whether a token is in a span of this label, which always has an answer.
"""

from typing import Any, List, NamedTuple, Sequence

import numpy as np
from numpy.typing import NDArray
from spacy.tokens import Doc

from .versions import Ints, Units

Doubles = NDArray[np.float64]


class Tokens(NamedTuple):
    """The tokens of all documents, on one axis of characters. Shapes: (token,)

    start, end (Ints): characters.
    doc (Ints): number of the document.
    offsets (Ints): first character of each document. Shape: (doc,)
    """

    start: Ints
    end: Ints
    doc: Ints
    offsets: Ints

    @classmethod
    def of(cls, docs: Sequence[Doc]) -> "Tokens":
        """RETURNS (Tokens): the tokens of documents, without white space."""
        sizes = np.asarray([len(doc.text) + 1 for doc in docs], dtype=np.int64)
        offsets = np.cumsum(sizes) - sizes
        rows = [doc.to_array(["IDX", "LENGTH", "IS_SPACE"]).astype(int) for doc in docs]
        doc = np.repeat(np.arange(len(docs)), [len(row) for row in rows])
        table = np.concatenate(rows)
        start = table[:, 0] + offsets[doc]
        words = table[:, 2] == 0
        end = start + table[:, 1]
        return cls(start[words], end[words], doc[words], offsets)

    def covered(self, units: Units) -> Ints:
        """RETURNS (Ints): how many spans each token is in, or partly in. Shape:
        (token,)
        """
        offset = self.offsets[units.doc]
        first = np.searchsorted(self.end, units.start + offset, side="right")
        last = np.searchsorted(self.start, units.end + offset, side="left")
        steps = np.zeros(len(self.start) + 1, dtype=np.int64)
        np.add.at(steps, first, 1)
        np.add.at(steps, last, -1)
        return np.cumsum(steps[:-1])


class Values(NamedTuple):
    """A category of each token in each version.

    values (NDArray[Any]): 0 for none. Shape: (version, token)
    n_values (int): number of categories.
    overlapping (bool): whether a token is in several spans of a version.
    """

    values: NDArray[Any]
    n_values: int
    overlapping: bool


def values_by_label(tokens: Tokens, versions: Sequence[Units], n_labels: int) -> Values:
    """RETURNS (Values): the label of each token, from 1; of several, the last one."""
    values = np.zeros((len(versions), len(tokens.start)), dtype=np.int64)
    overlapping = False
    for row, units in zip(values, versions):
        overlapping = overlapping or bool((tokens.covered(units) > 1).any())
        for label in range(n_labels):
            row[tokens.covered(units.take(units.label == label)) > 0] = label + 1
    return Values(values, n_labels + 1, overlapping)


def values_of_label(tokens: Tokens, versions: Sequence[Units], label: int) -> Values:
    """RETURNS (Values): whether each token is in a span of the label."""
    rows: List[NDArray[Any]] = [
        (tokens.covered(units.take(units.label == label)) > 0).astype(np.int8)
        for units in versions
    ]
    return Values(np.stack(rows), 2, False)


def token_counts(tokens: Tokens, found: Values, n_docs: int) -> Doubles:
    """Count what both measures are computed from, by document, so that sums over
    documents are those of a sample.

    RETURNS (Doubles): tokens, pairs of versions that agree, and how often each version
        has each category. Shape: (doc, 2 + version x category)
    """
    values, n_values, _ = found
    n_versions = len(values)
    agree = np.zeros(values.shape[1])
    for place, row in enumerate(values):
        agree += (values[place + 1 :] == row).sum(axis=0)
    columns = [
        np.bincount(tokens.doc, minlength=n_docs),
        np.bincount(tokens.doc, weights=agree, minlength=n_docs),
    ]
    table = np.zeros((n_docs, n_versions, n_values))
    for place, row in enumerate(values):
        np.add.at(table[:, place], (tokens.doc, row), 1)
    return np.concatenate([np.stack(columns, 1), table.reshape(n_docs, -1)], axis=1)


def kappa_of(counts: Doubles, n_values: int) -> Doubles:
    """RETURNS (Doubles): Cohen's kappa of two versions; not a number if both have one
    category only. Shape: (...)

    counts (Doubles): sums of `token_counts`. Shape: (..., 2 + 2 x category)
    """
    n_tokens, agree = counts[..., 0], counts[..., 1]
    marginals = counts[..., 2:].reshape(*counts.shape[:-1], 2, n_values)
    with np.errstate(invalid="ignore", divide="ignore"):
        chance = marginals.prod(axis=-2).sum(axis=-1) / n_tokens**2
        return np.where(chance < 1, (agree / n_tokens - chance) / (1 - chance), np.nan)


def alpha_of(counts: Doubles, n_versions: int) -> Doubles:
    """RETURNS (Doubles): Krippendorff's alpha for categories without an order; not a
    number if there is one only. Shape: (...)

    counts (Doubles): sums of `token_counts`. Shape: (..., 2 + version x category)
    """
    n_tokens, agree = counts[..., 0], counts[..., 1]
    values = counts[..., 2:].reshape(*counts.shape[:-1], n_versions, -1).sum(axis=-2)
    n_pairs = n_versions * (n_versions - 1) / 2
    total = n_tokens * n_versions
    with np.errstate(invalid="ignore", divide="ignore"):
        observed = 1 - agree / (n_pairs * n_tokens)
        same = (values * (values - 1)).sum(axis=-1) / (total * (total - 1))
        return np.where(same < 1, 1 - observed / (1 - same), np.nan)

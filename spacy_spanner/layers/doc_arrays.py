"""Arrays of documents: where sentences start, and vectors of tokens and labels."""

from itertools import accumulate, pairwise
from typing import Iterable, List, Optional, Sequence, cast

import numpy as np
from spacy.tokens import Doc
from thinc.types import Floats2d, Floats3d
from thinc.util import torch2xp
from torch import Tensor

from ..spans.table import Ints

# The words of the document that spaCy makes up to initialize a pipeline without data.
PLACEHOLDER = ["x", "y", "z"]


def sentence_starts(doc: Doc) -> Optional[List[int]]:
    """RETURNS (Optional[List[int]]): first tokens of sentences; None if unknown."""
    if not doc.has_annotation("SENT_START"):
        return None
    return np.nonzero(doc.to_array("SENT_START") == 1)[0].tolist()


def split_rows(flat: Tensor, lengths: Sequence[int]) -> List[Floats2d]:
    """Cut the rows of concatenated documents into arrays of each document.

    flat (Tensor): detached from its graph. Shape: (token, width)
    lengths (Sequence[int]): tokens per document.
    RETURNS (List[Floats2d]): (token, width) of each document, without copies.
    """
    rows = cast(Floats2d, torch2xp(flat))
    return [rows[start:end] for start, end in pairwise([0, *accumulate(lengths)])]


class TypedVectors(List[Floats2d]):
    """Token vectors of each document, as every encoder returns them, with the label
    vectors of an encoder with prompts for each segment of the text.

    types (Floats3d): a vector of each label. Shape: (segment, label, width)
    segment (Ints): the segment of each token of the concatenated documents. (token,)

    Gradients have the same form.
    """

    def __init__(
        self, vectors: Iterable[Floats2d], types: Floats3d, segment: Ints
    ) -> None:
        super().__init__(vectors)
        self.types = types
        self.segment = segment


def is_placeholder(doc: Doc) -> bool:
    """RETURNS (bool): whether this is the document of `nlp.initialize()` without data:
    it has its words, and no annotation.
    """
    annotated = doc.spans or doc.has_annotation("ENT_IOB")
    return not annotated and [token.text for token in doc] == PLACEHOLDER

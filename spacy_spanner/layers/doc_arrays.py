"""Columns of documents as arrays, read in one call each."""

from typing import List, Optional, Sequence

import numpy as np
from spacy.tokens import Doc

from ..spans.table import Bools


def sentence_starts(doc: Doc) -> Optional[List[int]]:
    """RETURNS (Optional[List[int]]): first tokens of sentences; None if unknown."""
    if not doc.has_annotation("SENT_START"):
        return None
    return np.nonzero(doc.to_array("SENT_START") == 1)[0].tolist()


def white_space(docs: Sequence[Doc]) -> Bools:
    """RETURNS (Bools): which tokens of the concatenated documents are white space."""
    columns = [doc.to_array("IS_SPACE").astype(bool) for doc in docs]
    return np.concatenate([np.zeros(0, dtype=bool), *columns])

"""Examples of predicted and gold spans, and their rounded scores."""

from typing import Dict, List, Optional, Sequence

import numpy as np
from spacy.tokens import Doc
from spacy.training import Example
from spacy.vocab import Vocab

from ...helpers import Gold, annotate

WORDS = list("abcdefgh")
GOLD: Gold = [(0, 4, "A"), (1, 2, "B"), (6, 7, "A")]
PREDICTED: Gold = [(0, 4, "A"), (6, 7, "A"), (7, 8, "B")]


def example_of(
    predicted: Optional[Gold],
    gold: Optional[Gold],
    scores: Optional[Sequence[float]] = None,
    key: str = "ents",
) -> Example:
    vocab = Vocab()
    docs = Doc(vocab, words=WORDS), Doc(vocab, words=WORDS)
    for doc, spans in zip(docs, (predicted, gold)):
        if spans is not None:
            annotate(doc, spans, key)
    if scores is not None:
        docs[0].spans[key].attrs["scores"] = np.asarray(scores, dtype="f")
    return Example(*docs)


def prf(scores: Dict, prefix: str = "spans_ents") -> List[Optional[float]]:
    values = [scores[f"{prefix}_{letter}"] for letter in "prf"]
    return [value if value is None else round(value, 4) for value in values]

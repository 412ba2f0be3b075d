"""Examples without annotation, untrained components, and the warnings they give."""

import warnings
from contextlib import contextmanager
from typing import Iterator, List, Optional, Sequence, Tuple

from spacy.language import Language
from spacy.tokens import Doc
from spacy.training import Example

from spacy_spanner.pipeline.annotations import GoldSpans

from ...helpers import COURT_WORDS, NESTED, blank_pipeline, make_examples, train

LABELS = {"GPE": 0, "ORG": 1, "PER": 2}


@contextmanager
def coded_warnings() -> Iterator[List[str]]:
    """Collect the texts of this package's warnings, each time that they are given."""
    found: List[str] = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield found
    found.extend(str(one.message) for one in caught if "[SW" in str(one.message))


def same_words(nlp: Language, words: Sequence[str] = COURT_WORDS) -> Example:
    """Make an example without annotation."""
    words = list(words)
    return Example(Doc(nlp.vocab, words=words), Doc(nlp.vocab, words=words))


def rows(gold: Optional[GoldSpans]) -> List[Tuple[int, int, int]]:
    assert gold is not None
    return [(start, end, label) for start, end, label, _ in gold.spans.rows()]


def initialized(factory: str, **settings: object) -> Language:
    """Make an untrained component for the labels of `NESTED`."""
    nlp = blank_pipeline(factory, **settings)
    train(nlp, make_examples(nlp, NESTED), updates=0)
    return nlp

"""Documents that are predicted one by one."""

from typing import List

import pytest
from spacy.language import Language
from spacy.tokens import Doc

from .helpers import MANY


@pytest.fixture
def alone(nlp: Language) -> List[Doc]:
    """Each text as a batch of its own."""
    return [nlp(text) for text in MANY]

"""A stored pipeline, which tests may damage."""

from pathlib import Path

import pytest
from spacy.language import Language


@pytest.fixture
def folder(nlp: Language, tmp_path: Path) -> Path:
    nlp.to_disk(tmp_path / "good")
    return tmp_path / "good"

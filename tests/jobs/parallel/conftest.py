"""A corpus for small trainings."""

from pathlib import Path

import pytest

from ...runs import write_corpus


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_corpus(tmp_path_factory.mktemp("data") / "corpus.spacy")

"""A trained pipeline on disk, whose workers can be made to fail."""

from pathlib import Path

import pytest

from spacy_spanner.jobs.spacy_commands import import_code

from ...helpers import trained_copy
from .helpers import TROUBLE
from .trouble import MARKERS


@pytest.fixture(scope="session")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small trained model after a component that fails on request."""
    import_code(TROUBLE)
    nlp = trained_copy("span_biaffine")
    nlp.add_pipe("spanner_test_trouble", first=True)
    path = tmp_path_factory.mktemp("pipeline") / "trouble"
    nlp.to_disk(path)
    return path


@pytest.fixture
def markers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder in which workers record the deaths that happen only once."""
    folder = tmp_path / "markers"
    folder.mkdir()
    monkeypatch.setenv(MARKERS, str(folder))
    return folder

"""What the tests of several commands start from."""

from pathlib import Path

import pytest

from ..helpers import trained


@pytest.fixture
def model(tmp_path: Path) -> str:
    """The folder of a trained pipeline."""
    path = tmp_path / "model"
    trained("span_biaffine").to_disk(path)
    return str(path)

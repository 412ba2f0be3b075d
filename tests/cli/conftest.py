"""What the tests of several commands start from."""

from pathlib import Path

import pytest

from ..helpers import NESTED, texts, trained
from ..runs import callbacks, make_config, write_corpus


@pytest.fixture
def model(tmp_path: Path) -> str:
    """The folder of a trained pipeline."""
    path = tmp_path / "model"
    trained("span_biaffine").to_disk(path)
    return str(path)


@pytest.fixture
def read(tmp_path: Path) -> Path:
    """Texts without annotation."""
    path = tmp_path / "texts.txt"
    path.write_text("\n".join(filter(None, texts(NESTED))), encoding="utf8")
    return path


@pytest.fixture
def student(tmp_path: Path) -> Path:
    """The config of a student, which `stopping` can stop."""
    path = tmp_path / "student.cfg"
    config = make_config(write_corpus(tmp_path / "gold.spacy"), callbacks())
    config.to_disk(path)
    return path

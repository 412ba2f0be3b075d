"""A corpus for small trainings, and a run that was stopped on the way."""

from pathlib import Path

import pytest

from ...runs import callbacks, make_config, run, stored_in, stored_steps, write_corpus


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_corpus(tmp_path_factory.mktemp("data") / "corpus.spacy")


@pytest.fixture(scope="module")
def stopped(corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run that is stored at step 10, whose best score is that of step 6."""
    folder = tmp_path_factory.mktemp("stopped")
    run(make_config(corpus, callbacks(stored_in(folder))), folder / "out", stop_at=11)
    assert stored_steps(folder) == ["step-10"]
    return folder

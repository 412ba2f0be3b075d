"""Pipelines that were written half, or not at all."""

import shutil
from pathlib import Path
from typing import Any, List

import pytest
import spacy
from spacy.language import Language

from ..helpers import FACTORIES, NESTED, copy_of, make_examples, trained_copy
from .helpers import Count, full_disk, predictions

PARTS = ["cfg", "model", "digests"]


def changed(nlp: Language) -> Language:
    """Give a pipeline of the same kind that predicts something else."""
    other = copy_of(nlp)
    examples = make_examples(other, [(text, []) for text, _ in NESTED])
    optimizer = other.resume_training()
    for _ in range(3):
        other.update(examples, sgd=optimizer)
    assert predictions(other) != predictions(nlp)
    return other


def limits(path: Path) -> List[int]:
    sizes = {(path / part).stat().st_size for part in PARTS}
    return sorted({0, *(size - 1 for size in sizes), max(sizes) // 2})


def test_full_disk_leaves_the_stored_component_alone(
    nlp: Language, factory: str, folder: Path, tried: Count
) -> None:
    path, other = folder / factory, changed(nlp)
    before = {file.name: file.read_bytes() for file in path.iterdir()}
    for n_bytes in limits(path):
        tried("full disks")
        with full_disk(n_bytes), pytest.raises(OSError):
            other.get_pipe(factory).to_disk(path)
        assert {file.name: file.read_bytes() for file in path.iterdir()} == before
    assert not [file for file in folder.iterdir() if file.name.startswith(".")]
    other.get_pipe(factory).to_disk(path)
    assert predictions(spacy.load(folder)) == predictions(other)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_full_disk_never_leaves_a_mixture_of_pipelines(
    nlp: Language, factory: str, folder: Path, tried: Count
) -> None:
    other = changed(nlp)
    for n_bytes in limits(folder / factory):
        tried("full disks")
        with full_disk(n_bytes), pytest.raises(OSError):
            other.to_disk(folder)
        try:
            found = predictions(spacy.load(folder))
        except Exception as error:  # files of spaCy's own
            assert str(error)
        else:
            assert found == predictions(nlp)
        nlp.to_disk(folder)


@pytest.mark.parametrize("factory", FACTORIES[:1])  # nothing here depends on the model
@pytest.mark.parametrize("n_files", [0, 1, 2])
def test_interruption_between_two_files_is_noticed(
    nlp: Language,
    factory: str,
    folder: Path,
    n_files: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    other = changed(nlp)
    replace, moved = shutil.os.replace, []

    def move_some(*paths: Any) -> None:
        if len(moved) == n_files:
            raise KeyboardInterrupt
        moved.append(paths)
        replace(*paths)

    with monkeypatch.context() as patch:
        patch.setattr("spacy_spanner.files.os.replace", move_some)
        with pytest.raises(KeyboardInterrupt):
            other.get_pipe(factory).to_disk(folder / factory)
    if n_files == len(["cfg", "digests"]):
        with pytest.raises(ValueError, match="SP148"):
            spacy.load(folder)
    else:  # the settings of both are the same
        assert predictions(spacy.load(folder)) == predictions(nlp)


def test_component_stored_in_a_folder_that_does_not_exist(
    nlp: Language, factory: str, tmp_path: Path
) -> None:
    nlp.get_pipe(factory).to_disk(str(tmp_path / "new"))
    loaded = trained_copy(factory).get_pipe(factory).from_disk(str(tmp_path / "new"))
    assert loaded.labels == nlp.get_pipe(factory).labels

"""Stored pipelines that were truncated, changed, or mixed up."""

import random
import shutil
import warnings
from pathlib import Path
from typing import Iterator, List

import numpy as np
import pytest
import spacy
from spacy.language import Language
from thinc.api import Model

from spacy_spanner.layers.torch_head import get_shim

from ..helpers import (
    FACTORIES,
    NESTED,
    blank_pipeline,
    copy_of,
    make_examples,
    predicted_rows,
    trained,
)
from .helpers import Count, predictions


def flipped(data: bytes, place: int) -> bytes:
    """Change one bit."""
    changed = bytearray(data)
    changed[place // 8] ^= 1 << place % 8
    return bytes(changed)


def some_places(n_places: int, n_wanted: int) -> List[int]:
    """Choose places, of which the first and the last are always there."""
    drawn = random.Random(0).sample(range(n_places), min(n_wanted, n_places))
    return sorted({0, n_places - 1, *drawn})


def damages(data: bytes, n_wanted: int) -> Iterator[bytes]:
    """Yield data that is cut off, changed, or more than it was."""
    yield b""
    yield data + b"\0"
    yield from (data[:size] for size in some_places(len(data), n_wanted))
    yield from (flipped(data, n) for n in some_places(8 * len(data), n_wanted))


# ------------------------------------------------------------------- weights


def test_component_on_disk_with_damaged_weights_is_refused(
    nlp: Language, factory: str, tmp_path: Path, tried: Count
) -> None:
    nlp.get_pipe(factory).to_disk(tmp_path)
    weights = (tmp_path / "model").read_bytes()
    fresh = blank_pipeline(factory).get_pipe(factory)
    for damaged in damages(weights, 20):
        tried("damaged files")
        (tmp_path / "model").write_bytes(damaged)
        with pytest.raises(
            ValueError, match=rf"SP148.*'{factory}'.*model differs from"
        ):
            fresh.from_disk(tmp_path)
    (tmp_path / "model").write_bytes(weights)
    fresh.from_disk(tmp_path)


def test_component_bytes_that_are_damaged_are_refused(
    nlp: Language, factory: str, tried: Count
) -> None:
    stored = nlp.get_pipe(factory).to_bytes(exclude=["vocab"])
    expected = predictions(nlp)
    own = copy_of(nlp)
    for damaged in damages(stored, 40):
        tried("damaged bytes")
        with warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter("always")
            try:
                own.get_pipe(factory).from_bytes(damaged)
            except ValueError as error:
                assert str(error).startswith("[SP")
                continue
        # Only where a bit that means nothing was changed, or settings, in full sight.
        assert any("SW146" in str(one.message) for one in seen) or (
            predictions(own) == expected
        )


def test_bytes_of_something_else_are_refused(factory: str) -> None:
    pipe = blank_pipeline(factory).get_pipe(factory)
    for data in (b"", b"\xc0", b"\x93\x01\x02\x03", b"\x80", b"text"):
        with pytest.raises(ValueError, match="SP148"):
            pipe.from_bytes(data)


def test_pipeline_bytes_cut_off_are_refused(
    nlp: Language, factory: str, tried: Count
) -> None:
    stored, fresh = nlp.to_bytes(), blank_pipeline(factory)
    for size in some_places(len(stored), 20)[:-1]:
        tried("damaged bytes")
        with pytest.raises(ValueError, match=r"incomplete|SP148"):
            fresh.from_bytes(stored[:size])


def spoil(model: Model, place: str, value: float) -> None:
    """Put a value into the head or the encoder, or take it out again."""
    if place == "head":
        module = get_shim(model.get_ref("output_layer")).module
        next(iter(module.parameters())).data.view(-1)[-1] = value
    else:
        node = next(n for n in model.get_ref("tok2vec").walk() if n.has_param("W"))
        node.get_param("W").flat[-1] = value


def test_weights_that_are_no_numbers_are_not_loaded(
    own_nlp: Language, factory: str
) -> None:
    pipe = own_nlp.get_pipe(factory)
    fresh = blank_pipeline(factory).get_pipe(factory)
    for place, value in (("head", np.nan), ("encoder", np.inf), ("encoder", np.nan)):
        spoil(pipe.model, place, value)
        with pytest.raises(ValueError, match=rf"SP149.*'{factory}'.*in 1 tensors"):
            fresh.from_bytes(pipe.to_bytes())
        spoil(pipe.model, place, 0.0)
    fresh.from_bytes(pipe.to_bytes())


def test_component_with_a_missing_file(
    nlp: Language, factory: str, tmp_path: Path, tried: Count
) -> None:
    pipe = nlp.get_pipe(factory)
    fresh = blank_pipeline(factory).get_pipe(factory)
    for part in ("cfg", "model"):
        tried("damaged files")
        pipe.to_disk(tmp_path / part)
        (tmp_path / part / part).unlink()
        with pytest.raises(ValueError, match=rf"SP148.*its {part} is missing"):
            fresh.from_disk(tmp_path / part)
    pipe.to_disk(tmp_path / "old")
    (tmp_path / "old" / "digests").unlink()  # as older versions stored it
    fresh.from_disk(tmp_path / "old")
    docs = [nlp.make_doc(text) for text, _ in NESTED]
    assert predicted_rows(fresh, docs) == predicted_rows(pipe, docs)


def test_component_that_is_missing_whole(factory: str, folder: Path) -> None:
    shutil.rmtree(folder / factory)
    with pytest.raises(ValueError, match="SP148"):
        spacy.load(folder)


def test_weights_of_another_component_are_refused(
    folder: Path, factory: str, tried: Count
) -> None:
    other = FACTORIES[FACTORIES.index(factory) - 1]
    tried("damaged files", 2)
    trained(other).get_pipe(other).to_disk(folder / "other")
    shutil.copy(folder / "other" / "model", folder / factory / "model")
    with pytest.raises(ValueError, match="SP148"):
        spacy.load(folder)
    (folder / factory / "digests").unlink()
    with pytest.raises(ValueError, match="SP150"):
        spacy.load(folder)


def test_parts_of_two_trainings_are_refused(
    own_nlp: Language, factory: str, folder: Path
) -> None:
    own_nlp.update(make_examples(own_nlp, NESTED), sgd=own_nlp.resume_training())
    own_nlp.get_pipe(factory).to_disk(folder / "other")
    shutil.copy(folder / "other" / "model", folder / factory / "model")
    with pytest.raises(ValueError, match="SP148"):
        spacy.load(folder)


@pytest.mark.parametrize("excluded", ["model", "cfg"])
def test_parts_that_are_not_loaded_need_not_be_whole(
    nlp: Language, factory: str, tmp_path: Path, excluded: str
) -> None:
    pipe = nlp.get_pipe(factory)
    pipe.to_disk(tmp_path, exclude=[excluded, "vocab"])
    assert not (tmp_path / excluded).exists()
    loaded = copy_of(nlp).get_pipe(factory)
    loaded.from_disk(tmp_path, exclude=[excluded, "vocab"])
    loaded.from_bytes(pipe.to_bytes(exclude=[excluded]), exclude=[excluded])
    assert loaded.labels == pipe.labels


# -------------------------------------------------------- all of a pipeline


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("factory", FACTORIES[:1])  # nothing here depends on the model
def test_folder_with_any_file_cut_off_loads_as_it_was_or_not_at_all(
    nlp: Language, folder: Path, tried: Count
) -> None:
    expected = predictions(nlp)
    for file in sorted(path for path in folder.rglob("*") if path.is_file()):
        whole = file.read_bytes()
        for size in {0, len(whole) // 2, len(whole) - 1} - {-1, len(whole)}:
            tried("damaged files")
            file.write_bytes(whole[:size])
            try:
                found = predictions(spacy.load(folder))
            except Exception as error:
                assert str(error), f"{file.name} cut off at {size}: {error!r}"
            else:
                assert found == expected, f"{file.name} cut off at {size}"
        file.write_bytes(whole)

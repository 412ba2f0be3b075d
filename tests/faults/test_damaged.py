"""Stored pipelines that were truncated, changed, mixed up, or written half."""

import random
import resource
import shutil
import warnings
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Callable, Dict, Iterator, List

import numpy as np
import pytest
import spacy
import srsly
from spacy.language import Language
from thinc.api import Model

from spacy_spanner.layers.torch_head import get_shim

from ..helpers import (
    FACTORIES,
    NESTED,
    SMALL_ENCODER,
    Scored,
    blank_pipeline,
    copy_of,
    make_examples,
    predict_nested,
    scored_spans,
    trained,
    trained_copy,
)

Count = Callable[..., None]
PARTS = ["cfg", "model", "digests"]


@pytest.fixture
def folder(nlp: Language, tmp_path: Path) -> Path:
    nlp.to_disk(tmp_path / "good")
    return tmp_path / "good"


def predictions(nlp: Language) -> List[List[Scored]]:
    return [scored_spans(doc) for doc in predict_nested(nlp)]


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
        with pytest.raises(ValueError, match=rf"SP148.*'{factory}'.*model is not what"):
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
    assert fresh.predict(docs) == pipe.predict(docs)


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


# ------------------------------------------------------------------ settings


NO_SETTINGS = {
    "": "is no JSON",
    '{"labels": ["A"': "is no JSON",
    "[]": "holds no mapping",
    "null": "holds no mapping",
    '{"labels": "GPE"}': "holds no list of labels",
    '{"labels": [1, 2, 3]}': "holds no list of labels",
    '{"labels": ["A", "B", "A"]}': "holds a label twice",
    "{}": "holds no list of labels",
}


def test_settings_file_that_is_none(factory: str) -> None:
    pipe = blank_pipeline(factory).get_pipe(factory)
    message = srsly.msgpack_loads(pipe.to_bytes(exclude=["vocab"]))
    for text, problem in NO_SETTINGS.items():
        with pytest.raises(ValueError, match=rf"SP148.*cfg {problem}"):
            pipe.from_bytes(srsly.msgpack_dumps({**message, "cfg": text}))


def test_stored_setting_out_of_limits_fails_when_loaded(
    factory: str, folder: Path
) -> None:
    cfg = srsly.read_json(folder / factory / "cfg")
    srsly.write_json(folder / factory / "cfg", {**cfg, "overlap": "crossing"})
    with (
        pytest.warns(UserWarning, match=rf"SW146.*{factory}"),
        pytest.raises(ValueError, match=r"SP002.*'overlap'"),
    ):
        spacy.load(folder)


def test_edited_settings_are_loaded_with_a_warning(factory: str, folder: Path) -> None:
    cfg = srsly.read_json(folder / factory / "cfg")
    srsly.write_json(folder / factory / "cfg", {**cfg, "threshold": 0.9})
    with pytest.warns(UserWarning, match=rf"SW146.*{factory}"):
        nlp = spacy.load(folder)
    assert nlp.get_pipe(factory).settings.threshold == 0.9
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        copy_of(nlp)


@pytest.mark.parametrize("name", ["lstm_width", "hidden_width"])
def test_config_of_another_module_is_refused(
    factory: str, folder: Path, name: str
) -> None:
    config = spacy.util.load_config(folder / "config.cfg")
    model = config["components"][factory]["model"]
    if name not in model:
        pytest.skip(f"has no {name}")
    model[name] += 8
    config.to_disk(folder / "config.cfg")
    with pytest.raises(ValueError, match=r"(?s)SP150.*size mismatch"):
        spacy.load(folder)


@pytest.mark.parametrize("factory", FACTORIES[:1])  # nothing here depends on the model
@pytest.mark.parametrize("change", [{"width": 48}, {"depth": 3}, {"embed_size": 64}])
def test_config_of_another_encoder_is_refused(
    factory: str, folder: Path, change: Dict[str, int]
) -> None:
    config = spacy.util.load_config(folder / "config.cfg")
    config["components"][factory]["model"]["tok2vec"] = {**SMALL_ENCODER, **change}
    config.to_disk(folder / "config.cfg")
    with pytest.raises(ValueError, match=r"\w{4} \w{2}"):
        spacy.load(folder)


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


# ------------------------------------------------------------------ full disk


@contextmanager
def full_disk(n_bytes: int) -> Iterator[None]:
    """Let every file end after some bytes, as on a disk that is full."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (n_bytes, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


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

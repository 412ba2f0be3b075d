"""The name of an encoder: a package, a folder, or nothing that is there."""

import sys
from pathlib import Path

import pytest

from spacy_spanner.encoders import pretrained
from spacy_spanner.encoders.pretrained import PackagedModel, resolve_name
from spacy_spanner.encoders.transformer import build_transformer

from .helpers import encoder_of


def test_packaged_name_that_is_not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    absent = PackagedModel("no_such_package", "model", "minilm")
    monkeypatch.setitem(pretrained.PACKAGED, "minilm", absent)
    model = build_transformer("minilm")
    with pytest.raises(ImportError, match=r"SP012.*no_such_package.*\[minilm\]"):
        model.initialize()


def test_packaged_name_is_the_folder_of_the_package(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "packaged_encoder").mkdir()
    broken = "raise RuntimeError('the package was imported')"
    (tmp_path / "packaged_encoder" / "__init__.py").write_text(broken)
    monkeypatch.syspath_prepend(tmp_path)
    entry = PackagedModel("packaged_encoder", "weights", "demo")
    monkeypatch.setitem(pretrained.PACKAGED, "demo", entry)
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


def test_transformer_without_its_package_names_the_extra(
    tiny_bert: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "transformers", None)
    with pytest.raises(ImportError, match=r"SP014.*spacy-spanner\[minilm\]"):
        encoder_of(tiny_bert)

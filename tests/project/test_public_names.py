"""What programs import: public names, and the names that modules had before."""

import subprocess
import sys
from importlib import import_module
from pathlib import Path
from typing import List

import pytest

import spacy_spanner

# The paths that the documentation of version 0.1 named.
DOCUMENTED = [
    ("scale.annotator", "SpanAnnotator"),
    ("scale.frames", "SPARK_COLUMNS"),
    ("corpus.convert", "read_docs"),
    ("corpus.lost", "LostSpans"),
    ("corpus.rows", "read_rows"),
    ("training.parameters", "register_pipeline"),
    ("codec", "SpanCodec"),
]


def run(*arguments: str) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True)


@pytest.mark.parametrize("name", spacy_spanner.__all__)
def test_public_name_is_there(name: str) -> None:
    assert getattr(spacy_spanner, name) is not None
    assert name in dir(spacy_spanner)


def test_public_names_are_all_that_can_be_loaded() -> None:
    assert {*spacy_spanner._PUBLIC, "__version__"} == set(spacy_spanner.__all__)
    with pytest.raises(AttributeError, match="nothing_of_ours"):
        _ = spacy_spanner.nothing_of_ours


def test_importing_the_package_loads_nothing_heavy() -> None:
    code = "import sys, spacy_spanner; print(*sys.modules)"
    loaded: List[str] = run("-c", code).stdout.split()
    assert "spacy_spanner" in loaded
    assert not {"spacy", "thinc", "torch", "numpy"} & set(loaded)


@pytest.mark.parametrize("module,name", DOCUMENTED)
def test_documented_path_still_works(module: str, name: str) -> None:
    for loaded in [one for one in sys.modules if one == f"spacy_spanner.{module}"]:
        if spacy_spanner._new_name(loaded):
            del sys.modules[loaded]
    if spacy_spanner._new_name(f"spacy_spanner.{module}"):
        with pytest.warns(DeprecationWarning, match="has moved to spacy_spanner"):
            old = import_module(f"spacy_spanner.{module}")
    else:
        old = import_module(f"spacy_spanner.{module}")
    assert hasattr(old, name)


def test_moved_module_is_the_module_and_no_copy() -> None:
    with pytest.warns(DeprecationWarning):
        old = import_module("spacy_spanner.windows")
    assert old is import_module("spacy_spanner.spans.windows")


@pytest.mark.parametrize("old", sorted(spacy_spanner._MOVED))
def test_moved_modules_exist(old: str) -> None:
    new = spacy_spanner._new_name(f"spacy_spanner.{old}")
    assert new is not None
    import_module(new)
    folder = Path(spacy_spanner.__file__).parent
    assert not folder.joinpath(*old.split(".")).with_suffix(".py").exists()


def test_torchrun_may_start_training_by_its_old_name() -> None:
    shown = run("-m", "spacy_spanner.parallel", "train", "--help").stdout
    assert "--output" in shown


def test_unknown_modules_are_unknown() -> None:
    with pytest.raises(ModuleNotFoundError, match="no_such_module"):
        import_module("spacy_spanner.no_such_module")
    with pytest.raises(ModuleNotFoundError, match="no_such_module"):
        import_module("spacy_spanner.sweep.no_such_module")

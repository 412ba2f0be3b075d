"""What programs import: public names, and the names that modules had before."""

import doctest
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from typing import List

import pytest
import spacy
from spacy.tokens import DocBin
from spacy.training import Corpus, Example
from thinc.api import fix_random_seed

import spacy_spanner
from spacy_spanner.corpus.statistics import Reach

from ..helpers import Data, make_examples, train

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


# ------------------------------------------------------------------ examples

TEXTS: Data = [
    (
        "The US Supreme Court will hear arguments from Leon County.",
        [(0, 4, "ORG"), (1, 2, "GPE"), (8, 10, "GPE")],
    ),
    (
        "The mayor of Boston met Ana Ruiz.",
        [(0, 4, "PER"), (3, 4, "GPE"), (5, 7, "PER")],
    ),
]
COLUMNS = "Ana B-PER\nRuiz I-PER\nis O\nin O\nBoston B-GPE\n. O\n"


@pytest.fixture(scope="module")
def workplace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files that the examples read: a trained pipeline and two corpora."""
    folder = tmp_path_factory.mktemp("examples")
    nlp = spacy.blank("en")
    nlp.add_pipe("span_offset")
    examples = make_examples(nlp, TEXTS)
    train(nlp, examples, updates=140)
    nlp.to_disk(folder / "model")
    DocBin(docs=[one.reference for one in examples]).to_disk(folder / "dev.spacy")
    (folder / "train.iob2").write_text(COLUMNS, encoding="utf8")
    return folder


@pytest.mark.parametrize("name", sorted({*spacy_spanner._PUBLIC} - {"SPARK_COLUMNS"}))
def test_example_of_a_public_name_runs(
    name: str, workplace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if name == "write_report":
        pytest.importorskip("matplotlib")
    monkeypatch.chdir(workplace)
    known = {"spacy": spacy, "Path": Path, "Example": Example, "Corpus": Corpus}
    known.update({one: getattr(spacy_spanner, one) for one in spacy_spanner.__all__})
    finder = doctest.DocTestFinder(recurse=False)
    (found,) = finder.find(known[name], name, globs={"Reach": Reach, **known})
    assert found.examples, f"{name} has no example"
    fix_random_seed(0)
    assert doctest.DocTestRunner().run(found).failed == 0

"""Undocumented names of other libraries are listed here, and guarded where used."""

import ast
import importlib
import re
from pathlib import Path
from typing import Dict, Iterator, List, NamedTuple, Set

import pytest
import spacy
import thinc
from thinc.api import Linear, PyTorchShim
from torch import nn

import spacy_spanner
from spacy_spanner.internals import internal
from spacy_spanner.layers.torch_shim import TorchShim

PACKAGE = Path(spacy_spanner.__file__).parent
FILES = sorted(PACKAGE.rglob("*.py"))
LIBRARIES = ("spacy", "thinc", "torch", "transformers")

# All that is read of other libraries without their documenting it: prefer documented
# names to an entry here.
INTERNALS: Dict[str, Set[str]] = {
    "encoders/fast/copies.py": {"_version"},
    "encoders/fast/linear.py": {"_int_mm"},
    "jobs/parallel/updates.py": {"_found_inf"},
    "jobs/run/optimizer_state.py": {"_optimizer"},
    "jobs/spacy_commands.py": {
        "import_code",
        "parse_config_overrides",
        "setup_gpu",
        "show_validation_error",
    },
    "layers/devices.py": {"_foreach_zero_"},
    "layers/predict_only.py": {"_func"},
    "layers/torch_shim.py": {"_grad_scaler", "_mixed_precision", "_model"},
    "training/averages.py": {"_foreach_lerp_"},
    "training/kernels.py": {"_foreach_norm"},
    "training/optimizer.py": {"_set_attr_or_schedule"},
}
# Documented, or of Python itself.
PUBLIC = {"_asdict", "_exit", "_fields", "_getframe", "_make", "_replace"}
OF_PYTHON = {"_run_exitfuncs"}


class Use(NamedTuple):
    """A private name in a file, and whether it is one of the object's own class."""

    file: str
    name: str
    of_self: bool


def tree_of(path: Path) -> ast.AST:
    return ast.parse(path.read_text(encoding="utf8"))


def is_private(name: str) -> bool:
    return bool(re.match(r"_[^_]", name))


def guarded(path: Path) -> Set[str]:
    """The names that a file passes to `internal`."""
    names: Set[str] = set()
    for node in ast.walk(tree_of(path)):
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "internal":
            names.add(ast.literal_eval(node.args[1]))
    return names


def own_names() -> Set[str]:
    """The private names that the package defines itself, and no library."""
    names: Set[str] = set()
    for path in FILES:
        for node in ast.walk(tree_of(path)):
            if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
                names.add(node.name)
            elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
                if ast.unparse(node.value) == "self":
                    names.add(node.attr)
            elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                names.add(node.id)
    return names.difference(*INTERNALS.values())


def source_of(kind: type) -> str:
    """The module of a class, if it is in Python or Cython."""
    path = Path(importlib.import_module(kind.__module__).__file__ or "")
    if path.suffix != ".py":
        path = path.with_name(kind.__module__.split(".")[-1] + ".pyx")
    return path.read_text(encoding="utf8") if path.is_file() else ""


def names_of_bases(path: Path) -> Set[str]:
    """The private names that the bases of a file's classes use, of other libraries."""
    parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
    try:
        module = importlib.import_module(".".join(parts))
    except ModuleNotFoundError as error:
        if str(error.name).startswith(PACKAGE.name):
            raise
        return set()  # it needs a package of an extra that is not installed
    own = [
        kind
        for kind in vars(module).values()
        if isinstance(kind, type) and kind.__module__ == module.__name__
    ]
    names: Set[str] = set()
    for base in {base for kind in own for base in kind.__mro__}:
        if base.__module__.split(".")[0] in LIBRARIES:
            names.update(re.findall(r"\bself\.(_\w+)", source_of(base)))
    return names


def uses_in(file: str, code: str, own: Set[str], inherited: Set[str]) -> Iterator[Use]:
    """Yield the private attributes in the code of a file that could be of a library."""
    for node in ast.walk(ast.parse(code)):
        if not isinstance(node, ast.Attribute) or not is_private(node.attr):
            continue
        of_self = ast.unparse(node.value) in ("self", "cls")
        foreign = node.attr in inherited if of_self else node.attr not in own
        if foreign and node.attr not in PUBLIC | OF_PYTHON:
            yield Use(file, node.attr, of_self)


def uses() -> Iterator[Use]:
    """Yield the private attributes in the package that could be of a library."""
    own = own_names()
    for path in FILES:
        started = path.name in ("__init__.py", "__main__.py")
        inherited = set() if started else names_of_bases(path)
        file, code = path.relative_to(PACKAGE).as_posix(), path.read_text("utf8")
        yield from uses_in(file, code, own, inherited)


def private_imports(path: Path) -> List[str]:
    """Imported modules or names that begin with an underscore, and are not our own."""
    found = []
    for node in ast.walk(tree_of(path)):
        if isinstance(node, ast.Import):
            found += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and not node.level:
            found += [f"{node.module}.{alias.name}" for alias in node.names]
    return [name for name in found if any(map(is_private, name.split(".")))]


def test_internals_are_those_of_the_list() -> None:
    found = {path.relative_to(PACKAGE).as_posix(): guarded(path) for path in FILES}
    assert {file: names for file, names in found.items() if names} == INTERNALS


def test_private_attributes_of_libraries_are_guarded() -> None:
    everywhere = set().union(*INTERNALS.values())
    unguarded = [
        use
        for use in uses()
        if use.name not in (everywhere if use.of_self else INTERNALS.get(use.file, ()))
    ]
    assert not unguarded


@pytest.mark.parametrize("folder", [PACKAGE, PACKAGE.parent / "scripts"])
def test_nothing_private_is_imported(folder: Path) -> None:
    found = {path.name: private_imports(path) for path in folder.rglob("*.py")}
    assert not {name: imports for name, imports in found.items() if imports}


def test_search_for_private_names_finds_them(tmp_path: Path) -> None:
    path = tmp_path / "sample.py"
    path.write_text(
        "from spacy.cli._util import app\nimport torch._dynamo\nimport os\n"
    )
    assert private_imports(path) == ["spacy.cli._util.app", "torch._dynamo"]
    code = "self._own; self._model; shim._model; other._own; row._replace(); x._lib"
    seen = {use.name for use in uses_in("a.py", code, {"_own"}, {"_model"})}
    assert seen == {"_model", "_lib"}
    assert "_model" not in own_names() and "_packer" in own_names()
    found = set(uses())
    assert Use("layers/torch_shim.py", "_grad_scaler", True) in found
    assert Use("encoders/pretrained.py", "_model", True) in found
    assert Use("jobs/parallel/updates.py", "_found_inf", False) in found


def test_internal_of_an_object_or_a_module() -> None:
    assert internal(Linear(1, 1), "_func")
    assert internal("spacy.cli._util", "import_code")


@pytest.mark.parametrize(
    ("thing", "missing"),
    [
        (Linear(1, 1), "thinc.model.Model._other"),
        (TorchShim(nn.Linear(1, 1)), "thinc.shims.pytorch.PyTorchShim._other"),
        ("spacy.cli._util", "spacy.cli._util._other"),
        ("spacy.cli._elsewhere", "spacy.cli._elsewhere._other"),
    ],
)
def test_internal_that_the_installed_version_lacks(thing: object, missing: str) -> None:
    library = spacy if missing.startswith("spacy") else thinc
    with pytest.raises(ImportError, match="SP064") as caught:
        internal(thing, "_other")
    assert missing in str(caught.value)
    assert f"{library.__name__} {library.about.__version__}" in str(caught.value)


def test_shim_on_a_thinc_with_other_names(monkeypatch: pytest.MonkeyPatch) -> None:
    def renamed(self: PyTorchShim, model: nn.Module, **_: object) -> None:
        self.module = model  # type: ignore[attr-defined]

    monkeypatch.setattr(PyTorchShim, "__init__", renamed)
    with pytest.raises(ImportError, match=r"SP064.*_model"):
        TorchShim(nn.Linear(1, 1))

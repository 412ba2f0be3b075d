"""The arrow rule: a room imports from the rooms to its left, never to its right.

The rooms belong to four worlds, numbers, torch, Thinc and spaCy, and the same holds for
what they import from outside.
"""

import ast
from pathlib import Path
from typing import Dict, Iterator, List, NamedTuple

import pytest

import spacy_spanner

PACKAGE = Path(spacy_spanner.__file__).parent
WORLDS = ["numbers", "torch", "thinc", "spacy"]

# From left to right, with the furthest world that a room may import from.
ROOMS: Dict[str, str] = {
    "errors": "numbers",
    "internals": "numbers",
    "output_checks": "numbers",
    "files": "numbers",
    "spans": "numbers",
    "settings": "numbers",
    "models": "torch",
    "layers": "thinc",
    "encoders": "thinc",
    "training": "spacy",
    "pipeline": "spacy",
    "factories": "spacy",
    "evaluation": "spacy",
    "corpus": "spacy",
    "review": "spacy",
    "preflight": "spacy",
    "jobs": "spacy",
    "cli": "spacy",
}
# One of the three files of each model registers it, further to the right.
OF_EACH_MODEL = {"register": "factories"}
# Which world a foreign package brings in.
FOREIGN = {"torch": "torch", "thinc": "thinc", "spacy": "spacy"}
# The names of spaCy that Thinc's rooms may use: what the registry and type hints need,
# and layers of Thinc that spaCy provides.
SPACY_IN_THINC = {
    "spacy.tokens.Doc",
    "spacy.util.registry",
    "spacy.ml.featureextractor.FeatureExtractor",
    "spacy.ml.staticvectors.StaticVectors",
}
# torchrun starts this one by its name.
STARTED_BY_NAME = {Path("jobs/parallel/__main__.py")}

FILES = sorted(path.relative_to(PACKAGE) for path in PACKAGE.rglob("*.py"))
CODE = [path for path in FILES if path.name != "__init__.py"]
MODELS = sorted(path.parent.name for path in PACKAGE.glob("models/*/codec.py"))


class Import(NamedTuple):
    """A name that a file imports, and the room or world that it comes from."""

    name: str
    room: str
    world: str


def room_of(path: Path) -> str:
    if path.parts[0] == "models" and len(path.parts) == 3:
        return OF_EACH_MODEL.get(path.stem, "models")
    return path.parts[0].removesuffix(".py")


def imported_names(path: Path) -> Iterator[str]:
    """Yield the dotted names that a file imports, relative ones made absolute."""
    package = ["spacy_spanner", *path.parent.parts]
    for node in ast.walk(ast.parse((PACKAGE / path).read_text(encoding="utf8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = package[: len(package) - node.level + 1] if node.level else []
            module = ".".join([*above, *filter(None, [node.module])])
            yield from (f"{module}.{alias.name}" for alias in node.names)


def own_file(name: str) -> Path:
    """Find the file of this package that an imported name lives in."""
    parts = name.split(".")[1:]
    for size in range(len(parts), 0, -1):
        path = Path(*parts[:size])
        if (PACKAGE / path).with_suffix(".py").is_file():
            return path.with_suffix(".py")
        if (PACKAGE / path / "__init__.py").is_file():
            return path / "__init__.py"
    return Path("__init__.py")


def imports_of(path: Path) -> Iterator[Import]:
    """Yield what a file imports from other rooms, and from the worlds outside."""
    for name in imported_names(path):
        root = name.split(".")[0]
        if root == "spacy_spanner":
            room = room_of(own_file(name))
            if room in ROOMS:
                yield Import(name, room, ROOMS[room])
        elif root in FOREIGN:
            yield Import(name, "", FOREIGN[root])


def allowed(path: Path, found: Import) -> bool:
    room, rooms = room_of(path), list(ROOMS)
    if found.room:
        return rooms.index(found.room) <= rooms.index(room)
    if ROOMS[room] == "thinc" and found.name in SPACY_IN_THINC:
        return True
    return WORLDS.index(found.world) <= WORLDS.index(ROOMS[room])


def test_every_entry_of_the_package_is_a_room() -> None:
    entries = {path.parts[0].removesuffix(".py") for path in FILES}
    named = set(ROOMS) - set(OF_EACH_MODEL.values())
    assert entries == {*named, "__init__"}


@pytest.mark.parametrize("room", ROOMS)
def test_room_imports_nothing_from_its_right(room: str) -> None:
    paths = [path for path in CODE if room_of(path) == room]
    assert paths
    wrong = [
        f"{path} imports {found.name}"
        for path in paths
        if path not in STARTED_BY_NAME
        for found in imports_of(path)
        if not allowed(path, found)
    ]
    assert not wrong


@pytest.mark.parametrize("model", MODELS)
def test_model_folder_imports_no_other_model(model: str) -> None:
    others = [f"spacy_spanner.models.{name}." for name in MODELS if name != model]
    for path in (PACKAGE / "models" / model).glob("*.py"):
        names = list(imported_names(path.relative_to(PACKAGE)))
        assert not [name for name in names if name.startswith(tuple(others))], path


@pytest.mark.parametrize("model", MODELS)
def test_model_folder_has_the_three_files(model: str) -> None:
    for name in ("codec.py", "module.py", "register.py"):
        assert (PACKAGE / "models" / model / name).is_file()


def test_shared_files_import_no_single_model() -> None:
    single = tuple(f"spacy_spanner.models.{model}." for model in MODELS)
    for path in FILES:
        if path.parts[:2] not in [("models", model) for model in MODELS]:
            names = imported_names(path)
            assert not [name for name in names if name.startswith(single)], path


def test_only_annotations_and_corpora_write_span_groups() -> None:
    for path in FILES:
        if path.parts[0] in ("corpus", "cli") or path.name == "annotations.py":
            continue
        tree = ast.parse((PACKAGE / path).read_text(encoding="utf8"))
        stored = [
            ast.unparse(target)
            for node in ast.walk(tree)
            if isinstance(node, ast.Assign)
            for target in node.targets
        ]
        assert not [target for target in stored if ".spans[" in target], path


def test_file_names_say_which() -> None:
    """The same name in two rooms makes a reader open the wrong file."""
    homes: Dict[str, List[str]] = {}
    for path in CODE:
        fixed = path.parts[0] == "models" and room_of(path) != "models"
        if not fixed and path.parts[0] != "cli" and path.name != "__main__.py":
            homes.setdefault(path.name, []).append(str(path))
    fixed_files = {"codec.py", "module.py"}
    twice = {name: paths for name, paths in homes.items() if len(paths) > 1}
    assert {name for name in twice} == fixed_files


def test_package_itself_imports_nothing_heavy() -> None:
    names = list(imported_names(Path("__init__.py")))
    assert names
    assert not [name for name in names if name.split(".")[0] in FOREIGN]


def test_layering_sees_what_files_import() -> None:
    found = {one.name: one for one in imports_of(Path("layers/torch_head.py"))}
    assert found["torch.Tensor"].world == "torch"
    assert found["spacy_spanner.models.scored_spans.Candidates"].room == "models"
    assert found["spacy_spanner.spans.table.SpanTable"].room == "spans"
    assert room_of(Path("models/biaffine/register.py")) == "factories"
    assert not allowed(Path("spans/table.py"), found["torch.Tensor"])
    assert not allowed(Path("models/codec.py"), Import("x", "pipeline", "spacy"))
    assert "biaffine" in MODELS

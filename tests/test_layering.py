"""The arrow rule: numbers, torch, Thinc, spaCy; no file imports from further right."""

import ast
from pathlib import Path
from typing import Dict, Iterator, List, Set

import pytest

import spacy_spanner

PACKAGE = Path(spacy_spanner.__file__).parent
WORLDS = ["numbers", "torch", "thinc", "spacy"]

# Files and folders of each world; what is not named belongs to spaCy.
HOMES: Dict[str, List[str]] = {
    "numbers": [
        "errors.py",
        "types.py",
        "spans.py",
        "windows.py",
        "settings.py",
        "temperature.py",
        "evaluation/bootstrap.py",
        "evaluation/calibration.py",
        "evaluation/confusion.py",
        "evaluation/counts.py",
        "evaluation/figures/*.py",
        "evaluation/markup.py",
        "evaluation/matching.py",
        "evaluation/partial.py",
        "evaluation/records.py",
        "evaluation/tables.py",
        "evaluation/thresholds.py",
        "evaluation/analyses/variants.py",
        "scale/cutting.py",
        "scale/frames.py",
        "scale/journal.py",
        "scale/lock.py",
        "scale/parquet.py",
        "scale/records.py",
        "models/*/smoothing.py",
        "models/*/soft_nms.py",
        "models/*/assignment.py",
        "models/*/offsets.py",
        "models/*/targets.py",
        "parallel/splitting.py",
        "training/shares.py",
    ],
    "torch": [
        "codec.py",
        "nn/*.py",
        "models/*/module.py",
        "models/*/codec.py",
        "models/*/noise.py",
        "models/*/matching.py",
        "models/*/fusion.py",
        "models/*/convolution.py",
        "models/*/decoding.py",
        "models/*/boundaries.py",
        "models/*/examples.py",
        "models/*/attention.py",
        "models/*/classifier.py",
        "models/*/loss.py",
        "models/*/pointer.py",
        "models/*/sampling.py",
        "models/*/tokens.py",
        "parallel/team.py",
    ],
    "thinc": ["layers/*.py", "encoders/*.py", "models/*/architecture.py"],
}
# Which world a foreign package brings in.
FOREIGN = {"torch": "torch", "thinc": "thinc", "spacy": "spacy", "srsly": "thinc"}
# The only names of spaCy in the world of Thinc: what the registry and hints need, and
# layers of Thinc that spaCy has.
SPACY_IN_THINC = {
    "spacy.tokens.Doc",
    "spacy.util.registry",
    "spacy.ml.featureextractor.FeatureExtractor",
    "spacy.ml.staticvectors.StaticVectors",
}

FILES = sorted(path.relative_to(PACKAGE) for path in PACKAGE.rglob("*.py"))
MODELS = sorted(path.parent.name for path in PACKAGE.glob("models/*/__init__.py"))


def world_of(path: Path) -> str:
    homes = [
        world
        for world, patterns in HOMES.items()
        if any(path.match(pattern) for pattern in patterns)
    ]
    return homes[0] if homes else "spacy"


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


def worlds_needed(path: Path) -> Dict[str, Set[str]]:
    """RETURNS (Dict[str, Set[str]]): imported names by their world."""
    needed: Dict[str, Set[str]] = {world: set() for world in WORLDS}
    for name in imported_names(path):
        root = name.split(".")[0]
        if root == "spacy_spanner":
            target = own_file(name)
            if target.name != "__init__.py":
                needed[world_of(target)].add(name)
        elif root in FOREIGN:
            needed[FOREIGN[root]].add(name)
    return needed


def allowed_anyway(path: Path, name: str) -> bool:
    return world_of(path) == "thinc" and name in SPACY_IN_THINC


@pytest.mark.parametrize("path", FILES, ids=str)
def test_file_imports_nothing_from_further_right(path: Path) -> None:
    further = WORLDS[WORLDS.index(world_of(path)) + 1 :]
    needed = worlds_needed(path)
    wrong = [
        name
        for world in further
        for name in needed[world]
        if not allowed_anyway(path, name)
    ]
    assert not wrong, f"{path} is in the world of {world_of(path)}"


@pytest.mark.parametrize("model", MODELS)
def test_model_folder_imports_no_other_model(model: str) -> None:
    for path in (PACKAGE / "models" / model).glob("*.py"):
        for name in imported_names(path.relative_to(PACKAGE)):
            if name.startswith("spacy_spanner.models."):
                assert name.split(".")[2] == model, f"{path.name} imports {name}"


@pytest.mark.parametrize("model", MODELS)
def test_model_folder_has_the_four_files(model: str) -> None:
    for name in ("architecture.py", "codec.py", "factory.py", "module.py"):
        assert (PACKAGE / "models" / model / name).is_file()


def test_shared_files_import_no_model() -> None:
    for path in FILES:
        if path.parts[0] != "models":
            names = imported_names(path)
            assert not [name for name in names if ".models." in name], path


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


def test_package_itself_imports_no_torch() -> None:
    names = list(imported_names(Path("__init__.py")))
    assert names
    own = [own_file(name) for name in names if name.startswith("spacy_spanner")]
    assert not [name for name in names if name.split(".")[0] in FOREIGN]
    assert all(world_of(path) == "numbers" for path in own)


def test_layering_sees_what_files_import() -> None:
    needed = worlds_needed(Path("layers/torch_head.py"))
    assert "torch.Tensor" in needed["torch"]
    assert "spacy_spanner.codec.SpanCodec" in needed["torch"]
    assert "spacy_spanner.types.SpanTable" in needed["numbers"]
    assert world_of(Path("models/biaffine/smoothing.py")) == "numbers"
    assert world_of(Path("component.py")) == "spacy"
    assert "biaffine" in MODELS

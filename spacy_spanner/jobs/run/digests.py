"""Digests of the files that a run reads, so that a changed file is noticed."""

import hashlib
from pathlib import Path
from typing import Any, Dict, Iterator, Tuple

from spacy.util import dict_to_dot

BLOCK_SIZE = 2**20


def data_digests(config: Dict[str, Any]) -> Dict[str, str]:
    """RETURNS (Dict[str, str]): digests of all files in the corpora of an interpolated
    config, by setting such as "corpora.train.path".
    """
    return {name: digest(path) for name, path in data_paths(config) if path.exists()}


def data_paths(config: Dict[str, Any]) -> Iterator[Tuple[str, Path]]:
    """YIELDS (Tuple[str, Path]): every string setting of the train and dev corpus that
    may be a path.
    """
    training = config["training"]
    corpora = tuple(f"{training[name]}." for name in ("train_corpus", "dev_corpus"))
    for name, value in dict_to_dot(config).items():
        is_setting = name.startswith(corpora) and ".@" not in name
        if is_setting and isinstance(value, (str, Path)) and value:
            yield name, Path(value)


def digest(path: Path) -> str:
    """RETURNS (str): SHA-256 of a file, or of all files in a folder with their names,
    without Python's caches.
    """
    found = hashlib.sha256()
    for file in sorted(path.rglob("*")) if path.is_dir() else [path]:
        if file.is_file() and file.parent.name != "__pycache__":
            found.update(str(file.relative_to(path)).encode("utf8"))
            with file.open("rb") as stream:
                while block := stream.read(BLOCK_SIZE):
                    found.update(block)
    return found.hexdigest()

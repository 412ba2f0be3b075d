"""Rows of Hugging Face `datasets`: `tokens` and `ner_tags`, as numbers or as tags.

Files contain JSON Lines (`Dataset.to_json`), folders come from `Dataset.save_to_disk`.
The names of numeric tags come from the features of a folder, from a
`dataset_info.json` in the folder of a file, or from the user.
"""

import json
from pathlib import Path
from typing import Any, Dict, Iterable, Iterator, List, Optional, Sequence, Tuple

from ...errors import Errors
from ..options import ReadOptions
from ..records import Mention, Note, Record, Sentence, join_sentences
from ..tags import decode_tags, tag_problem
from ..text_files import JsonItem, fail, parse_json, read_json_items, read_text

TOKEN_KEYS = ("tokens", "words")
TAG_KEYS = ("ner_tags", "tags", "ner", "labels")


def read(path: Path, options: ReadOptions, note: Note) -> Iterator[Record]:
    """Read a file of rows, or the folder of a dataset.

    path (Path): the file or the folder.
    options (ReadOptions): uses `label_names` and `encoding`.
    note (Note): called with the source of the label names.
    YIELDS (Record): documents of tokens.
    RAISES (ValueError): SP001 if a row is broken, SP058 for a folder without the
        package `datasets`, SP060 if numeric tags have no names.
    """
    if path.is_dir():
        rows, found = _load_folder(path)
        items: Iterable[JsonItem] = (JsonItem(n, row) for n, row in enumerate(rows, 1))
    else:
        items, found = read_json_items(path, options.encoding), _names_beside(path)
    names = options.label_names or tuple(found)
    if found and not options.label_names:
        note(f"{path.name}: label names come from the features of the dataset")
    yield from read_rows(items, names, source=path.name)


def read_rows(
    items: Iterable[JsonItem], names: Sequence[str] = (), *, source: str = "<rows>"
) -> Iterator[Record]:
    """Read rows of a file, or of a dataset in memory.

    items (Iterable[JsonItem]): rows with their numbers.
    names (Sequence[str]): names of numeric tags, in their order.
    source (str): name of the source, for messages.
    YIELDS (Record): documents of tokens.
    RAISES (ValueError): SP001 if a row is broken, SP060 if numeric tags have no names.
    """
    for line, row in items:
        if not isinstance(row, dict):
            fail(source, line, "not a JSON object", row)
        words, tags = _column(row, TOKEN_KEYS), _column(row, TAG_KEYS)
        if words is None or not all(isinstance(w, str) and w for w in words):
            fail(source, line, f"no tokens under {' or '.join(TOKEN_KEYS)}", row)
        if tags is None or len(tags) != len(words):
            problem = f"no tag for each token, in {' or '.join(TAG_KEYS)}"
            fail(source, line, problem, row)
        named = [_name(tag, names, source, line) for tag in tags]
        spans = [Mention(*span, line) for span in decode_tags(named)]
        yield join_sentences([Sentence(words, spans, line)], source)


def _column(row: Dict[str, Any], keys: Tuple[str, ...]) -> Optional[List[Any]]:
    return next((row[key] for key in keys if isinstance(row.get(key), list)), None)


def _name(tag: Any, names: Sequence[str], source: str, line: int) -> str:
    if isinstance(tag, int) and not isinstance(tag, bool):
        if not names:
            raise ValueError(Errors.SP060.format(source=source, line=line))
        if not 0 <= tag < len(names):
            fail(source, line, f"there is no label number {tag}", ", ".join(names))
        tag = names[tag]
    problem = tag_problem(tag)
    if problem:
        fail(source, line, problem, tag)
    return tag


def _names_beside(path: Path) -> List[str]:
    """RETURNS (List[str]): names in the `dataset_info.json` of a file, if it exists."""
    info = path.with_name("dataset_info.json")
    return (
        _names_in(parse_json(read_text(info), info.name, 1)) if info.is_file() else []
    )


def _names_in(value: Any) -> List[str]:
    """RETURNS (List[str]): the first list of tag names anywhere in a description."""
    if isinstance(value, dict):
        names = value.get("names")
        if isinstance(names, list) and "O" in names:
            return [str(name) for name in names]
        value = list(value.values())
    if isinstance(value, list):
        return next(filter(None, map(_names_in, value)), [])
    return []


def _load_folder(path: Path) -> Tuple[Iterable[Any], List[str]]:
    """RETURNS: rows of a saved dataset, and the names of its tags."""
    try:
        import datasets
    except ImportError:
        raise ValueError(Errors.SP058.format(source=path.name)) from None
    try:
        dataset = datasets.load_from_disk(str(path))
    except Exception as error:  # another version, or not a dataset
        fail(path.name, 1, f"not a saved dataset: {error}")
    if isinstance(dataset, dict):
        parts = ", ".join(dataset)
        fail(path.name, 1, f"several parts ({parts}): name the folder of one of them")
    described = json.loads(json.dumps(dataset.features.to_dict()))
    return dataset, _names_in(described)

"""All formats by name, and their detection."""

import json
import re
from pathlib import Path
from typing import Callable, Dict, Iterator, List, NamedTuple, Optional, Tuple

from ...errors import Errors
from ..options import ReadOptions
from ..records import Note, Record
from ..text_files import is_visible, read_head
from . import (
    ace,
    brackets,
    brat,
    columns,
    dataset_rows,
    genia,
    kbp,
    nested_json,
    offset_json,
    ontonotes,
    spacy_docs,
)

Reader = Callable[[Path, ReadOptions, Note], Iterator[Record]]

# A pair of text and object, as of spaCy 2, alone or first in an array. Texts with
# brackets may have a similar beginning: `["Time" magazine](ORG)`.
_TEXT = r'\[\s*(\[\s*)?"([^"\\\n]|\\.)*'
_PAIR, _OPEN_PAIR = re.compile(_TEXT + r'"\s*,\s*\{'), re.compile(_TEXT + r"\\?\Z")
# Number of characters to detect the format by.
N_HEAD = 20_000
# Some lines of columns are comments: this share of the first lines must end in a tag.
N_LINES, MOSTLY = 200, 0.9


class Format(NamedTuple):
    """A format that can be read, with its name in options.

    folder (bool): whether the reader accepts folders.
    patterns (Tuple[str, ...]): file names by which the format is recognised.
    """

    name: str
    read: Reader
    folder: bool = False
    patterns: Tuple[str, ...] = ()


_CONLL_2012 = ("*_gold_conll", "*.gold_conll")
_FORMATS = [
    Format("conll", columns.read),
    Format("json", nested_json.read),
    Format("jsonl", offset_json.read),
    Format("brat", brat.read, folder=True, patterns=("*.ann",)),
    Format("brackets", brackets.read),
    Format("genia", genia.read),
    Format("ace", ace.read, folder=True, patterns=("*.apf.xml",)),
    Format("kbp", kbp.read, folder=True),
    Format("ontonotes", ontonotes.read_conll, patterns=_CONLL_2012),
    Format("ontonotes-name", ontonotes.read_name, patterns=("*.name",)),
    Format("rows", dataset_rows.read, folder=True, patterns=("dataset_info.json",)),
    Format("spacy", spacy_docs.read, patterns=("*.spacy",)),
]
FORMATS: Dict[str, Format] = {format.name: format for format in _FORMATS}


def detect_format(path: Path, encoding: str = "utf-8") -> str:
    """Detect the format of a file or folder by file names and the first lines.

    RETURNS (str): a key of `FORMATS`.
    RAISES (ValueError): SP050 for an unknown encoding, SP053 if no format is detected,
        SP061 for an empty file or folder.
    """
    if path.is_dir():
        return _detect_folder(path, encoding)
    for format in _FORMATS:
        if any(path.match(pattern) for pattern in format.patterns):
            return format.name
    head = read_head(path, encoding, N_HEAD)
    if len(head) < N_HEAD and not head.strip():
        raise ValueError(Errors.SP061.format(source=path, problem="it is empty"))
    found = _detect_text(head)
    if found is None:
        names = ", ".join(FORMATS)
        raise ValueError(Errors.SP053.format(source=path.name, formats=names))
    return found


def _detect_folder(path: Path, encoding: str) -> str:
    for format in _FORMATS:
        if any(next(path.rglob(pattern), None) for pattern in format.patterns):
            return format.name
    paths = _visible_files(path)
    if not paths:
        problem = "the folder has no files"
        raise ValueError(Errors.SP061.format(source=path, problem=problem))
    # A list of errors, for example, is often empty.
    filled = next((found for found in paths if found.stat().st_size), paths[0])
    return detect_format(filled, encoding)


def _visible_files(path: Path) -> List[Path]:
    files = (found for found in path.rglob("*") if found.is_file())
    return sorted(found for found in files if is_visible(found, path))


def _detect_text(head: str) -> Optional[str]:
    start = head.lstrip()
    if start.startswith("<"):
        return "genia" if re.search(r"<(set|article|cons|sentence)\b", head) else None
    if start.startswith(("{", "[")):
        kind = _detect_json(start, is_cut=len(head) == N_HEAD)
        if kind:
            return kind
    lines = [line for line in head.split("\n")[:N_LINES] if line.strip()]
    tagged = sum(_ends_in_tag(line) for line in lines)
    if lines and tagged >= MOSTLY * len(lines):
        return "conll"
    return "brackets" if re.search(r"\]\([^)\n]+\)", head) else None


def _ends_in_tag(line: str) -> bool:
    parts = columns.split_columns(line)
    return len(parts) > 1 and columns.TAG.fullmatch(parts[-1]) is not None


def _detect_json(head: str, *, is_cut: bool) -> Optional[str]:
    """RETURNS (Optional[str]): the format of the first object, if it is known.

    is_cut (bool): whether the file is longer than the head.
    """
    if _PAIR.match(head) or (is_cut and _OPEN_PAIR.match(head)):
        return "jsonl"
    try:
        body = head[1:].lstrip() if head[0] == "[" else head
        value, _ = json.JSONDecoder().raw_decode(body)
    except (ValueError, RecursionError):
        return None
    if not isinstance(value, dict):
        return None
    if isinstance(value.get("text"), str) or isinstance(value.get("data"), (dict, str)):
        return "jsonl"
    if any(key in value for key in ("ner_tags", "tags")):
        return "rows"
    if any(key in value for key in (*nested_json.TOKEN_KEYS, "sentences")):
        return "json"
    return None


def find_files(path: Path, format: Format) -> List[Path]:
    """RETURNS (List[Path]): what to pass to a reader: the path itself, or the files of
    the format in a folder.

    RAISES (ValueError): SP061 if there is no file.
    """
    if not path.exists():
        raise ValueError(Errors.SP061.format(source=path, problem="it does not exist"))
    if format.folder or path.is_file():
        return [path]
    found = _visible_files(path)
    if format.patterns:
        found = [file for file in found if any(file.match(p) for p in format.patterns)]
    if not found:
        problem = f"there are no files in the format {format.name}"
        raise ValueError(Errors.SP061.format(source=path, problem=problem))
    return found

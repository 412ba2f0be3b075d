"""Read annotated versions of the same texts, and bring them to the same order.

Spans are compared by characters, so that versions may have different tokens. Texts are
recognised by what they say; a text that occurs several times is compared with the same
occurrence of the other version.
"""

import warnings
from collections import Counter
from pathlib import Path
from typing import Any, Dict, List, NamedTuple, Optional, Sequence, Set, Tuple

import numpy as np
from numpy.typing import NDArray
from spacy.tokens import Doc

from ..corpus.bare_language import AnyLanguage
from ..corpus.conversion import ignore_note, read_records
from ..corpus.documents import make_doc, written_with_spaces
from ..corpus.options import ReadOptions
from ..corpus.records import Note, Record
from ..errors import Errors, Warnings
from ..settings import DEFAULT_SPANS_KEY

# Number of texts or spans that a message lists, and characters of each.
N_SHOWN, SHOWN = 3, 60
CharSpan = Tuple[int, int, str]
Ints = NDArray[np.int64]


class Version(NamedTuple):
    """One annotator's version.

    name (str): for tables.
    docs (List[Doc]): the tokens.
    spans (List[Set[CharSpan]]): the spans of each document, by characters.
    """

    name: str
    docs: List[Doc]
    spans: List[Set[CharSpan]]

    def take(self, places: Sequence[int]) -> "Version":
        """RETURNS (Version): these documents, in this order."""
        docs = [self.docs[place] for place in places]
        return Version(self.name, docs, [self.spans[place] for place in places])


class Units(NamedTuple):
    """The spans of a version in columns. Shapes: (span,)

    doc (Ints): number of the document.
    start, end (Ints): characters of the document; `end` is exclusive.
    label (Ints): ids.
    """

    doc: Ints
    start: Ints
    end: Ints
    label: Ints

    def take(self, chosen: NDArray[Any]) -> "Units":
        """RETURNS (Units): the spans of a mask or of indices."""
        return Units(*(column[chosen] for column in self))

    def __len__(self) -> int:
        return len(self.doc)


def units_of(version: Version, label_ids: Dict[str, int]) -> Units:
    """RETURNS (Units): the spans of all documents, in their order."""
    rows = [
        (number, start, end, label_ids[label])
        for number, spans in enumerate(version.spans)
        for start, end, label in sorted(spans)
    ]
    table = np.asarray(rows, dtype=np.int64).reshape(-1, 4)
    return Units(*table.T.copy())


def read_version(
    path: Path,
    nlp: AnyLanguage,
    name: str,
    *,
    format: Optional[str] = None,
    key: str = DEFAULT_SPANS_KEY,
    note: Note = ignore_note,
) -> Version:
    """Read a version. Documents that are not annotated are not part of it.

    path (Path): file or folder in any format.
    nlp (AnyLanguage): tokenizes texts without tokens.
    name (str): for tables.
    format (Optional[str]): None to detect it.
    key (str): span group of existing documents.
    note (Note): called with messages about what was detected.
    RETURNS (Version): its documents.
    RAISES (ValueError): see `read_records`.
    """
    docs, spans, lost = [], [], []
    separator = " " if written_with_spaces(nlp) else ""
    options = ReadOptions(spans_key=key, separator=separator)
    for record in read_records(path, format=format, options=options, note=note):
        lost += [f"{one.text!r} ({one.reason})" for one in record.lost]
        lost += [f"{one.label} (discontinuous)" for one in record.fragments]
        if record.mentions is None:
            continue
        doc = make_doc(record, nlp)
        if not len(doc):
            continue
        found, outside = _places(record, doc)
        lost += [f"{label} (outside of the text)" for label in outside]
        docs.append(doc)
        spans.append(found)
    if lost:
        shown = "; ".join(lost[:N_SHOWN])
        warnings.warn(Warnings.SW230.format(path=path, lost=len(lost), examples=shown))
    return Version(name, docs, spans)


def _places(record: Record, doc: Doc) -> Tuple[Set[CharSpan], List[str]]:
    """RETURNS (Tuple[Set[CharSpan], List[str]]): the spans by characters, and the
    labels of those that are not in the text.
    """
    by_token = record.text is None
    size = len(doc) if by_token else len(doc.text)
    found: Set[CharSpan] = set()
    outside = []
    for start, end, label, *_ in record.mentions or ():
        if not 0 <= start < end <= size:
            outside.append(label)
            continue
        if by_token:
            tokens = doc[start:end]
            start, end = tokens.start_char, tokens.end_char
        found.add((start, end, label))
    return found, outside


def align(versions: Sequence[Version], *, common: bool = False) -> List[Version]:
    """Bring versions to the order of the first one.

    versions (Sequence[Version]): at least two.
    common (bool): leave out texts that some version lacks.
    RETURNS (List[Version]): versions of the same texts.
    RAISES (ValueError): SP230 if a version lacks texts, SP231 for fewer than two
        versions, SP232 if there is nothing to compare.
    """
    if len(versions) < 2:
        raise ValueError(Errors.SP231.format(found=len(versions)))
    tables = [_by_text(version) for version in versions]
    if not common:
        for version, table in zip(versions[1:], tables[1:]):
            _require_same(versions[0], tables[0], version, table)
    shared = [key for key in tables[0] if all(key in table for table in tables)]
    if not shared:
        names = ", ".join(version.name for version in versions)
        raise ValueError(Errors.SP232.format(names=names))
    return [
        version.take([table[key] for key in shared])
        for version, table in zip(versions, tables)
    ]


def _by_text(version: Version) -> Dict[Tuple[str, int], int]:
    """RETURNS: places of documents by text and number of its occurrence."""
    seen: Counter = Counter()
    places = {}
    for place, doc in enumerate(version.docs):
        text = doc.text
        places[text, seen[text]] = place
        seen[text] += 1
    return places


def _require_same(
    first: Version,
    table: Dict[Tuple[str, int], int],
    second: Version,
    other: Dict[Tuple[str, int], int],
) -> None:
    """RAISES (ValueError): SP230 if two versions have different texts."""
    problems = []
    for version, mine, theirs in ((second, other, table), (first, table, other)):
        missing = [text for text, turn in theirs if (text, turn) not in mine]
        if missing:
            shown = "; ".join(repr(text[:SHOWN]) for text in missing[:N_SHOWN])
            problems.append(f"{version.name} lacks {len(missing)} ({shown})")
    if problems:
        message = Errors.SP230.format(
            first=first.name, second=second.name, problems=", ".join(problems)
        )
        raise ValueError(message)

"""JSON with entities by characters, of annotation tools and of models.

One object per document, as JSON Lines or in an array:

- Prodigy: `{"text": ..., "spans": [{"start": 0, "end": 2, "label": "ORG"}]}`, possibly
  with `tokens`; in answers to binary questions (`_view_id` "ner" or "spans"), rejected
  spans are no entities, and nothing is known about other spans;
- doccano: `{"text": ..., "label": [[0, 2, "ORG"]]}`, or `entities` with `start_offset`
  and `end_offset`;
- Label Studio: `{"data": {"text": ...}, "annotations": [{"result": [...]}]}`, or its
  short form `{"text": ..., "label": [{"start": 0, "end": 2, "labels": ["ORG"]}]}`; for
  choices that accept or reject regions, see `verdicts`;
- spaCy: `["...", {"entities": [[0, 2, "ORG"]]}]`, not annotated without `entities`;
- GLiNER: `{"text": ..., "entities": [{"start": 0, "end": 2, "label": "org", "score":
  0.9}]}`, or GLiNER2's `entities`, with a list for each label and `confidence`;
- pipelines of transformers: the same with `entity_group` as label.

Ends are exclusive in all of them. `sentences` may contain the first character of each.
"""

import re
import warnings
from bisect import bisect_right
from math import isfinite
from pathlib import Path
from typing import Any, Iterator, List, Optional, Sequence, Tuple

from ...errors import Warnings
from ..markup import same_text
from ..options import ReadOptions
from ..records import DIFFERENT, Lost, Mention, Note, Record
from ..text_files import fail, read_json_items
from .nested_json import is_label, is_position
from .tool_shapes import SPAN_KEYS, Shaped, shape

START_KEYS = ("start", "start_offset")
END_KEYS = ("end", "end_offset")
LABEL_KEYS = ("labels", "label", "entity_group")
SCORE_KEYS = ("score", "confidence")
# Interfaces of Prodigy that ask whether the spans of a text are right.
BINARY_VIEWS = ("ner", "spans")
# How far single precision may move a score beyond 0 or 1.
ROUNDING = 1e-6
_WIDE = re.compile("[\U00010000-\U0010ffff]")


def read(path: Path, options: ReadOptions, note: Note) -> Iterator[Record]:
    """Read a file of texts with entities by characters.

    options (ReadOptions): uses `encoding`, `predictions` and `ends` (no known tool
        writes "inclusive" ends).
    note (Note): called with the numbers of skipped documents and annotations, and of
        tasks that have only predictions.
    YIELDS (Record): documents, with the tokens of the file, if any.
    RAISES (ValueError): SP001 if an object is broken. Warns (SW182) of scores that are
        no probabilities.
    """
    added = int(options.ends == "inclusive")
    skipped = further = predicted = 0
    odd: List[float] = []
    for item in read_json_items(path, options.encoding):
        shaped = shape(item, path.name, predictions=options.predictions)
        value = shaped.value
        further += shaped.n_further
        predicted += shaped.is_predicted
        answer, is_binary = value.get("answer"), value.get("_view_id") in BINARY_VIEWS
        if answer == "ignore" or (answer == "reject" and not is_binary):
            skipped += 1
            continue
        record = _to_record(shaped, item.line, added, path.name)
        odd += no_probabilities(record)
        yield _answered(record, answer) if is_binary else record
    if odd:
        warnings.warn(
            Warnings.SW182.format(number=len(odd), file=path.name, example=odd[0])
        )
    if skipped:
        note(f"{path.name}: {skipped} rejected or ignored documents were skipped")
    if further:
        note(f"{path.name}: {further} further annotations of documents were skipped")
    if predicted:
        done = "were read" if options.predictions else "need --predictions to be read"
        note(f"{path.name}: {predicted} tasks have only predictions, which {done}")


def _answered(record: Record, answer: Any) -> Record:
    """RETURNS (Record): what the answer to a binary question of Prodigy says: whether
    its spans are entities. Nothing is known about all others.
    """
    if answer == "accept":
        return record._replace(incomplete=True)
    if answer == "reject":
        return record._replace(mentions=None, negative=record.mentions or ())
    return record


def _to_record(shaped: Shaped, line: int, added: int, source: str) -> Record:
    value = shaped.value
    text = value.get("text", value.get("data"))
    if not isinstance(text, str):
        fail(source, line, "no 'text'", value)
    raw: Any = next((value[key] for key in SPAN_KEYS if key in value), None)
    if raw is not None and not isinstance(raw, list):
        fail(source, line, "the spans are not a list", value)
    lost: List[Lost] = []
    mentions, negative = (
        _located(entries, line, added, source, text, lost)
        for entries in (raw or (), shaped.rejected)
    )
    return Record(
        source,
        line,
        None if raw is None else mentions,
        *_words(value.get("tokens"), text),
        text=text,
        sentence_starts=_sentence_starts(value.get("sentences"), source, line),
        lost=lost,
        negative=negative,
        incomplete=shaped.incomplete,
    )


def _located(
    entries: Sequence[Any],
    line: int,
    added: int,
    source: str,
    text: str,
    lost: List[Lost],
) -> List[Mention]:
    """RETURNS (List[Mention]): the spans, in characters of Python; those with another
    text are added to `lost`.
    """
    found = []
    wide = wide_places(text)
    for entry in entries:
        for mention in _mentions(entry, line, added, source, text):
            shown = entry.get("text") if isinstance(entry, dict) else None
            shown = shown if isinstance(shown, str) else ""
            place = locate(mention.start, mention.end, shown, text, wide)
            if place is None:
                lost.append(Lost(source, line, shown, mention.label, DIFFERENT))
            else:
                found.append(mention._replace(start=place[0], end=place[1]))
    return found


def no_probabilities(record: Record) -> List[float]:
    """RETURNS (List[float]): scores that are not between 0 and 1."""
    scores = [one.score for one in record.mentions or () if one.score is not None]
    return [one for one in scores if not -ROUNDING <= one <= 1 + ROUNDING]


def locate(
    start: int, end: int, shown: str, text: str, wide: Sequence[int]
) -> Optional[Tuple[int, int]]:
    """Find the characters of a span, checked by its text.

    Tools that run in a browser count characters outside of the basic multilingual plane
    (such as emojis) as two.

    start, end (int): offsets of the file.
    shown (str): text of the span; empty if unknown.
    text (str): the document.
    wide (Sequence[int]): see `wide_places`.
    RETURNS (Optional[Tuple[int, int]]): None if neither way of counting fits.
    """
    if not shown or same_text(text[max(start, 0) : max(end, 0)], shown):
        return start, end
    place = _from_utf16(start, wide), _from_utf16(end, wide)
    return place if same_text(text[slice(*place)], shown) else None


def wide_places(text: str) -> List[int]:
    """RETURNS (List[int]): where the characters that browsers count as two are, as they
    count.
    """
    return [match.start() + n for n, match in enumerate(_WIDE.finditer(text))]


def _from_utf16(offset: int, wide: Sequence[int]) -> int:
    """RETURNS (int): the offset in characters, given that in UTF-16 code units."""
    n_before = bisect_right(wide, offset - 2)
    inside = n_before < len(wide) and wide[n_before] == offset - 1
    return max(offset - n_before - inside, 0)


def _mentions(
    raw: Any, line: int, added: int, source: str, text: str
) -> Iterator[Mention]:
    """YIELDS (Mention): one for each label of a span."""
    start, end, labels, score = _fields(raw)
    if not is_position(start) or not is_position(end):
        fail(source, line, "a span needs a start and an end", raw)
    if not labels or not all(map(is_label, labels)):
        fail(source, line, f"a span needs a label{_advice(raw)}", raw)
    if isinstance(raw, dict) and "entity_group" in raw:
        # Some tokenizers of transformers count the space before a word to it.
        start += len(text[start:end]) - len(text[start:end].lstrip())
    for label in labels:
        yield Mention(start, end + added, label, line, score=score)


def _advice(raw: Any) -> str:
    if isinstance(raw, dict) and "entity" in raw and "index" in raw:
        return '; the pipeline of transformers needs aggregation_strategy="simple"'
    return ""


def _fields(raw: Any) -> Tuple[Any, Any, List[Any], Optional[float]]:
    """RETURNS: start, end, labels and score; None if missing."""
    if isinstance(raw, list) and len(raw) >= 3:
        return raw[0], raw[1], [raw[2]], None
    if not isinstance(raw, dict):
        return None, None, [], None
    start, end, labels, score = (
        next((raw[key] for key in keys if key in raw), None)
        for keys in (START_KEYS, END_KEYS, LABEL_KEYS, SCORE_KEYS)
    )
    labels = labels if isinstance(labels, list) else [labels]
    return start, end, labels, _number(score)


def _number(score: Any) -> Optional[float]:
    """RETURNS (Optional[float]): the score, which `json.dumps(..., default=str)` writes
    as a string; None if it is no finite number.
    """
    try:
        number = float(score)
    except (TypeError, ValueError):
        return None
    return number if isfinite(number) else None


def _words(tokens: Any, text: str) -> Tuple[Optional[List[str]], Optional[List[bool]]]:
    """RETURNS: Prodigy's tokens, and whether a space follows each; None if they are
    missing or do not match the text.
    """
    is_list = isinstance(tokens, list) and tokens
    if is_list and all(isinstance(token, dict) for token in tokens):
        words = [token.get("text") for token in tokens]
        spaces = [bool(token.get("ws", False)) for token in tokens]
        if all(isinstance(word, str) and word for word in words):
            joined = "".join(word + " " * space for word, space in zip(words, spaces))
            if joined == text:
                return words, spaces
    return None, None


def _sentence_starts(raw: Any, source: str, line: int) -> Optional[List[int]]:
    """RETURNS (Optional[List[int]]): offsets; None if the object has no sentences."""
    if raw is None:
        return None
    if not isinstance(raw, list):
        fail(source, line, "'sentences' is not a list", raw)
    starts: List[int] = []
    for entry in raw:
        start: Any = entry.get("start") if isinstance(entry, dict) else entry
        if not is_position(start):
            fail(source, line, "a sentence needs a start", entry)
        starts.append(start)
    return starts

"""JSON formats of research repositories: tokens, and entities by tokens.

One object per sentence, in an array or as JSON Lines:

- `{"tokens": [...], "entities": [{"start": 0, "end": 2, "type": "PER"}]}`, also with
  `words` or `sentence` for the tokens and `entity_mentions` for the entities;
- `{"sentence": [...], "ner": [{"index": [0, 1], "type": "PER"}]}`, with a list of all
  tokens of an entity;
- `{"sentences": [[...], [...]], "ner": [[[0, 1, "PER"]], []]}`, with token offsets in
  the whole document;
- `{"tokenized_text": [...], "ner": [[0, 1, "person"]]}` of GLiNER, with inclusive ends.

Otherwise, whether ends are inclusive is detected: an entity that ends where it starts
has an inclusive end, one that ends at the length of its text an exclusive end.
"""

from pathlib import Path
from typing import Any, Dict, Iterable, Iterator, List, NamedTuple, Tuple

from ...errors import Errors
from ..discontinuous import EntityParts, resolve_parts
from ..options import ReadOptions
from ..records import Note, Record
from ..text_files import JsonItem, fail, read_json_items

GLINER_KEY = "tokenized_text"
TOKEN_KEYS = ("tokens", "words", "sentence", "text", GLINER_KEY)
ENTITY_KEYS = ("entities", "entity_mentions", "ner", "spans")
LABEL_KEYS = ("type", "label", "entity_type")
END_KEYS = ("end", "stop")


class Extent(NamedTuple):
    """Start and end of an entity, with the length of its text and its line."""

    start: int
    end: int
    length: int
    line: int


class Entity(NamedTuple):
    """An entity of the file: start and end, or the list of its tokens."""

    start: int
    end: int
    label: str
    tokens: Tuple[int, ...] = ()


class Item(NamedTuple):
    """An object of the file: its joined sentences, its entities, and whether it has the
    format of GLiNER, whose ends are inclusive.
    """

    line: int
    words: List[str]
    sentence_starts: List[int]
    entities: List[Entity]
    is_gliner: bool

    def extents(self) -> Iterator[Extent]:
        """YIELDS (Extent): the entities whose ends have to be detected."""
        for entity in self.entities:
            if not entity.tokens and not self.is_gliner:
                yield Extent(entity.start, entity.end, len(self.words), self.line)


def read(path: Path, options: ReadOptions, note: Note) -> Iterator[Record]:
    """Read a file of nested JSON.

    options (ReadOptions): uses `ends`, `discontinuous` and `encoding`.
    note (Note): called with the detected kind of ends.
    YIELDS (Record): documents of tokens.
    RAISES (ValueError): SP001 if an object is broken, SP051 or SP052 if the kind of
        ends cannot be detected.
    """

    def items() -> Iterator[Item]:
        for item in read_json_items(path, options.encoding):
            yield _parse_item(item, path.name)

    extents = (extent for item in items() for extent in item.extents())
    added = resolve_ends(extents, options.ends, path.name, note)
    for item in items():
        is_known = item.is_gliner and options.ends == "auto"
        yield _to_record(item, 1 if is_known else added, options, path.name)


def resolve_ends(extents: Iterable[Extent], ends: str, source: str, note: Note) -> int:
    """Determine what to add to the ends of entities to make them exclusive.

    extents (Iterable[Extent]): all entities of the file.
    ends (str): "inclusive" or "exclusive", or "auto" to detect it.
    source (str): name of the file.
    note (Note): called with the detected kind, and a line that shows it.
    RETURNS (int): 1 for inclusive ends, 0 for exclusive ones.
    RAISES (ValueError): SP051 if no entity shows it, SP052 if entities contradict each
        other.
    """
    if ends != "auto":
        return int(ends == "inclusive")
    first = inclusive = exclusive = None  # the first of each kind
    for extent in extents:
        first = first or extent
        if extent.end == extent.start and extent.end < extent.length:
            inclusive = inclusive or extent
        if extent.end == extent.length and extent.end > extent.start:
            exclusive = exclusive or extent
    if first is None:
        return 0
    if inclusive and exclusive:
        line, other = inclusive.line, exclusive.line
        raise ValueError(Errors.SP052.format(source=source, line=line, other=other))
    evidence = inclusive or exclusive
    if evidence is None:
        raise ValueError(Errors.SP051.format(source=source, line=first.line))
    found = "inclusive" if inclusive else "exclusive"
    note(f"{source}: ends are {found}, because of line {evidence.line}")
    return int(inclusive is not None)


def _parse_item(item: JsonItem, source: str) -> Item:
    """RETURNS (Item): tokens and entities of an object, with the ends of the file."""
    value, line = item.value, item.line
    if not isinstance(value, dict):
        fail(source, line, "not a JSON object", value)
    sentences, raw = _sentences(value), _entities(value)
    if sentences is None:
        fail(source, line, f"no list of tokens under {' or '.join(TOKEN_KEYS)}", value)
    for word in (word for sentence in sentences for word in sentence):
        if not isinstance(word, str) or not word:
            fail(source, line, f"{word!r} is not a token", value)
    if not isinstance(raw, list):
        fail(source, line, f"no list under {' or '.join(ENTITY_KEYS)}", value)
    starts: List[int] = []
    words: List[str] = []
    for sentence in sentences:
        if sentence:
            starts.append(len(words))
        words += sentence
    entities = [_entity(entity, source, line) for entity in raw]
    return Item(line, words, starts, entities, GLINER_KEY in value)


def _sentences(value: Dict[str, Any]) -> Any:
    """RETURNS (Any): a list of sentences, which are lists; None if it is missing."""
    found = value.get("sentences")
    if isinstance(found, list) and all(isinstance(x, list) for x in found):
        return found
    for key in TOKEN_KEYS:
        if isinstance(value.get(key), list):
            return [value[key]]
    return None


def _entities(value: Dict[str, Any]) -> Any:
    """RETURNS (Any): the list of entities, joined if it is a list per sentence."""
    for key in ENTITY_KEYS:
        if key in value:
            found = value[key]
            by_sentence = "sentences" in value and isinstance(found, list)
            if by_sentence and all(_is_sentence(entry) for entry in found):
                return [entity for entry in found for entity in entry]
            return found
    return None


def _is_sentence(entry: Any) -> bool:
    """RETURNS (bool): whether it is a list of entities, not `[start, end, label]`."""
    return isinstance(entry, list) and all(isinstance(x, (list, dict)) for x in entry)


def _entity(raw: Any, source: str, line: int) -> Entity:
    start: Any = None
    end: Any = None
    label: Any = None
    if isinstance(raw, dict):
        label = next((raw[key] for key in LABEL_KEYS if key in raw), None)
        if isinstance(raw.get("index"), list):
            return _entity_of_tokens(raw["index"], label, raw, source, line)
        start = raw.get("start")
        end = next((raw[key] for key in END_KEYS if key in raw), None)
    elif isinstance(raw, list) and len(raw) >= 3:
        start, end, label = raw[:3]
    if not is_position(start) or not is_position(end) or not is_label(label):
        fail(source, line, "an entity needs start, end and type", raw)
    return Entity(start, end, label)


def _entity_of_tokens(
    index: List[Any], label: Any, raw: Any, source: str, line: int
) -> Entity:
    if not index or not all(map(is_position, index)) or not is_label(label):
        fail(source, line, "an entity needs the list of its tokens and a type", raw)
    tokens = tuple(sorted(set(index)))
    return Entity(tokens[0], tokens[-1], label, tokens)


def is_position(value: Any) -> bool:
    """RETURNS (bool): whether a JSON value is an integer."""
    return isinstance(value, int) and not isinstance(value, bool)


def is_label(value: Any) -> bool:
    """RETURNS (bool): whether a JSON value is a non-empty string."""
    return isinstance(value, str) and bool(value.strip())


def _to_record(item: Item, added: int, options: ReadOptions, source: str) -> Record:
    found = [
        _parts(entity, added, item, f"T{number}")
        for number, entity in enumerate(item.entities, start=1)
    ]
    resolved = resolve_parts(found, options.discontinuous, source)
    words, starts = item.words, item.sentence_starts
    return Record(
        source, item.line, words=words, sentence_starts=starts, **resolved._asdict()
    )


def _parts(entity: Entity, added: int, item: Item, name: str) -> EntityParts:
    """RETURNS (EntityParts): the entity; with start and end, it has one part."""
    parts = runs(entity.tokens) or [(entity.start, entity.end + added)]
    text = " ".join(item.words[i] for i in entity.tokens if 0 <= i < len(item.words))
    return EntityParts(parts, entity.label, item.line, name, text)


def runs(tokens: Iterable[int]) -> List[Tuple[int, int]]:
    """RETURNS (List[Tuple[int, int]]): runs of consecutive tokens, ends exclusive."""
    found: List[Tuple[int, int]] = []
    for token in tokens:
        if found and found[-1][1] == token:
            found[-1] = (found[-1][0], token + 1)
        else:
            found.append((token, token + 1))
    return found

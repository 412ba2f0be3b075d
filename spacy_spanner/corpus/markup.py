"""Read markup: SGML as text with the offsets of the annotation, XML as trees."""

import re
from bisect import bisect_left, bisect_right
from dataclasses import dataclass, field
from html import unescape
from itertools import chain
from pathlib import Path
from typing import (
    Any,
    Dict,
    Iterable,
    Iterator,
    List,
    NamedTuple,
    Optional,
    Tuple,
    Union,
)
from xml.parsers import expat

from .text_files import BrokenFileError, fail

# Number of bytes of XML to parse at once.
BLOCK = 1 << 16
# Only broken files are nested more deeply.
MAX_DEPTH = 200
_PIECE = re.compile(
    r"(?P<tag></?[A-Za-z][^<>]*>|<[!?][^<>]*>)"
    r"|(?P<space>\s+)"
    r"|(?P<escape>&(?:amp|lt|gt|quot|apos|nbsp|#\d{1,6}|#x[0-9a-fA-F]{1,5});)"
    r"|(?P<word>[^<&\s]+|.)"
)


class PlainText(NamedTuple):
    """The text of a file without markup.

    text (str): the text; white space and markup are reduced to single spaces, escapes
        are resolved.
    places (List[int]): offset of each character, as counted by the annotation.
    breaks (List[int]): characters that follow a tag or a blank line.
    stop (int): end offset of the last character.
    """

    text: str
    places: List[int]
    breaks: List[int]
    stop: int

    def find(self, start: int, end: int) -> Optional[Tuple[int, int]]:
        """RETURNS (Optional[Tuple[int, int]]): the characters of an annotation; None if
        they are not in the text.
        """
        first = bisect_left(self.places, start)
        last = bisect_right(self.places, end - 1)
        inside = start in self.places[first : first + 1] and start < end <= self.stop
        return (first, last) if inside and first < last else None


def strip_markup(raw: str, *, count_tags: bool, region: Tuple[int, int]) -> PlainText:
    """RETURNS (PlainText): the text of a region of a file.

    count_tags (bool): whether offsets of the annotation count the characters of tags;
        they always count the unresolved escapes, such as `&amp;`.
    """
    text: List[str] = []
    places: List[int] = []
    breaks: List[int] = []
    tags = 0  # number of uncounted characters in tags so far
    pending, broken, stop = False, True, 0
    for piece in _PIECE.finditer(raw):
        start, end = piece.span()
        place = start - tags
        if piece["tag"]:
            tags += 0 if count_tags else end - start
            pending = broken = True
        elif not region[0] <= start < region[1]:
            continue
        elif piece["space"]:
            pending = True
            broken = broken or piece["space"].count("\n") > 1
        else:
            if pending and text:
                text.append(" ")
                places.append(place - 1)
            if broken:
                breaks.append(len(places))
            pending = broken = False
            stop = end - tags
            shown = unescape(piece.group())
            text.append(shown)
            # An escape is one character, with the offset of its beginning.
            places += range(place, place + len(shown))
    return PlainText("".join(text), places, breaks, stop)


def find_region(raw: str, *tags: str) -> Tuple[int, int]:
    """RETURNS (Tuple[int, int]): start and end of the content of the first of these
    elements that exists, else of the whole file.
    """
    for tag in tags:
        opening = re.search(rf"<{tag}\b[^<>]*>", raw)
        closing = raw.rfind(f"</{tag}>")
        if opening and closing >= opening.end():
            return opening.end(), closing
    return 0, len(raw)


def same_text(one: str, two: str) -> bool:
    """RETURNS (bool): whether texts are equal apart from white space and escapes."""
    first, second = ("".join(unescape(unescape(x)).split()) for x in (one, two))
    return first == second


@dataclass(slots=True)
class Node:
    """An element: its name, attributes and first line, and its text and elements."""

    tag: str
    attrs: Dict[str, str]
    line: int
    children: List[Union[str, "Node"]] = field(default_factory=list)

    def elements(self, *tags: str) -> Iterator["Node"]:
        """YIELDS (Node): the outermost descendants with these names."""
        for child in self.children:
            if isinstance(child, Node):
                if child.tag in tags:
                    yield child
                else:
                    yield from child.elements(*tags)

    def first(self, tag: str) -> Optional["Node"]:
        """RETURNS (Optional[Node]): the first descendant with this name."""
        return next(self.elements(tag), None)

    def text(self) -> str:
        """RETURNS (str): all text inside."""
        return "".join(c if isinstance(c, str) else c.text() for c in self.children)


class _Builder:
    """Build elements from the events of the parser."""

    def __init__(self, source: str, wanted: str) -> None:
        self.source = source
        self.wanted = wanted
        self.done: List[Node] = []
        self.open: List[Node] = []
        self.depth = 0
        self.parser: Any = expat.ParserCreate()
        self.parser.buffer_text = True
        self.parser.StartElementHandler = self.start
        self.parser.EndElementHandler = self.end
        self.parser.CharacterDataHandler = self.characters
        self.parser.SkippedEntityHandler = self.skipped
        self.parser.EntityDeclHandler = self.declared

    def start(self, tag: str, attrs: Dict[str, str]) -> None:
        self.depth += 1
        if self.depth > MAX_DEPTH:
            self.fail("nested too deeply", tag)
        if self.open or tag == self.wanted:
            node = Node(tag, attrs, self.parser.CurrentLineNumber)
            if self.open:
                self.open[-1].children.append(node)
            self.open.append(node)

    def end(self, tag: str) -> None:
        self.depth -= 1
        if self.open:
            node = self.open.pop()
            if not self.open:
                self.done.append(node)

    def characters(self, text: str) -> None:
        if self.open:
            self.open[-1].children.append(text)

    def skipped(self, name: str, is_parameter: bool) -> None:
        if not is_parameter:
            self.fail(f"unknown entity &{name};", name)

    def declared(self, name: str, *_: Any) -> None:
        """Refuse entities of the file's own: a few lines can expand to gigabytes, or
        name files to insert.
        """
        self.fail("entities of its own (<!ENTITY>), which are not expanded", name)

    def fail(self, problem: str, text: str) -> None:
        fail(self.source, self.parser.CurrentLineNumber, problem, text)


def read_xml(path: Path, wanted: str) -> Iterator[Node]:
    """YIELDS (Node): the outermost elements with this name, with their content.

    RAISES (ValueError): SP001 if the file is not XML.
    """
    with path.open("rb") as file:
        blocks = iter(lambda: file.read(BLOCK), b"")
        yield from parse_xml(blocks, path.name, wanted)


def parse_xml(blocks: Iterable[bytes], source: str, wanted: str) -> Iterator[Node]:
    """YIELDS (Node): the outermost elements with this name, with their content.

    blocks (Iterable[bytes]): the XML, in any pieces.
    source (str): where it comes from, for messages.
    RAISES (ValueError): SP001 if it is not XML.
    """
    builder = _Builder(source, wanted)
    for block in chain(blocks, [b""]):
        try:
            builder.parser.Parse(block, not block)
        except expat.ExpatError as error:
            problem = expat.ErrorString(error.code) or "not XML"
            fail(source, error.lineno, problem, "", error.offset + 1)
        except BrokenFileError:
            raise
        except (LookupError, ValueError) as error:  # unknown encoding
            fail(source, 1, str(error))
        yield from builder.done
        builder.done = []

"""Read XML as trees with line numbers, one top element at a time."""

from pathlib import Path
from typing import Any, Dict, Iterator, List, Optional, Union
from xml.parsers import expat

from .text_files import BrokenFileError, fail

# Number of bytes to parse at once.
BLOCK = 1 << 16
# Only broken files are nested more deeply.
MAX_DEPTH = 200


class Node:
    """An element.

    tag (str): its name.
    attrs (Dict[str, str]): its attributes.
    line (int): its first line.
    children (List[Union[str, Node]]): text and elements, in order.
    """

    __slots__ = ("attrs", "children", "line", "tag")

    def __init__(self, tag: str, attrs: Dict[str, str], line: int) -> None:
        self.tag = tag
        self.attrs = attrs
        self.line = line
        self.children: List[Union[str, Node]] = []

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
        parts = (c if isinstance(c, str) else c.text() for c in self.children)
        return "".join(parts)


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

    def start(self, tag: str, attrs: Dict[str, str]) -> None:
        self.depth += 1
        if self.depth > MAX_DEPTH:
            fail(self.source, self.parser.CurrentLineNumber, "nested too deeply", tag)
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
            line = self.parser.CurrentLineNumber
            fail(self.source, line, f"unknown entity &{name};", name)


def read_xml(path: Path, wanted: str) -> Iterator[Node]:
    """Read the elements with a certain name.

    path (Path): the file.
    wanted (str): name of the elements.
    YIELDS (Node): the outermost elements with this name, with their content.
    RAISES (ValueError): SP001 if the file is not XML.
    """
    builder = _Builder(path.name, wanted)
    with path.open("rb") as file:
        while True:
            block = file.read(BLOCK)
            try:
                builder.parser.Parse(block, not block)
            except expat.ExpatError as error:
                problem = expat.ErrorString(error.code) or "not XML"
                fail(path.name, error.lineno, problem, "", error.offset + 1)
            except BrokenFileError:
                raise
            except (LookupError, ValueError) as error:  # unknown encoding
                fail(path.name, 1, str(error))
            yield from builder.done
            builder.done = []
            if not block:
                return

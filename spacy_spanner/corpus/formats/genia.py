"""GENIA XML: articles of sentences, entities as nested `cons` elements.

`sem="G#protein_molecule"` names the class. The usual task has five classes, which are
the prefixes of the names in the ontology. Coordinated entities
(`sem="(AND G#... G#...)"`) share words with each other and have no text of their own.
"""

from pathlib import Path
from typing import Iterator, List, Optional

from ...evaluation.tables import amount
from ..markup import Node, read_xml
from ..options import ReadOptions
from ..records import Lost, Mention, Note, Record

FIVE = ("DNA", "RNA", "protein", "cell_line", "cell_type")
SENTENCE, CONS = "sentence", "cons"
COORDINATED = "coordinated with another entity"


def read(path: Path, options: ReadOptions, note: Note) -> Iterator[Record]:
    """Read a file of articles.

    options (ReadOptions): uses `genia_classes`.
    note (Note): called with the number of entities of other classes.
    YIELDS (Record): articles with entities by characters.
    RAISES (ValueError): SP001 if the file is not XML.
    """
    others = 0
    for article in read_xml(path, "article"):
        reader = _ArticleReader(path.name, five=options.genia_classes == "five")
        for sentence in article.elements(SENTENCE):
            reader.add_sentence(sentence)
        others += reader.others
        yield reader.record(article.line)
    if others:
        belong = amount(others, "entity belongs", "entities belong")
        note(f"{path.name}: {belong} to no class of the task")


class _ArticleReader:
    """Collect the text and entities of an article."""

    def __init__(self, source: str, *, five: bool) -> None:
        self.source = source
        self.five = five
        self.parts: List[str] = []
        self.size = 0  # in characters
        self.starts: List[int] = []
        self.mentions: List[Mention] = []
        self.lost: List[Lost] = []
        self.others = 0

    def add_sentence(self, sentence: Node) -> None:
        if self.starts:
            self._add_text(" ")
        self.starts.append(self.size)
        self._add(sentence)

    def _add_text(self, text: str) -> None:
        self.parts.append(text)
        self.size += len(text)

    def _add(self, node: Node) -> None:
        start, first = self.size, len(self.parts)
        for child in node.children:
            if isinstance(child, Node):
                self._add(child)
            else:
                self._add_text(child)
        if node.tag == CONS and "sem" in node.attrs:
            self._add_entity(node, start, first)

    def _add_entity(self, node: Node, start: int, first: int) -> None:
        """Add an entity from a character on, which is the first of a part."""
        names = node.attrs["sem"].strip("()").split()
        labels = [self._label(name) for name in names if name.startswith("G#")]
        known = [label for label in labels if label]
        if not known:
            self.others += 1
        elif len(names) > 1:
            text = " ".join("".join(self.parts[first:]).split())
            label = "+".join(known)
            self.lost.append(Lost(self.source, node.line, text, label, COORDINATED))
        else:
            mention = Mention(start, self.size, known[0], node.line)
            self.mentions.append(mention)

    def _label(self, name: str) -> Optional[str]:
        name = name.removeprefix("G#")
        if not self.five:
            return name or None
        return next((label for label in FIVE if name.startswith(label)), None)

    def record(self, line: int) -> Record:
        return Record(
            self.source,
            line,
            self.mentions,
            text="".join(self.parts),
            sentence_starts=self.starts,
            lost=self.lost,
        )

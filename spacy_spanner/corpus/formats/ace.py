"""ACE 2004 and 2005: texts as SGML, entities as APF XML.

APF offsets count the characters of the file without its tags; ends are inclusive. The
documents to read can be given as a list, as in the split of the papers.
"""

from pathlib import Path
from typing import Iterator, List, NamedTuple, Optional

from ...errors import Errors
from ...evaluation.tables import amount
from ..markup import Node, PlainText, find_region, read_xml, same_text, strip_markup
from ..options import ReadOptions
from ..records import DIFFERENT, OUTSIDE, Lost, Mention, Note, Record
from ..text_files import fail, read_text

APF, SGM = ".apf.xml", ".sgm"
# File endings that names in lists may have.
ENDINGS = (APF, SGM, ".apf", ".xml", ".txt", ".tmx")


class Charseq(NamedTuple):
    """APF offsets of a mention (`end` is exclusive), and its text."""

    start: int
    end: int
    text: str


def read(path: Path, options: ReadOptions, note: Note) -> Iterator[Record]:
    """Read the documents of a folder, or of one APF file.

    path (Path): the folder or file.
    options (ReadOptions): uses `documents`, `mention` and `encoding`.
    note (Note): called if documents exist in several versions.
    YIELDS (Record): documents with entities by characters, and paragraphs as sentences.
    RAISES (ValueError): SP001 if a file is broken, SP055 if a document of the list is
        missing, SP057 if an annotation has no text.
    """
    paths = [path] if path.is_file() else sorted(path.rglob(f"*{APF}"))
    found = {p.name[: -len(APF)]: p for p in paths}
    if len(found) < len(paths):
        n_several = len(paths) - len(found)
        several = amount(n_several, "document exists", "documents exist")
        note(
            f"{path.name}: {several} in several versions; the one in the last folder "
            "by name is used (timex2norm of ACE 2005)"
        )
    for name in choose_documents(list(found), options, path.name):
        apf_path = found[name]
        sgm_path = apf_path.with_name(name + SGM)
        if not sgm_path.is_file():
            message = Errors.SP057.format(source=apf_path.name, missing=sgm_path.name)
            raise ValueError(message)
        raw = read_text(sgm_path, options.encoding, newlines=False)
        region = find_region(raw, "BODY", "TEXT")
        plain = strip_markup(raw, count_tags=False, region=region)
        yield _to_record(apf_path, plain, options.mention)


def choose_documents(names: List[str], options: ReadOptions, source: str) -> List[str]:
    """RETURNS (List[str]): the names of the documents to read, in the order of the list
    in `options`, where they may have folders and endings; without a list, all, sorted.

    RAISES (ValueError): SP055 if documents of the list are missing.
    """
    if options.documents is None:
        return sorted(names)
    wanted = [bare_name(name) for name in options.documents]
    missing = [name for name in wanted if name not in set(names)]
    if missing:
        shown = ", ".join(missing[:10]) + (" ..." if len(missing) > 10 else "")
        raise ValueError(Errors.SP055.format(source=source, names=shown))
    return wanted


def bare_name(name: str) -> str:
    """RETURNS (str): the name of a document without folders and endings."""
    name = name.strip().replace("\\", "/").rsplit("/", 1)[-1]
    for ending in ENDINGS:
        name = name.removesuffix(ending)
    return name


def _to_record(path: Path, plain: PlainText, choice: str) -> Record:
    mentions: List[Mention] = []
    lost: List[Lost] = []
    for document in read_xml(path, "document"):
        for entity in document.elements("entity"):
            label = entity.attrs.get("TYPE", "").strip()
            if not label:
                fail(path.name, entity.line, "an entity without TYPE", entity.attrs)
            for node in entity.elements("entity_mention"):
                charseq = _charseq(node, choice, path.name)
                place = plain.find(charseq.start, charseq.end)
                if place and same_text(plain.text[slice(*place)], charseq.text):
                    mentions.append(Mention(*place, label, node.line))
                else:
                    text = " ".join(charseq.text.split())
                    reason = DIFFERENT if place else OUTSIDE
                    lost.append(Lost(path.name, node.line, text, label, reason))
    text, starts = plain.text, plain.breaks
    return Record(path.name, 1, mentions, text=text, sentence_starts=starts, lost=lost)


def _charseq(mention: Node, choice: str, source: str) -> Charseq:
    """RETURNS (Charseq): offsets and text of the extent or head."""
    element = mention.first(choice)
    charseq: Optional[Node] = element.first("charseq") if element else None
    if charseq is None:
        fail(source, mention.line, f"a mention without {choice}", mention.attrs)
    offsets = {name: charseq.attrs.get(name, "").strip() for name in ("START", "END")}
    for name, value in offsets.items():
        if not is_offset(value):
            fail(source, charseq.line, f"{name} is not a number", charseq.attrs)
    start, last = map(int, offsets.values())
    return Charseq(start, last + 1, charseq.text())


def is_offset(text: str) -> bool:
    """RETURNS (bool): whether a text of the file is a plain number."""
    return text.isascii() and text.isdecimal() and len(text) <= 12

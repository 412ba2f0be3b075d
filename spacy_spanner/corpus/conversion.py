"""From any format to any other, with an account of what is lost."""

from dataclasses import replace
from pathlib import Path
from typing import Iterator, NamedTuple, Optional

from spacy.language import Language
from spacy.tokens import Doc
from spacy.vocab import Vocab

from ..errors import Errors
from .documents import to_docs, written_with_spaces
from .formats.catalogue import FORMATS, detect_format, find_files
from .formats.spacy_docs import load_docs
from .lost import LostSpans
from .options import DOC_DEFAULTS, READ_DEFAULTS, DocOptions, ReadOptions, check_choice
from .records import Note, Record
from .spacy_files import SHARD_TOKENS, SpacyWriter
from .writers import BratWriter, ColumnsWriter, JsonlWriter, Writer

TARGETS = ("spacy", "brat", "jsonl", "conll")
LONGEST_TEXT = 10**9


class Summary(NamedTuple):
    """What a conversion did.

    documents, tokens, spans (int): that were written.
    empty (int): documents without tokens, which are left out.
    lost (LostSpans): what was not written.
    """

    documents: int
    tokens: int
    spans: int
    empty: int
    lost: LostSpans

    @property
    def n_total(self) -> int:
        """Entities of the source, without repeated ones."""
        return self.spans + self.lost.n_lost

    @property
    def share_lost(self) -> float:
        """Share of entities that are not in the output."""
        return self.lost.n_lost / self.n_total if self.n_total else 0.0


def silent(message: str) -> None:
    """Take a note that nobody wants."""


def resolve_format(
    source: Path, format: Optional[str], note: Note, encoding: str = "utf-8"
) -> str:
    """RETURNS (str): the format that was named, or the one of the content.

    RAISES (ValueError): SP050 for an encoding that does not exist, SP053 where no
        format is recognised, SP061 where nothing is there, SP062 for a name that does
        not exist.
    """
    if format is not None:
        return check_choice("format", format, tuple(FORMATS))
    if not source.exists():
        raise ValueError(Errors.SP061.format(source=source, wanted=""))
    name = detect_format(source, encoding)
    note(f"{source.name}: the format is {name}")
    return name


def read_records(
    source: Path,
    *,
    format: Optional[str] = None,
    options: ReadOptions = READ_DEFAULTS,
    note: Note = silent,
) -> Iterator[Record]:
    """Read a file or a folder.

    source (Path): the file or folder.
    format (Optional[str]): a key of `FORMATS`; None detects it.
    options (ReadOptions): how to read.
    note (Note): is told what was detected.
    YIELDS (Record): documents as the source has them.
    RAISES (ValueError): a coded error with file and line.
    """
    chosen = FORMATS[resolve_format(source, format, note, options.encoding)]
    for path in find_files(source, chosen):
        yield from chosen.read(path, options, note)


def read_docs(
    source: Path,
    nlp: Language,
    *,
    format: Optional[str] = None,
    read_options: ReadOptions = READ_DEFAULTS,
    doc_options: DocOptions = DOC_DEFAULTS,
    lost: Optional[LostSpans] = None,
    note: Note = silent,
) -> Iterator[Doc]:
    """Read a file or a folder as documents.

    source (Path): file or folder.
    nlp (Language): vocabulary, tokenizer where the source has no tokens, and whether
        the language is written with spaces.
    format (Optional[str]): of the source, a key of `FORMATS`; None detects it.
    read_options (ReadOptions): how to read.
    doc_options (DocOptions): how to build documents.
    lost (LostSpans): is told what cannot be represented.
    note (Note): is told what was detected.
    YIELDS (Doc): with entities in `doc.spans[spans_key]`.
    RAISES (ValueError): a coded error with file and line.
    """
    account = LostSpans() if lost is None else lost
    # Texts are only tokenized, which takes no memory to speak of.
    nlp.max_length = max(nlp.max_length, LONGEST_TEXT)
    if read_options.separator is None:
        separator = " " if written_with_spaces(nlp) else ""
        read_options = replace(read_options, separator=separator)
    for record in read_records(source, format=format, options=read_options, note=note):
        yield from to_docs(record, nlp, doc_options, account)


def read_plain_docs(path: Path) -> Iterator[Doc]:
    """Read `.spacy` files as they are.

    path (Path): a file, or a folder of files.
    YIELDS (Doc): documents.
    RAISES (ValueError): SP056 for a file that spaCy has not written, SP061 for nothing.
    """
    vocab = Vocab()
    for file in find_files(path, FORMATS["spacy"]):
        yield from load_docs(file, vocab)


def convert_corpus(
    source: Path,
    target: Path,
    nlp: Language,
    *,
    format: Optional[str] = None,
    to: Optional[str] = None,
    read_options: ReadOptions = READ_DEFAULTS,
    doc_options: DocOptions = DOC_DEFAULTS,
    shard_tokens: int = SHARD_TOKENS,
    lost: Optional[LostSpans] = None,
    note: Note = silent,
) -> Summary:
    """Convert a file or a folder; the arguments are those of `read_docs`, and:

    target (Path): file or folder.
    to (Optional[str]): one of `TARGETS`; None asks the name of the target.
    shard_tokens (int): tokens in a file, where the target is a folder of them.
    RETURNS (Summary): counts.
    RAISES (ValueError): a coded error, with file and line where it is about a file.
    """
    account = LostSpans() if lost is None else lost
    name = resolve_format(source, format, note, read_options.encoding)
    to = check_choice("to", to or target_format(target), TARGETS)
    lean = name != "spacy"
    writer = make_writer(
        target, to, doc_options, shard_tokens=shard_tokens, lean=lean, lost=account
    )
    docs = read_docs(
        source,
        nlp,
        format=name,
        read_options=read_options,
        doc_options=doc_options,
        lost=account,
        note=note,
    )
    return _write_all(docs, writer, doc_options.spans_key, account)


def _write_all(
    docs: Iterator[Doc], writer: Writer, key: str, lost: LostSpans
) -> Summary:
    n_docs = n_tokens = n_spans = n_empty = 0
    try:
        for doc in docs:
            if not len(doc):
                n_empty += 1
                continue
            before = lost.n_listed
            writer.add(doc)
            n_docs += 1
            n_tokens += len(doc)
            n_spans += len(doc.spans[key]) if key in doc.spans else 0
            n_spans -= lost.n_listed - before
        writer.close()
    except BaseException:  # an interruption by the user too
        writer.discard()
        raise
    finally:
        lost.close()
    return Summary(n_docs, n_tokens, n_spans, n_empty, lost)


def make_writer(
    target: Path,
    to: str,
    options: DocOptions,
    *,
    shard_tokens: int,
    lean: bool,
    lost: LostSpans,
) -> Writer:
    """Make the writer of a format.

    target (Path): file or folder.
    to (str): one of `TARGETS`.
    options (DocOptions): says what documents hold.
    lean (bool): documents hold nothing but words, sentences and entities.
    lost (LostSpans): is told of entities that the format cannot hold.
    RETURNS (Writer): the writer.
    """
    if to == "spacy":
        with_ents = options.set_ents != "off"
        return SpacyWriter(
            target, shard_tokens=shard_tokens, lean=lean, with_ents=with_ents
        )
    if to == "conll":
        return ColumnsWriter(target, options.spans_key, lost)
    return (BratWriter if to == "brat" else JsonlWriter)(target, options.spans_key)


def target_format(target: Path) -> str:
    """RETURNS (str): the format that the name of a target asks for."""
    if target.suffix in (".jsonl", ".json"):
        return "jsonl"
    return "conll" if target.suffix in (".conll", ".iob2", ".bio", ".tsv") else "spacy"

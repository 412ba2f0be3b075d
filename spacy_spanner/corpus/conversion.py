"""Convert corpora between formats, and record the entities that are lost."""

from dataclasses import replace
from pathlib import Path
from typing import Dict, Iterator, NamedTuple, Optional

from spacy.tokens import Doc
from spacy.vocab import Vocab

from ..errors import Errors
from ..output_checks import naming_output
from .bare_language import AnyLanguage
from .documents import to_docs, written_with_spaces
from .formats.catalogue import FORMATS, detect_format, find_files
from .formats.spacy_docs import load_docs
from .options import DOC_DEFAULTS, READ_DEFAULTS, DocOptions, ReadOptions, check_choice
from .records import LostSpans, Note, Record
from .spacy_files import SHARD_TOKENS, SpacyWriter
from .writers import BratWriter, ColumnsWriter, JsonlWriter, Writer

TARGETS = ("spacy", "brat", "jsonl", "conll")
# Formats by the suffix of the target.
SUFFIXES: Dict[str, str] = {
    ".spacy": "spacy",
    **dict.fromkeys((".jsonl", ".json"), "jsonl"),
    **dict.fromkeys((".conll", ".iob2", ".bio", ".tsv"), "conll"),
}
LONGEST_TEXT = 10**9
NO_SENTENCES = (
    "The documents have no sentence boundaries. If each is one sentence, use "
    "--sentences one; to split them at punctuation, use --sentences rules"
)


class Summary(NamedTuple):
    """The result of a conversion.

    documents, tokens, spans (int): numbers of written documents, tokens and spans.
    empty (int): documents without tokens, which are skipped.
    lost (LostSpans): entities that were not written.
    with_sentences (int): number of documents with sentence boundaries.
    """

    documents: int
    tokens: int
    spans: int
    empty: int
    lost: LostSpans
    with_sentences: int

    @property
    def n_total(self) -> int:
        """Number of entities in the source, without duplicates."""
        return self.spans + self.lost.n_lost

    @property
    def share_lost(self) -> float:
        """Share of entities that are missing from the output."""
        return self.lost.n_lost / self.n_total if self.n_total else 0.0


def ignore_note(message: str) -> None:
    """Ignore a message of a reader."""


def resolve_format(
    source: Path, format: Optional[str], note: Note, encoding: str = "utf-8"
) -> str:
    """RETURNS (str): the given format, or the detected one.

    RAISES (ValueError): SP050 for an unknown encoding, SP053 if no format is detected,
        SP061 if the source is missing or empty, SP062 for an unknown format.
    """
    if format is not None:
        return check_choice("format", format, tuple(FORMATS))
    if not source.exists():
        raise ValueError(
            Errors.SP061.format(source=source, problem="it does not exist")
        )
    name = detect_format(source, encoding)
    note(f"{source.name}: the format is {name}")
    return name


def read_records(
    source: Path,
    *,
    format: Optional[str] = None,
    options: ReadOptions = READ_DEFAULTS,
    note: Note = ignore_note,
) -> Iterator[Record]:
    """YIELDS (Record): the documents of a file or a folder, as stored there.

    For the arguments and errors, see `read_docs`.
    """
    chosen = FORMATS[resolve_format(source, format, note, options.encoding)]
    for path in find_files(source, chosen):
        yield from chosen.read(path, options, note)


def read_docs(
    source: Path,
    nlp: AnyLanguage,
    *,
    format: Optional[str] = None,
    read_options: ReadOptions = READ_DEFAULTS,
    doc_options: DocOptions = DOC_DEFAULTS,
    lost: Optional[LostSpans] = None,
    note: Note = ignore_note,
) -> Iterator[Doc]:
    """Read a file or a folder as documents.

    source (Path): file or folder.
    nlp (AnyLanguage): provides the vocabulary, the tokenizer for sources without
        tokens, and whether the language is written with spaces.
    format (Optional[str]): format of the source, a key of `FORMATS`; None to detect it.
    read_options (ReadOptions): how to read.
    doc_options (DocOptions): how to build documents.
    lost (LostSpans): collects the entities that cannot be represented.
    note (Note): called with messages about what was detected.
    YIELDS (Doc): documents with entities in `doc.spans[spans_key]`.
    RAISES (ValueError): an error that names file and line.

    >>> for doc in read_docs(Path("train.iob2"), spacy.blank("en")):
    ...     print([(span.text, span.label_) for span in doc.spans["ents"]])
    [('Ana Ruiz', 'PER'), ('Boston', 'GPE')]
    """
    account = LostSpans() if lost is None else lost
    # Texts are only tokenized, which needs little memory.
    nlp.max_length = max(nlp.max_length, LONGEST_TEXT)
    if read_options.separator is None:
        separator = " " if written_with_spaces(nlp) else ""
        read_options = replace(read_options, separator=separator)
    for record in read_records(source, format=format, options=read_options, note=note):
        yield from to_docs(record, nlp, doc_options, account)


def read_plain_docs(path: Path) -> Iterator[Doc]:
    """Read `.spacy` files without changing the documents.

    path (Path): a file, or a folder of files.
    YIELDS (Doc): documents.
    RAISES (ValueError): SP056 for a file that spaCy did not write, SP061 if there is no
        file.
    """
    vocab = Vocab()
    for file in find_files(path, FORMATS["spacy"]):
        yield from load_docs(file, vocab)


def convert_corpus(
    source: Path,
    target: Path,
    nlp: AnyLanguage,
    *,
    format: Optional[str] = None,
    to: Optional[str] = None,
    read_options: ReadOptions = READ_DEFAULTS,
    doc_options: DocOptions = DOC_DEFAULTS,
    shard_tokens: int = SHARD_TOKENS,
    lost: Optional[LostSpans] = None,
    note: Note = ignore_note,
) -> Summary:
    """Convert a file or a folder. For the other arguments, see `read_docs`.

    target (Path): file or folder to write.
    to (Optional[str]): one of `TARGETS`; None to choose by the name of the target.
    shard_tokens (int): tokens per file, if the target is a folder of `.spacy` files.
    RAISES (ValueError): an error that names file and line, if it concerns a file.

    >>> convert_corpus(Path("train.iob2"), Path("out.spacy"), spacy.blank("en")).spans
    2
    """
    account = LostSpans() if lost is None else lost
    name = resolve_format(source, format, note, read_options.encoding)
    to = check_choice("to", to or target_format(target), TARGETS)
    _require_unread(target, source, name, to)
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
    summary = _write_all(docs, writer, target, doc_options.spans_key, account)
    is_unsplit = summary.documents > 0 and not summary.with_sentences
    if is_unsplit and doc_options.sentences == "given":
        note(NO_SENTENCES)
    return summary


def _require_unread(target: Path, source: Path, format: str, to: str) -> None:
    """RAISES (ValueError): SP144 if an existing target would be read as a part of the
    source; but a folder may be converted into itself.
    """
    place = target.resolve()
    if not source.is_dir() or source.resolve() == place:
        return
    for path in [path.resolve() for path in find_files(source, FORMATS[format])]:
        inside = format == to and place.exists() and path in place.parents
        if inside or place == path or place in path.parents:
            raise ValueError(Errors.SP144.format(output=target, source=source))


def _write_all(
    docs: Iterator[Doc], writer: Writer, target: Path, key: str, lost: LostSpans
) -> Summary:
    n_docs = n_tokens = n_spans = n_empty = n_split = 0
    try:
        with naming_output(target, reading=True):
            for doc in docs:
                if not len(doc):
                    n_empty += 1
                    continue
                before = lost.n_listed
                writer.add(doc)
                n_docs += 1
                n_tokens += len(doc)
                n_split += doc.has_annotation("SENT_START")
                n_lost = lost.n_listed - before
                n_spans += len(doc.spans.get(key) or ()) - n_lost
            writer.close()
    except BaseException:  # including KeyboardInterrupt
        writer.discard()
        raise
    finally:
        lost.close()
    return Summary(n_docs, n_tokens, n_spans, n_empty, lost, n_split)


def make_writer(
    target: Path,
    to: str,
    options: DocOptions,
    *,
    shard_tokens: int,
    lean: bool,
    lost: LostSpans,
) -> Writer:
    """RETURNS (Writer): the writer of one of `TARGETS`.

    options (DocOptions): how the documents were built.
    shard_tokens, lean: see `SpacyWriter`.
    lost (LostSpans): collects the entities that the format cannot represent.
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
    """RETURNS (str): the format of a target, by its name.

    RAISES (ValueError): SP142 for an unknown suffix, unless it is that of a folder.
    """
    if target.is_dir() or not target.suffix:
        return "spacy"
    if target.suffix not in SUFFIXES:
        raise ValueError(
            Errors.SP142.format(
                target=target, suffix=target.suffix, suffixes=", ".join(SUFFIXES)
            )
        )
    return SUFFIXES[target.suffix]

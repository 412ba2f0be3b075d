"""Existing `.spacy` files: `doc.ents` become spans, other annotation is kept."""

from pathlib import Path
from typing import Iterator

from spacy.lang.lex_attrs import LEX_ATTRS
from spacy.tokens import Doc, DocBin
from spacy.vocab import Vocab

from ...errors import Errors
from ...evaluation.tables import amount
from ...pipeline.annotations import annotated_spans
from ..options import ReadOptions
from ..records import Lost, Mention, Note, Record


def read(path: Path, options: ReadOptions, note: Note) -> Iterator[Record]:
    """Read a file.

    options (ReadOptions): uses `spans_key`; without this group, `doc.ents` are read.
    note (Note): called with the number of documents without both.
    YIELDS (Record): documents, with the number of the document as line.
    RAISES (ValueError): SP056 if spaCy did not write the file.
    """
    missing = 0
    # Sentence boundaries by rules need `is_punct`, which a bare vocabulary lacks.
    vocab = Vocab(lex_attr_getters=LEX_ATTRS)
    for number, doc in enumerate(load_docs(path, vocab), start=1):
        spans = annotated_spans(doc, options.spans_key)
        if spans is None:
            missing += 1
            yield Record(path.name, number, None, doc=doc)
            continue
        mentions = [Mention(s.start, s.end, s.label_, number) for s in spans if s.label]
        lost = [
            Lost(path.name, number, span.text, "", "without a label")
            for span in spans
            if not span.label
        ]
        yield Record(path.name, number, mentions, lost=lost, doc=doc)
    if missing:
        without = amount(missing, "document has", "documents have")
        note(f"{path.name}: {without} neither spans nor entities")


def load_docs(path: Path, vocab: Vocab) -> Iterator[Doc]:
    """YIELDS (Doc): the documents of a file.

    RAISES (ValueError): SP056 if spaCy did not write the file.
    """
    docs: Iterator[Doc] = iter(())
    number = 0
    while True:
        try:
            if not number:
                docs = DocBin().from_disk(path).get_docs(vocab)
            number += 1
            doc = next(docs)
        except StopIteration:
            return
        except Exception as error:
            # Decompressing, unpacking and building documents fail in many ways.
            problem = f"{type(error).__name__}: {error}"
            message = Errors.SP056.format(
                source=path.name, number=max(number, 1), problem=problem
            )
            raise ValueError(message) from None
        yield doc

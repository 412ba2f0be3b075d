"""Text with entities marked inline: `[the [US](GPE) Supreme Court](ORG)`.

One sentence per line, a blank line between documents, `#` starts a comment line.
A backslash takes the special meaning from `[`, `]`, `#` and itself.
"""

import re
from typing import Iterable, Iterator, List, NamedTuple, Sequence, Tuple

from spacy.language import Language
from spacy.tokens import Doc

from ..errors import Errors

_PART = re.compile(
    r"\\(?P<escaped>[\[\]#\\])"
    r"|(?P<open>\[)"
    r"|(?P<close>\])(?P<label>\([^)]*\))?"
    r"|(?P<text>[^\[\]\\]+|\\)"
)


class CharSpan(NamedTuple):
    """An entity by character offsets; `end` is exclusive."""

    start: int
    end: int
    label: str


class BracketedSentence(NamedTuple):
    """A sentence without its brackets, and the entities that they marked."""

    text: str
    spans: List[CharSpan]


def parse_sentence(
    line: str, *, source: str = "<text>", number: int = 1
) -> BracketedSentence:
    """Take the brackets out of one line.

    line (str): the annotated sentence.
    source (str): name of the file, for messages.
    number (int): the line's number, for messages.
    RETURNS (BracketedSentence): plain text, and its spans in document order.
    RAISES (ValueError): SP001 where brackets or labels are malformed.
    """

    def fail(column: int, problem: str) -> ValueError:
        message = Errors.SP001.format(
            source=source, line=number, column=column + 1, problem=problem, text=line
        )
        return ValueError(message)

    text = ""
    opened: List[Tuple[int, int]] = []  # (offset in the plain text, column of "[")
    spans: List[CharSpan] = []
    for part in _PART.finditer(line):
        if part["open"]:
            opened.append((len(text), part.start()))
        elif part["close"]:
            label = (part["label"] or "").strip("() ")
            if not opened:
                raise fail(part.start(), "']' without '['")
            if not label:
                raise fail(part.start(), "']' is not followed by a '(LABEL)'")
            start, column = opened.pop()
            if start == len(text):
                raise fail(column, "the entity has no text")
            spans.append(CharSpan(start, len(text), label))
        else:
            text += part["escaped"] or part["text"]
    if opened:
        raise fail(opened[-1][1], "'[' is never closed")
    spans.sort(key=lambda span: (span.start, -span.end, span.label))
    return BracketedSentence(text, spans)


def read_documents(
    lines: Iterable[str], *, source: str = "<text>"
) -> Iterator[List[BracketedSentence]]:
    """Group a file's lines into documents.

    lines (Iterable[str]): the file.
    source (str): its name, for messages.
    YIELDS (List[BracketedSentence]): the sentences of one document.
    """
    document: List[BracketedSentence] = []
    for number, line in enumerate(lines, start=1):
        line = line.strip()
        if line.startswith("#"):
            continue
        if line:
            document.append(parse_sentence(line, source=source, number=number))
        elif document:
            yield document
            document = []
    if document:
        yield document


def to_doc(
    sentences: Sequence[BracketedSentence],
    nlp: Language,
    *,
    spans_key: str,
    separator: str = " ",
    source: str = "<text>",
) -> Doc:
    """Build a document with sentence boundaries and entities.

    sentences (Sequence[BracketedSentence]): the document.
    nlp (Language): gives the tokens.
    spans_key (str): the group that gets the entities.
    separator (str): text between sentences; empty for Chinese.
    source (str): name of the file, for messages.
    RETURNS (Doc): tokens start a sentence where a line began.
    RAISES (ValueError): SP011 where the boundary of an entity or of a sentence lies
        inside a token.
    """
    doc = nlp.make_doc(separator.join(sentence.text for sentence in sentences))
    sentence_starts, spans, offset = set(), [], 0
    for sentence in sentences:
        sentence_starts.add(offset)
        whole = CharSpan(0, len(sentence.text), "")
        for start, end, label in [whole, *sentence.spans]:
            span = doc.char_span(offset + start, offset + end, label=label)
            if span is None:
                raise ValueError(
                    Errors.SP011.format(
                        source=source,
                        entity=sentence.text[start:end],
                        text=sentence.text,
                    )
                )
            if label:
                spans.append(span)
        offset += len(sentence.text) + len(separator)
    for token in doc:
        token.is_sent_start = token.idx in sentence_starts
    doc.spans[spans_key] = spans
    return doc

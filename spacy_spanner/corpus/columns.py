"""CoNLL-style columns: a token and its tags per line, a blank line after a sentence.

Nested entities take several tag columns, one per layer.
"""

import re
from typing import Iterable, Iterator, List, NamedTuple, Sequence, Tuple

from spacy.tokens import Doc, Span
from spacy.vocab import Vocab

from ..errors import Errors

TAG = re.compile(r"O|[BIMELSU]-\S+")
# First letters of tags by what they do: BIO, BILUO, BIOES and BMES together.
OPENING, CLOSING = frozenset("BSU"), frozenset("ELSU")


class TaggedSentence(NamedTuple):
    """Tokens, and one list of tags per layer."""

    words: List[str]
    layers: List[List[str]]


def read_sentences(
    lines: Iterable[str], *, source: str = "<text>"
) -> Iterator[TaggedSentence]:
    """Group a file's lines into sentences.

    lines (Iterable[str]): the file.
    source (str): its name, for messages.
    YIELDS (TaggedSentence): sentences with at least one token.
    RAISES (ValueError): SP001 where a line has no tag, another number of columns than
        the line before, or something that is no tag.
    """
    rows: List[Tuple[str, ...]] = []
    for number, line in enumerate(lines, start=1):
        row = tuple(line.split())
        problem = _problem(row, rows)
        if row and problem:
            raise ValueError(
                Errors.SP001.format(
                    source=source, line=number, column=1, problem=problem, text=line
                )
            )
        if row:
            rows.append(row)
        elif rows:
            yield _sentence(rows)
            rows = []
    if rows:
        yield _sentence(rows)


def _problem(row: Tuple[str, ...], rows: List[Tuple[str, ...]]) -> str:
    """RETURNS (str): what is wrong with a line; empty if nothing is."""
    wanted = len(rows[0]) if rows else max(len(row), 2)
    if len(row) != wanted:
        return f"{len(row)} columns instead of {wanted}"
    wrong = [tag for tag in row[1:] if not TAG.fullmatch(tag)]
    return f"{wrong[0]!r} is not a tag such as O, B-X, I-X or S-X" if wrong else ""


def _sentence(rows: List[Tuple[str, ...]]) -> TaggedSentence:
    words, *layers = (list(column) for column in zip(*rows))
    return TaggedSentence(words, layers)


def to_doc(sentence: TaggedSentence, vocab: Vocab, *, spans_key: str) -> Doc:
    """Build a document of one sentence.

    sentence (TaggedSentence): tags in IOB1, IOB2, BILUO, BIOES or BMES.
    vocab (Vocab): the pipeline's vocabulary.
    spans_key (str): the group that gets the entities of all layers.
    RETURNS (Doc): with its group, which is empty where no entity is.
    """
    doc = Doc(vocab, words=sentence.words)
    found = {span for tags in sentence.layers for span in decode_tags(tags)}
    doc.spans[spans_key] = [
        Span(doc, start, end, label=label) for start, end, label in sorted(found)
    ]
    return doc


def decode_tags(tags: Sequence[str]) -> List[Tuple[int, int, str]]:
    """Read the entities of one layer, in any of the usual schemes.

    An entity opens with an opening tag, and with any other tag that cannot continue the
    one before it; so an irregular sequence loses no entity.

    tags (Sequence[str]): one tag per token.
    RETURNS (List[Tuple[int, int, str]]): start, exclusive end and label.
    """
    spans: List[Tuple[int, int, str]] = []
    closed = True
    for index, tag in enumerate(tags):
        action, _, label = tag.partition("-")
        if action == "O":
            closed = True
            continue
        if closed or action in OPENING or label != spans[-1][2]:
            spans.append((index, index, label))
        spans[-1] = (spans[-1][0], index + 1, label)
        closed = action in CLOSING
    return spans

"""Columns of tags in several schemes."""

from typing import Dict, List, Sequence, Set, Tuple

import pytest
from hypothesis import given
from hypothesis import strategies as st
from spacy.tokens import Doc
from spacy.vocab import Vocab

from spacy_spanner.corpus.columns import (
    TaggedSentence,
    decode_tags,
    read_sentences,
    to_doc,
)

Rows = List[Tuple[int, int, str]]


@pytest.fixture(scope="module")
def vocab() -> Vocab:
    return Vocab()


def rows(doc: Doc, key: str = "ents") -> Rows:
    return [(span.start, span.end, span.label_) for span in doc.spans[key]]


def tagged(*layers: str) -> TaggedSentence:
    """Tags as one text a layer; the words do not matter."""
    tags = [layer.split() for layer in layers]
    return TaggedSentence([f"w{i}" for i in range(len(tags[0]))], tags)


# -------------------------------------------------------------------- reading


def test_read_sentences_splits_at_blank_lines() -> None:
    lines = ["The O\n", "US B-GPE\n", "\n", "Bye O\n"]
    assert list(read_sentences(lines)) == [
        TaggedSentence(["The", "US"], [["O", "B-GPE"]]),
        TaggedSentence(["Bye"], [["O"]]),
    ]


def test_read_sentences_of_several_columns_gives_a_layer_of_each() -> None:
    assert list(read_sentences(["a B-X O", "b I-X B-Y"])) == [
        TaggedSentence(["a", "b"], [["B-X", "I-X"], ["O", "B-Y"]])
    ]


def test_read_sentences_takes_tabs_and_spaces_alike() -> None:
    assert list(read_sentences(["a\tO\r\n", "b   O \n"])) == [
        TaggedSentence(["a", "b"], [["O", "O"]])
    ]


def test_read_sentences_ignores_repeated_and_blank_lines() -> None:
    sentences = list(read_sentences(["\n", " \t\n", "a O\n", "\n", "\n"]))
    assert sentences == [TaggedSentence(["a"], [["O"]])]


@pytest.mark.parametrize("lines", [[], ["\n"], ["\n", "  \n"]])
def test_read_sentences_of_nothing_is_empty(lines: List[str]) -> None:
    assert list(read_sentences(lines)) == []


def test_read_sentences_lets_sentences_differ_in_columns() -> None:
    sentences = list(read_sentences(["a O", "", "b O O"]))
    assert [len(sentence.layers) for sentence in sentences] == [1, 2]


@pytest.mark.parametrize(
    "lines, number, seen, wanted",
    [
        pytest.param(["a O", "b O O"], 2, 3, "2", id="one too many"),
        pytest.param(["a O O", "b O"], 2, 2, "3", id="one too few"),
        pytest.param(["a O", "b"], 2, 1, "2", id="no tag"),
        pytest.param(["a"], 1, 1, "2", id="no tag at first"),
        pytest.param(["a O", "", "", "b"], 4, 1, "2", id="later sentence"),
    ],
)
def test_read_sentences_of_a_ragged_line_points_at_it(
    lines: List[str], number: int, seen: int, wanted: str
) -> None:
    message = rf"SP001.*my\.txt, line {number}, .*{seen} columns instead of {wanted}\."
    with pytest.raises(ValueError, match=message):
        list(read_sentences(lines, source="my.txt"))


# -------------------------------------------------------------------- schemes

SCHEMES: Dict[str, Tuple[str, Rows]] = {
    "outside only": ("O O O", []),
    "IOB1": ("I-A I-A O I-B", [(0, 2, "A"), (3, 4, "B")]),
    "IOB1, B parts neighbours": ("I-A I-A B-A O", [(0, 2, "A"), (2, 3, "A")]),
    "IOB1, label parts neighbours": ("I-A I-B I-B", [(0, 1, "A"), (1, 3, "B")]),
    "IOB2": ("B-A I-A O B-B", [(0, 2, "A"), (3, 4, "B")]),
    "IOB2 neighbours": ("B-A B-A I-A", [(0, 1, "A"), (1, 3, "A")]),
    "IOB2 at the end": ("O B-A I-A", [(1, 3, "A")]),
    "BILUO": ("B-A I-A L-A U-B O", [(0, 3, "A"), (3, 4, "B")]),
    "BILUO, pairs": ("B-A L-A B-A L-A", [(0, 2, "A"), (2, 4, "A")]),
    "BILUO, units": ("U-A U-A", [(0, 1, "A"), (1, 2, "A")]),
    "BMES": ("B-A M-A E-A S-B O", [(0, 3, "A"), (3, 4, "B")]),
    "BMES, pairs": ("B-A E-A B-A E-A", [(0, 2, "A"), (2, 4, "A")]),
    "BMES, units": ("S-A S-A", [(0, 1, "A"), (1, 2, "A")]),
    "BIOES": ("B-A I-A E-A S-B", [(0, 3, "A"), (3, 4, "B")]),
    "label with hyphen": ("B-A-1 I-A-1", [(0, 2, "A-1")]),
    "label like a prefix": ("B-S I-S O B-L", [(0, 2, "S"), (3, 4, "L")]),
}


@pytest.mark.parametrize("tags, expected", SCHEMES.values(), ids=SCHEMES.keys())
def test_to_doc_of_scheme(tags: str, expected: Rows, vocab: Vocab) -> None:
    assert rows(to_doc(tagged(tags), vocab, spans_key="ents")) == expected


def test_to_doc_of_layers_holds_the_entities_of_all(vocab: Vocab) -> None:
    sentence = tagged("B-A I-A I-A O", "O B-B I-B O", "O O U-C O")
    doc = to_doc(sentence, vocab, spans_key="ents")
    assert rows(doc) == [(0, 3, "A"), (1, 3, "B"), (2, 3, "C")]


def test_to_doc_of_layers_finds_the_scheme_of_each(vocab: Vocab) -> None:
    doc = to_doc(tagged("B-A I-A O", "O B-B E-B"), vocab, spans_key="ents")
    assert rows(doc) == [(0, 2, "A"), (1, 3, "B")]


def test_to_doc_of_equal_entities_in_two_layers_keeps_one(vocab: Vocab) -> None:
    doc = to_doc(tagged("B-A I-A", "B-A I-A"), vocab, spans_key="ents")
    assert rows(doc) == [(0, 2, "A")]


def test_to_doc_of_two_labels_on_one_span_keeps_both(vocab: Vocab) -> None:
    doc = to_doc(tagged("B-A I-A", "B-B I-B"), vocab, spans_key="ents")
    assert rows(doc) == [(0, 2, "A"), (0, 2, "B")]


def test_to_doc_without_entities_has_an_empty_group(vocab: Vocab) -> None:
    doc = to_doc(tagged("O O"), vocab, spans_key="gold")
    assert "gold" in doc.spans
    assert rows(doc, "gold") == []


def test_to_doc_keeps_the_words(vocab: Vocab) -> None:
    sentence = TaggedSentence(["Don't", "東京", "."], [["O", "B-A", "O"]])
    doc = to_doc(sentence, vocab, spans_key="ents")
    assert [token.text for token in doc] == ["Don't", "東京", "."]


@pytest.mark.parametrize(
    "tags, spans",
    [
        pytest.param("I-A L-A", [(0, 2, "A")], id="no begin"),
        pytest.param("O M-A E-A", [(1, 3, "A")], id="no begin in BMES"),
        pytest.param("E-A O", [(0, 1, "A")], id="last alone"),
        pytest.param("B-A O S-B", [(0, 1, "A"), (2, 3, "B")], id="no last"),
        pytest.param("B-A I-A O U-B", [(0, 2, "A"), (3, 4, "B")], id="no last, longer"),
        pytest.param("B-A I-B", [(0, 1, "A"), (1, 2, "B")], id="label changes"),
        pytest.param("B-A E-A I-A", [(0, 2, "A"), (2, 3, "A")], id="inside after last"),
    ],
)
def test_decode_tags_of_an_irregular_sequence_loses_nothing(
    tags: str, spans: List[Tuple[int, int, str]]
) -> None:
    assert decode_tags(tags.split()) == spans


@pytest.mark.parametrize("tag", ["NNP", "-X-", "B", "B-", "X-A"])
def test_read_sentences_of_what_is_no_tag_fails(tag: str) -> None:
    message = rf"SP001.*my\.txt, line 2, .*'{tag}' is not a tag"
    with pytest.raises(ValueError, match=message):
        list(read_sentences(["a O", f"b {tag}"], source="my.txt"))


# ----------------------------------------------------------------- properties


@st.composite
def flat_entities(draw: st.DrawFn) -> Tuple[int, Rows]:
    """Length of a sentence, and entities that do not overlap."""
    found, position = [], 0
    for _ in range(draw(st.integers(0, 4))):
        start = position + draw(st.integers(0, 2))
        position = start + draw(st.integers(1, 3))
        found.append((start, position, draw(st.sampled_from(["A", "B"]))))
    return max(position + draw(st.integers(0, 2)), 1), found


def write(length: int, entities: Rows, letters: Sequence[str]) -> List[str]:
    """letters: for first, inside, last and single token."""
    first, inside, last, single = letters
    tags = ["O"] * length
    for start, end, label in entities:
        tags[start:end] = [f"{inside}-{label}"] * (end - start)
        tags[start], tags[end - 1] = f"{first}-{label}", f"{last}-{label}"
        if end - start == 1:
            tags[start] = f"{single}-{label}"
    return tags


@given(flat_entities(), st.sampled_from(["BIIB", "BILU", "BMES", "BIES"]))
def test_to_doc_reads_back_what_was_written(
    case: Tuple[int, Rows], letters: str
) -> None:
    length, entities = case
    tags = write(length, entities, letters)
    lines = [f"w {tag}" for tag in tags]
    (sentence,) = read_sentences(lines)
    doc = to_doc(sentence, Vocab(), spans_key="ents")
    assert rows(doc) == entities


@given(
    st.lists(
        st.text(st.sampled_from("aO \t\n-"), max_size=8),
        max_size=8,
    )
)
def test_read_sentences_of_any_lines_reads_all_words_or_says_why(
    lines: List[str],
) -> None:
    try:
        sentences = list(read_sentences(lines))
    except ValueError as error:
        assert str(error).startswith("[SP001]")
    else:
        words = [word for sentence in sentences for word in sentence.words]
        assert words == [line.split()[0] for line in lines if line.split()]
        sizes: Set[int] = {
            len(layer) - len(sentence.words)
            for sentence in sentences
            for layer in sentence.layers
        }
        assert sizes <= {0}

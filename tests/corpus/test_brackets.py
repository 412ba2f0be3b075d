"""Text with entities marked inline."""

from pathlib import Path
from typing import List, Tuple, Union

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spacy_spanner.corpus.formats.brackets import (
    BracketedSentence,
    CharSpan,
    parse_sentence,
    read_documents,
)

from .util import docs_and_lost, read_all, write_file

# -------------------------------------------------------------------- parsing


@pytest.mark.parametrize(
    "line, plain, spans",
    [
        pytest.param("", "", [], id="empty"),
        pytest.param("no entity (here)", "no entity (here)", [], id="no entity"),
        pytest.param("[US](GPE)", "US", [(0, 2, "GPE")], id="whole line"),
        pytest.param("a [b](X) c", "a b c", [(2, 3, "X")], id="inside a line"),
        pytest.param(
            "[the [US](GPE) Court](ORG)",
            "the US Court",
            [(0, 12, "ORG"), (4, 6, "GPE")],
            id="nested",
        ),
        pytest.param(
            "[[[a](X) b](Y) c](Z)",
            "a b c",
            [(0, 5, "Z"), (0, 3, "Y"), (0, 1, "X")],
            id="nested with one start",
        ),
        pytest.param("[a](X)[b](Y)", "ab", [(0, 1, "X"), (1, 2, "Y")], id="adjacent"),
        pytest.param(
            "[[a](Y)](X)", "a", [(0, 1, "X"), (0, 1, "Y")], id="two labels on one"
        ),
        pytest.param("[a](X)(b)", "a(b)", [(0, 1, "X")], id="parentheses after"),
        pytest.param("[a (b)](X)", "a (b)", [(0, 5, "X")], id="parentheses inside"),
        pytest.param("[a]( X )", "a", [(0, 1, "X")], id="spaces around the label"),
        pytest.param("[a](cell type)", "a", [(0, 1, "cell type")], id="space in label"),
        pytest.param(r"\[a\]", "[a]", [], id="escaped brackets"),
        pytest.param(r"[\[a\]](X)", "[a]", [(0, 3, "X")], id="escaped in an entity"),
        pytest.param(r"a\\b", r"a\b", [], id="escaped backslash"),
        pytest.param(r"a\b", r"a\b", [], id="backslash before a letter"),
        pytest.param("a\\", "a\\", [], id="backslash at the end"),
        pytest.param(r"[a\\](X)", "a\\", [(0, 2, "X")], id="backslash ends an entity"),
        pytest.param("[東京](LOC)だ", "東京だ", [(0, 2, "LOC")], id="not ascii"),
    ],
)
def test_parse_sentence(
    line: str, plain: str, spans: List[Tuple[int, int, str]]
) -> None:
    assert parse_sentence(line) == BracketedSentence(
        plain, [CharSpan(*span) for span in spans]
    )


@pytest.mark.parametrize(
    "line, column, problem",
    [
        pytest.param("a]", 2, "without", id="never opened"),
        pytest.param("a](X)", 2, "without", id="never opened with label"),
        pytest.param("[a](X)](Y)", 7, "without", id="closed twice"),
        pytest.param("a [b", 3, "never closed", id="never closed"),
        pytest.param("[a [b](X)", 1, "never closed", id="outer never closed"),
        pytest.param("[a]", 3, "LABEL", id="no label"),
        pytest.param("[a] (X)", 3, "LABEL", id="space before the label"),
        pytest.param("[a]()", 3, "LABEL", id="empty label"),
        pytest.param("[a]( )", 3, "LABEL", id="blank label"),
        pytest.param("[a](X", 3, "LABEL", id="label never closed"),
        pytest.param("a [](X)", 3, "no text", id="no text"),
        pytest.param("[[](X)a](Y)", 2, "no text", id="inner without text"),
    ],
)
def test_parse_sentence_of_malformed_line_points_at_it(
    line: str, column: int, problem: str
) -> None:
    with pytest.raises(ValueError, match=rf"SP001.*column {column}:.*{problem}"):
        parse_sentence(line)


def test_parse_sentence_names_file_line_and_text_in_its_error() -> None:
    message = r"my\.txt, line 7, column 1.*'\[oops'"
    with pytest.raises(ValueError, match=message):
        parse_sentence("[oops", source="my.txt", number=7)


# ------------------------------------------------------------------ documents


def texts(lines: List[str]) -> List[List[str]]:
    return [[sentence.text for sentence in doc] for doc in read_documents(lines)]


def test_read_documents_splits_at_blank_lines() -> None:
    assert texts(["a\n", "b\n", "\n", "c\n"]) == [["a", "b"], ["c"]]


def test_read_documents_ignores_repeated_blank_lines_and_comments() -> None:
    lines = ["\n", "# first\n", "a\n", " \t\n", "\n", "# second\n", "\n", "b"]
    assert texts(lines) == [["a"], ["b"]]


def test_read_documents_with_a_comment_inside_a_document_goes_on() -> None:
    assert texts(["a", "# note", "b"]) == [["a", "b"]]


@pytest.mark.parametrize("lines", [[], ["\n"], ["# nothing\n"]])
def test_read_documents_without_sentences_is_empty(lines: List[str]) -> None:
    assert texts(lines) == []


def test_read_documents_counts_all_lines_in_its_errors() -> None:
    with pytest.raises(ValueError, match=r"x\.txt, line 4,"):
        list(read_documents(["# note", "a", "", "[b"], source="x.txt"))


def test_read_joins_sentences_and_moves_entities(tmp_path: Path) -> None:
    path = write_file(tmp_path, "a.txt", "# note\n[I](PER) left.\nThe [US](GPE) won.\n")
    (record,) = read_all("brackets", path).records
    assert record.text == "I left. The US won."
    assert record.sentence_starts == [0, 8]
    assert [m[:4] for m in record.mentions or ()] == [
        (0, 1, "PER", 2),
        (12, 14, "GPE", 3),
    ]


def test_read_with_another_separator_joins_by_it(tmp_path: Path) -> None:
    path = write_file(tmp_path, "a.txt", "[甲](X)。\n[乙](Y)。\n")
    (record,) = read_all("brackets", path, separator="").records
    assert record.text == "甲。乙。"
    assert [m.start for m in record.mentions or ()] == [0, 2]


@pytest.mark.parametrize("lang, text", [("en", "甲。 乙。"), ("zh", "甲。乙。")])
def test_documents_join_sentences_as_the_language_does(
    tmp_path: Path, lang: str, text: str
) -> None:
    path = write_file(tmp_path, "a.txt", "[甲](X)。\n[乙](Y)。\n")
    (doc,), _ = docs_and_lost("brackets", path, lang=lang, align="expand")
    assert doc.text == text


def test_read_of_a_boundary_inside_a_token_loses_the_entity(tmp_path: Path) -> None:
    path = write_file(tmp_path, "a.txt", "pre[war](X) years\n")
    docs, lost = docs_and_lost("brackets", path)
    assert list(docs[0].spans["ents"]) == []
    assert lost.examples == [("a.txt", 1, "war", "X", "boundaries inside tokens")]


# ----------------------------------------------------------------- properties

Entity = Tuple[List["Node"], str]
Node = Union[str, Entity]

words = st.text(st.sampled_from("ab [](){}\\#é\t"), min_size=1, max_size=4)
labels = st.sampled_from(["X", "cell type", "A-1", "["])
nodes = st.recursive(
    words,
    lambda inner: st.tuples(st.lists(inner, min_size=1, max_size=3), labels),
    max_leaves=8,
)


def write(node: Node) -> str:
    if isinstance(node, str):
        return "".join("\\" + char if char in "[]\\" else char for char in node)
    inner, label = node
    return "[" + "".join(map(write, inner)) + f"]({label})"


def plain(node: Node) -> str:
    return node if isinstance(node, str) else "".join(map(plain, node[0]))


def entities(node: Node, start: int) -> List[CharSpan]:
    if isinstance(node, str):
        return []
    inner, label = node
    found = [CharSpan(start, start + len(plain(node)), label)]
    for child in inner:
        found += entities(child, start)
        start += len(plain(child))
    return found


@given(st.lists(nodes, min_size=1, max_size=4))
def test_parse_sentence_reads_back_what_was_written(tree: List[Node]) -> None:
    whole: Node = (tree, "WHOLE")
    parsed = parse_sentence(write(whole))
    assert parsed.text == plain(whole)
    assert sorted(parsed.spans) == sorted(entities(whole, 0))


@given(
    st.one_of(
        st.text(st.sampled_from("[]()\\ab #\t\n"), max_size=20), st.text(max_size=20)
    )
)
def test_parse_sentence_of_any_text_parses_or_says_why(line: str) -> None:
    try:
        parsed = parse_sentence(line)
    except ValueError as error:
        assert str(error).startswith("[SP001]")
    else:
        places = [(span.start, -span.end, span.label) for span in parsed.spans]
        assert places == sorted(places)
        for start, end, label in parsed.spans:
            assert 0 <= start < end <= len(parsed.text)
            assert label == label.strip() != ""


@given(st.text(max_size=20))
def test_parse_sentence_without_special_characters_is_the_text(line: str) -> None:
    line = "".join(char for char in line if char not in "[]\\")
    assert parse_sentence(line) == BracketedSentence(line, [])

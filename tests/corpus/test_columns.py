"""Columns of tokens and tags: layouts, documents, broken lines."""

from pathlib import Path
from typing import List, Optional, Tuple

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from spacy_spanner.corpus.formats.columns import (
    Layout,
    TaggedSentence,
    are_segmented,
    detect_layout,
    read_sentences,
    split_position,
)

from .util import docs_and_lost, read_all, spans_of, write_file

LAYERS = Layout(None, segmented=False, documents=False)


def sentences_of(lines: List[str], layout: Layout = LAYERS) -> List[TaggedSentence]:
    return list(read_sentences(lines, layout))


# -------------------------------------------------------------------- reading


def test_read_sentences_splits_at_blank_lines_and_counts_lines() -> None:
    lines = ["The O\n", "US B-GPE\n", "\n", "\n", "Bye O\n"]
    assert sentences_of(lines) == [
        TaggedSentence(["The", "US"], [["O", "B-GPE"]], 1),
        TaggedSentence(["Bye"], [["O"]], 5),
    ]


def test_read_sentences_of_several_columns_gives_a_layer_of_each() -> None:
    assert sentences_of(["a B-X O", "b I-X B-Y"]) == [
        TaggedSentence(["a", "b"], [["B-X", "I-X"], ["O", "B-Y"]], 1)
    ]


def test_read_sentences_takes_tabs_and_spaces_alike() -> None:
    assert sentences_of(["a\tO\r\n", "b   O \n"]) == [
        TaggedSentence(["a", "b"], [["O", "O"]], 1)
    ]


@pytest.mark.parametrize("word", ["New York", "a\u00a0b", "\u3000x"])
def test_read_sentences_keeps_spaces_between_tabs(word: str) -> None:
    assert sentences_of([f"{word}\tO"])[0].words == [word]


@pytest.mark.parametrize("lines", [[], ["\n"], ["\n", " \t \n"]])
def test_read_sentences_of_nothing_is_empty(lines: List[str]) -> None:
    assert sentences_of(lines) == []


def test_read_sentences_lets_sentences_differ_in_columns() -> None:
    found = sentences_of(["a O", "", "b O O"])
    assert [len(sentence.layers) for sentence in found] == [1, 2]


@pytest.mark.parametrize(
    "lines, words",
    [
        pytest.param(["# id = 1", "# domain = x", "a O"], ["a"], id="before"),
        pytest.param(["# O", "a O"], ["#", "a"], id="a token"),
        pytest.param(["#tag O"], ["#tag"], id="a word"),
    ],
)
def test_read_sentences_tells_comments_from_tokens(
    lines: List[str], words: List[str]
) -> None:
    (sentence,) = sentences_of(lines)
    assert sentence.words == words
    assert sentence.line == len(lines) - len(words) + 1


def test_read_sentences_of_comments_alone_is_empty() -> None:
    assert sentences_of(["# nothing here", "", "# nor here"]) == []


@pytest.mark.parametrize(
    "lines, number, seen, wanted",
    [
        pytest.param(["a O", "b O O"], 2, 3, "2", id="one too many"),
        pytest.param(["a O O", "b O"], 2, 2, "3", id="one too few"),
        pytest.param(["a O", "b"], 2, 1, "2", id="no tag"),
        pytest.param(["a"], 1, 1, "2", id="no tag at first"),
        pytest.param(["a O", "", "", "b"], 4, 1, "2", id="later sentence"),
        pytest.param(["# one", "a O", "b"], 3, 1, "2", id="after a comment"),
        pytest.param(["a O", "b O", "c"], 3, 1, "2", id="last line"),
    ],
)
def test_read_sentences_of_a_ragged_line_points_at_it(
    lines: List[str], number: int, seen: int, wanted: str
) -> None:
    message = rf"SP001.*my\.txt, line {number}, .*{seen} columns instead of {wanted}\."
    with pytest.raises(ValueError, match=message):
        list(read_sentences(lines, LAYERS, source="my.txt"))


@pytest.mark.parametrize("tag", ["NNP", "-X-", "B", "B-", "X-A"])
def test_read_sentences_of_what_is_no_tag_fails(tag: str) -> None:
    message = rf"SP001.*my\.txt, line 2, .*'{tag}' is not a tag"
    with pytest.raises(ValueError, match=message):
        list(read_sentences(["a O", f"b {tag}"], LAYERS, source="my.txt"))


# -------------------------------------------------------------------- layouts


@pytest.mark.parametrize(
    "head, tags",
    [
        pytest.param(["a O", "b B-X"], None, id="two columns"),
        pytest.param(["a O B-X", "b B-X I-X"], None, id="layers"),
        pytest.param(["a NNP I-NP B-X"], (-1,), id="part of speech and chunk"),
        pytest.param(["a O NN O"], (-1,), id="something else between"),
        pytest.param([], None, id="nothing"),
    ],
)
def test_detect_layout_finds_tags(
    head: List[str], tags: Optional[Tuple[int, ...]]
) -> None:
    assert detect_layout(head).tags == tags


def test_detect_layout_believes_the_user() -> None:
    assert detect_layout(["a O B-X"], (2,)).tags == (2,)


def test_read_of_conll_2003_makes_documents_of_sentences(tmp_path: Path) -> None:
    lines = "-DOCSTART- -X- O O\n\nEU NNP I-NP I-ORG\nrejects VBZ I-VP O\n\n"
    lines += "Peter NNP I-NP I-PER\nPaul NNP I-NP B-PER\n\n-DOCSTART- -X- O O\n\n"
    path = write_file(tmp_path, "eng.train", lines + "Rome NNP I-NP I-LOC\n")
    reading = read_all("conll", path)
    first, second = reading.records
    assert first.words == ["EU", "rejects", "Peter", "Paul"]
    assert first.sentence_starts == [0, 2]
    mentions = [(*mention[:3], mention.line) for mention in first.mentions or ()]
    assert mentions == [(0, 1, "ORG", 3), (2, 3, "PER", 6), (3, 4, "PER", 7)]
    assert second.words == ["Rome"]
    assert "tags are in the last column, -DOCSTART- begins documents" in str(
        reading.notes
    )


def test_read_of_docstart_without_blank_lines_begins_a_document(tmp_path: Path) -> None:
    path = write_file(tmp_path, "a.txt", "a O\n-DOCSTART- O\nb O\n\nc O\n")
    records = read_all("conll", path).records
    assert [record.words for record in records] == [["a"], ["b", "c"]]


def test_read_without_docstart_makes_a_document_of_each_sentence(
    tmp_path: Path,
) -> None:
    path = write_file(tmp_path, "a.txt", "a O\n\nb B-X\n")
    records = read_all("conll", path).records
    assert [record.words for record in records] == [["a"], ["b"]]
    assert [record.line for record in records] == [1, 3]


@pytest.mark.parametrize("column", [5, -5])
def test_read_of_a_column_that_does_not_exist_says_so(
    tmp_path: Path, column: int
) -> None:
    path = write_file(tmp_path, "a.txt", "a O\n")
    with pytest.raises(ValueError, match=rf"SP001.*line 1.*no column {column} among 2"):
        read_all("conll", path, tag_columns=(column,))


def test_read_of_the_given_column_ignores_others(tmp_path: Path) -> None:
    path = write_file(tmp_path, "a.txt", "a B-X B-Y\n")
    assert read_all("conll", path, tag_columns=(1,)).mentions == [(0, 1, "X")]


def test_read_tells_how_many_entities_begin_irregularly(tmp_path: Path) -> None:
    path = write_file(tmp_path, "a.txt", "a O\nb I-X\n\nc B-X\nd I-Y\n\ne B-X\n")
    reading = read_all("conll", path)
    assert reading.mentions == [(1, 2, "X"), (0, 1, "X"), (1, 2, "Y"), (0, 1, "X")]
    assert "2 of 4 entities begin with a tag that continues one" in reading.notes[-1]


# --------------------------------------------------------- segmentation digits


@pytest.mark.parametrize(
    "word, expected, found",
    [
        ("科0", 0, ("科", 0)),
        ("技1", 1, ("技", 1)),
        ("全0", 2, ("全", 0)),
        ("网10", 10, ("网", 10)),
        ("10", 3, ("1", 0)),
        ("110", 10, ("1", 10)),
        ("\ufffd\ufffd0", 1, ("\ufffd\ufffd", 0)),
        ("科", 0, ("科", -1)),
        ("0", 0, ("0", -1)),
    ],
)
def test_split_position(word: str, expected: int, found: Tuple[str, int]) -> None:
    assert split_position(word, expected) == found


@pytest.mark.parametrize(
    "words, segmented",
    [
        (["科0", "技1", "全0"], True),
        (["科0", "全0"], False),  # no word has two characters: nothing tells
        (["B2", "C64", "A1"], False),
        (["科0", "技1", "全"], False),
        ([], False),
    ],
)
def test_are_segmented(words: List[str], segmented: bool) -> None:
    assert are_segmented(words) is segmented


def test_read_of_weibo_takes_digits_off(tmp_path: Path) -> None:
    text = "科0\tB-ORG.NAM\n技1\tI-ORG.NAM\n10\tO\n\n我0\tB-PER.NOM\n们1\tI-PER.NOM\n"
    path = write_file(tmp_path, "weibo", text)
    docs, lost = docs_and_lost("conll", path, lang="zh")
    assert [doc.text for doc in docs] == ["科技1", "我们"]
    assert spans_of(docs[0]) == [(0, 2, "ORG.NAM")]
    assert not lost.reasons


def test_read_of_a_token_without_digit_among_others_fails(tmp_path: Path) -> None:
    lines = ["科0\tO\n", "技1\tO\n"] * 1500 + ["全\tO\n"]
    path = write_file(tmp_path, "weibo", "".join(lines))
    message = r"SP001.*line 3001.*'全' is not a character with a segmentation digit"
    with pytest.raises(ValueError, match=message):
        read_all("conll", path)


# ----------------------------------------------------------------- properties


@given(
    st.lists(
        st.text(st.sampled_from("aO \t-"), max_size=8).map("{}\n".format),
        max_size=8,
    )
)
@example(lines=["O O\tO\n"])
def test_read_sentences_of_any_lines_reads_all_words_or_says_why(
    lines: List[str],
) -> None:
    try:
        found = sentences_of(lines)
    except ValueError as error:
        assert str(error).startswith("[SP001]")
    else:
        words = [word for sentence in found for word in sentence.words]
        # Where there are tabs, a word may hold spaces.
        columns = [line.split("\t" if "\t" in line else None) for line in lines]
        firsts = [next((one for one in row if one.strip()), "") for row in columns]
        assert words == [first.strip() for first in firsts if first]
        assert all(
            len(layer) == len(sentence.words)
            for sentence in found
            for layer in sentence.layers
        )


def test_read_of_several_tags_in_one_column_says_what_to_do(tmp_path: Path) -> None:
    text = "The B-ORG\nUS I-ORG|U-GPE\nCourt L-ORG\n"
    path = write_file(tmp_path, "a.conll", text)
    with pytest.raises(
        ValueError, match=r"SP001.*a\.conll, line 2,.*several tags: .*col"
    ):
        read_all("conll", path)

"""OntoNotes as in CoNLL 2012, and its .name files."""

from pathlib import Path
from typing import List

import pytest

from .util import docs_and_lost, read_all, spans_of, write_file


def rows(*pairs: str) -> str:
    lines = []
    for index, pair in enumerate(pairs):
        word, name = pair.split()
        lines.append(f"bn/a 0 {index} {word} NN (S* - - - - {name} * -\n")
    return "".join(lines) + "\n"


CONLL = (
    "#begin document (bn/a); part 000\n"
    + rows("The (ORG*", "US (GPE)", "Court *)", "/. *")
    + rows("-LRB- *", "Ann (PERSON)")
    + "#end document\n#begin document (bn/a); part 001\n"
    + rows("Ten (CARDINAL)")
    + "#end document\n"
)
NAME = """\
<DOC DOCNO="bn/a@all@a@bn@en@on">
The <ENAMEX TYPE="ORG"><ENAMEX TYPE="GPE">US</ENAMEX> Court</ENAMEX> left /.
-LRB- AT&amp;T
</DOC>
<DOC DOCNO="b">
<ENAMEX TYPE="GPE">北京 市</ENAMEX> 很 大
</DOC>
"""


def test_read_conll_of_documents(tmp_path: Path) -> None:
    path = write_file(tmp_path, "a.v4_gold_conll", CONLL)
    reading = read_all("ontonotes", path)
    first, second = reading.records
    assert first.words == ["The", "US", "Court", ".", "(", "Ann"]
    assert first.sentence_starts == [0, 4]
    mentions = [(*m[:3], m.line) for m in first.mentions or ()]
    assert sorted(mentions) == [
        (0, 3, "ORG", 2),
        (1, 2, "GPE", 2),
        (5, 6, "PERSON", 7),
    ]
    assert second.words == ["Ten"]


def test_read_conll_of_a_folder_takes_its_files(tmp_path: Path) -> None:
    write_file(tmp_path, "b/x.v4_gold_conll", CONLL)
    write_file(tmp_path, "b/x.name", NAME)
    write_file(tmp_path, "a/y.gold_conll", CONLL)
    assert len(read_all("ontonotes", tmp_path).records) == 4


@pytest.mark.parametrize(
    "text, line",
    [
        pytest.param("#begin\n" + rows("a *", "b *)"), 3, id="never opened"),
        pytest.param("#begin\n" + rows("a *", "b (X*"), 3, id="never closed"),
        pytest.param(rows("a *") + "b c d\n", 3, id="columns"),
        pytest.param(rows("a X"), 1, id="no bracket"),
        pytest.param(rows("a *") + rows("b (*"), 3, id="no label"),
    ],
)
def test_read_conll_of_a_broken_line_finds_it(
    tmp_path: Path, text: str, line: int
) -> None:
    path = write_file(tmp_path, "a_gold_conll", text)
    with pytest.raises(ValueError, match=rf"SP001.*a_gold_conll, line {line},"):
        read_all("ontonotes", path)


def test_read_name_of_documents(tmp_path: Path) -> None:
    path = write_file(tmp_path, "a.name", NAME)
    first, second = read_all("ontonotes-name", path).records
    assert first.words == ["The", "US", "Court", "left", ".", "(", "AT&T"]
    assert first.sentence_starts == [0, 5]
    assert sorted(m[:3] for m in first.mentions or ()) == [(1, 2, "GPE"), (1, 3, "ORG")]
    assert second.words == ["北京", "市", "很", "大"]


def test_read_name_of_chinese_characters(tmp_path: Path) -> None:
    path = write_file(tmp_path, "a.name", NAME)
    docs, _ = docs_and_lost("ontonotes-name", path, lang="zh", characters=True)
    assert [token.text for token in docs[1]] == list("北京市很大")
    assert spans_of(docs[1]) == [(0, 3, "GPE")]


@pytest.mark.parametrize(
    "text, words, lost",
    [
        pytest.param(
            'a <ENAMEX TYPE="X" S_OFF="4">non-US</ENAMEX> b',
            ["a", "non-US", "b"],
            [("non-US", "X")],
            id="offset",
        ),
        pytest.param(
            'non-<ENAMEX TYPE="X">US</ENAMEX> b',
            ["non-US", "b"],
            [("non-US", "X")],
            id="start",
        ),
        pytest.param(
            '<ENAMEX TYPE="X">US</ENAMEX>-led b',
            ["US-led", "b"],
            [("US", "X")],
            id="end",
        ),
    ],
)
def test_read_name_of_names_inside_words_loses_them(
    tmp_path: Path, text: str, words: List[str], lost: List[tuple]
) -> None:
    reading = read_all("ontonotes-name", write_file(tmp_path, "a.name", text))
    (record,) = reading.records
    assert record.words == words
    assert not record.mentions
    assert [(row.text, row.label) for row in reading.lost] == lost
    assert reading.lost[0].reason == "boundaries inside tokens"


@pytest.mark.parametrize(
    "line", ["a</ENAMEX>", '<ENAMEX TYPE="X">a', "<ENAMEX>a</ENAMEX>"]
)
def test_read_name_of_a_broken_line_finds_it(tmp_path: Path, line: str) -> None:
    path = write_file(tmp_path, "a.name", f"<DOC>\nfine\n{line}\n")
    with pytest.raises(ValueError, match=r"SP001.*a\.name, line 3,"):
        read_all("ontonotes-name", path)

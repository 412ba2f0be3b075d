"""KBP 2017: source files and gold tables."""

from pathlib import Path

import pytest

from .util import docs_and_lost, read_all, spans_of, write_file

SOURCE = """\
<?xml version="1.0" encoding="utf-8"?>
<doc id="D1">
<headline>
Ann left AT&amp;T
</headline>
<post author="bob">
He won.
</post>
</doc>
"""


def row(text: str, label: str = "PER", doc: str = "D1", shown: str = "") -> str:
    start = SOURCE.index(text)
    place = f"{doc}:{start}-{start + len(text) - 1}"
    return f"gold\tm1\t{shown or text}\t{place}\tNIL1\t{label}\tNAM\t1.0\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_file(tmp_path, "source/D1.df.xml", SOURCE)
    table = row("Ann") + row("AT&amp;T", "ORG", shown="AT&T") + row("bob") + row("He")
    write_file(tmp_path, "gold.tab", table)
    return tmp_path


def test_read_of_a_document(folder: Path) -> None:
    reading = read_all("kbp", folder)
    (record,) = reading.records
    assert record.text == "Ann left AT&T He won."
    assert reading.mentions == [(0, 3, "PER"), (9, 13, "ORG"), (14, 16, "PER")]
    assert record.sentence_starts == [0, 14]


def test_authors_inside_of_tags_are_lost(folder: Path) -> None:
    (lost,) = read_all("kbp", folder).lost
    assert (lost.file, lost.line, lost.text) == ("gold.tab", 3, "bob")
    assert "markup" in lost.reason


def test_a_mention_with_another_text_is_lost(folder: Path) -> None:
    write_file(folder, "gold.tab", row("Ann", shown="Bob"))
    (lost,) = read_all("kbp", folder).lost
    assert "different text" in lost.reason


def test_mentions_of_documents_that_are_not_there_are_lost(folder: Path) -> None:
    write_file(folder, "more.tab", row("Ann", doc="D2"))
    docs, lost = docs_and_lost("kbp", folder)
    assert lost.reasons["its document is missing"] == 1
    assert spans_of(docs[0])[0] == (0, 1, "PER")
    chosen = read_all("kbp", folder, documents=("D1",))
    assert len(chosen.records) == 1


@pytest.mark.parametrize("names", [["source/D1.xml"], ["gold.tab"]])
def test_a_folder_without_sources_or_tables_is_told(folder: Path, names: list) -> None:
    for path in folder.rglob("*.tab" if names == ["gold.tab"] else "*.xml"):
        path.unlink()
    with pytest.raises(ValueError, match=r"SP061.*kbp"):
        read_all("kbp", folder)


@pytest.mark.parametrize(
    "line",
    [
        "a\tb\tc",
        "g\tm\tAnn\tD1:3\tN\tPER\tNAM\t1",
        "g\tm\tAnn\t3-5\tN\tPER\tNAM\t1",
        "g\tm\tAnn\tD1:x-5\tN\tPER\tNAM\t1",
        "g\tm\tAnn\tD1:3-5\tN\t \tNAM\t1",
    ],
)
def test_a_broken_line_is_found(folder: Path, line: str) -> None:
    write_file(folder, "gold.tab", f"{row('Ann')}\n{line}\n")
    with pytest.raises(ValueError, match=r"SP001.*gold\.tab, line 3,"):
        read_all("kbp", folder)

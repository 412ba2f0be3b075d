"""ACE: SGML with APF beside it, and lists of documents."""

from pathlib import Path

import pytest

from .util import docs_and_lost, read_all, spans_of, write_file

SGM = """\
<DOC>
<DOCID> a </DOCID>
<BODY>
<TEXT>
The head of
AT&amp;T left.

He won.
</TEXT>
</BODY>
</DOC>
"""
PLAIN = "\n a \n\n\nThe head of\nAT&amp;T left.\n\nHe won.\n\n\n\n"


def charseq(tag: str, text: str, at: int) -> str:
    shown = text.replace("&", "&amp;")
    end = at + len(text) - 1
    return f'<{tag}><charseq START="{at}" END="{end}">{shown}</charseq></{tag}>\n'


def mention(text: str, head: str, at: int = -1) -> str:
    at = PLAIN.index(text) if at < 0 else at
    place = at + text.index(head)
    inside = charseq("extent", text, at) + charseq("head", head, place)
    return f'<entity_mention ID="m">\n{inside}</entity_mention>\n'


def apf(*entities: str) -> str:
    head = '<?xml version="1.0"?>\n<!DOCTYPE source_file SYSTEM "apf.dtd">\n'
    inside = "".join(entities)
    return f"{head}<source_file><document>\n{inside}</document></source_file>\n"


WHO = mention("The head of\nAT&amp;T", "head") + mention("He", "He")
PER = f'<entity TYPE="PER">\n{WHO}</entity>\n'
ORG = f'<entity TYPE="ORG">\n{mention("AT&amp;T", "AT&amp;T")}</entity>\n'


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in ("a", "b"):
        write_file(tmp_path, f"bn/{name}.sgm", SGM)
        write_file(tmp_path, f"bn/{name}.apf.xml", apf(PER, ORG))
    return tmp_path


def test_read_of_a_document(folder: Path) -> None:
    reading = read_all("ace", folder, documents=("a",))
    (record,) = reading.records
    assert record.text == "The head of AT&T left. He won."
    assert reading.mentions == [(0, 16, "PER"), (23, 25, "PER"), (12, 16, "ORG")]
    assert record.sentence_starts == [0, 23]
    assert reading.lost == []


def test_read_of_heads(folder: Path) -> None:
    reading = read_all("ace", folder, documents=("a",), mention="head")
    assert reading.mentions[0] == (4, 8, "PER")


def test_documents_have_nested_entities(folder: Path) -> None:
    docs, lost = docs_and_lost("ace", folder, sentences="rules")
    assert len(docs) == 2
    assert spans_of(docs[0]) == [(0, 4, "PER"), (3, 4, "ORG"), (6, 7, "PER")]
    assert not lost.reasons


@pytest.mark.parametrize("name", ["b", "b.apf.xml", "bn/fp1/b.sgm", "x\\b", " b "])
def test_lists_may_name_folders_and_endings(folder: Path, name: str) -> None:
    (record,) = read_all("ace", folder, documents=(name,)).records
    assert record.source == "b.apf.xml"


def test_a_document_of_the_list_that_is_missing_is_named(folder: Path) -> None:
    with pytest.raises(ValueError, match=r"SP055.*zzz"):
        read_all("ace", folder, documents=("a", "zzz"))


def test_of_several_versions_the_last_folder_counts(folder: Path) -> None:
    write_file(folder, "timex2norm/a.sgm", SGM)
    write_file(folder, "timex2norm/a.apf.xml", apf(ORG))
    reading = read_all("ace", folder, documents=("a",))
    assert reading.mentions == [(12, 16, "ORG")]
    assert "1 document exists in several versions" in reading.notes[0]


def test_mentions_without_a_place_are_lost(folder: Path) -> None:
    wrong = mention("AT&amp;T", "AT&amp;T", at=PLAIN.index("left"))
    outside = mention(" a ", "a")
    entity = f'<entity TYPE="X">\n{wrong}{outside}</entity>\n'
    write_file(folder, "bn/a.apf.xml", apf(entity))
    reading = read_all("ace", folder, documents=("a",))
    reasons = [row.reason for row in reading.lost]
    assert len(reasons) == 2
    assert "outside of the text" in reasons[1]


def test_an_annotation_without_text_is_told(folder: Path) -> None:
    (folder / "bn" / "a.sgm").unlink()
    with pytest.raises(ValueError, match=r"SP057.*a\.apf\.xml.*a\.sgm"):
        read_all("ace", folder)


@pytest.mark.parametrize(
    "entity, line",
    [
        pytest.param("<entity>\n</entity>", 4, id="no type"),
        pytest.param(
            '<entity TYPE="X">\n<entity_mention>\n</entity_mention></entity>',
            5,
            id="no extent",
        ),
        pytest.param(
            '<entity TYPE="X"><entity_mention>\n<extent>\n<charseq START="x" END="2"/>'
            "</extent></entity_mention></entity>",
            6,
            id="no number",
        ),
        pytest.param("<entity>", 4, id="not closed"),
    ],
)
def test_a_broken_annotation_is_found(folder: Path, entity: str, line: int) -> None:
    write_file(folder, "bn/a.apf.xml", apf(entity))
    with pytest.raises(ValueError, match=rf"SP001.*a\.apf\.xml, line {line},"):
        read_all("ace", folder)

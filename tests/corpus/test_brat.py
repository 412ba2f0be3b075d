"""brat standoff, with entities in several parts."""

from pathlib import Path

import pytest

from .util import docs_and_lost, read_all, spans_of, write_file

TEXT = "left and right lungs\nof Ann\n"
ANN = """\
T1\tORGAN 0 4;15 20\tleft lungs
T2\tORGAN 9 20\tright lungs
R1\tPart Arg1:T1 Arg2:T2
T3\tPER 24 27\tAnn
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_file(tmp_path, "sub/a.txt", TEXT)
    write_file(tmp_path, "sub/a.ann", ANN)
    return tmp_path


@pytest.mark.parametrize("name", ["", "sub/a.ann", "sub/a.txt"])
def test_read_of_a_folder_or_a_pair(folder: Path, name: str) -> None:
    reading = read_all("brat", folder / name)
    assert reading.mentions == [(9, 20, "ORGAN"), (24, 27, "PER")]
    assert "1 annotations are not entities" in reading.notes[0]


def test_discontinuous_entities_are_skipped_and_listed(folder: Path) -> None:
    row = ("a.ann", 1, "left lungs", "ORGAN", "discontinuous")
    assert read_all("brat", folder).lost == [row]


def test_discontinuous_entities_are_split(folder: Path) -> None:
    reading = read_all("brat", folder, discontinuous="split")
    assert reading.mentions[:2] == [(0, 4, "ORGAN"), (15, 20, "ORGAN")]
    assert reading.lost == []


def test_discontinuous_entities_are_flagged_in_a_group_of_their_own(
    folder: Path,
) -> None:
    (record,) = read_all("brat", folder, discontinuous="flag").records
    parts = [(m.start, m.end, m.label, m.id) for m in record.fragments]
    assert parts == [(0, 4, "ORGAN", "T1"), (15, 20, "ORGAN", "T1")]
    assert len(record.mentions or ()) == 2


def test_parts_at_the_end_of_a_line_are_one_entity(tmp_path: Path) -> None:
    path = write_file(tmp_path, "a.txt", "New\nYork")
    write_file(tmp_path, "a.ann", "T1\tGPE 0 3;4 8\tNew York\n")
    assert read_all("brat", path).mentions == [(0, 8, "GPE")]


def test_ends_of_lines_count_as_they_are(tmp_path: Path) -> None:
    path = write_file(tmp_path, "a.txt", "a\r\nAnn")
    write_file(tmp_path, "a.ann", "T1\tPER 3 6\tAnn\n")
    (doc,), lost = docs_and_lost("brat", path)
    assert [span.text for span in doc.spans["ents"]] == ["Ann"]
    assert not lost.reasons


def test_an_entity_whose_text_is_another_is_lost(tmp_path: Path) -> None:
    path = write_file(tmp_path, "a.txt", "Ann left")
    write_file(tmp_path, "a.ann", "T1\tPER 0 3\tBob\nT2\tPER 0 3\n")
    reading = read_all("brat", path)
    assert [row[2:] for row in reading.lost] == [
        ("Bob", "PER", "different text at this position")
    ]
    assert reading.mentions == [(0, 3, "PER")]


def test_entities_across_lines_are_lost_where_lines_are_sentences(
    folder: Path,
) -> None:
    write_file(folder, "sub/a.ann", "T1\tX 15 27\tlungs of Ann\n")
    (doc,), lost = docs_and_lost("brat", folder, sentences="lines")
    assert [sent.text.strip() for sent in doc.sents] == [
        "left and right lungs",
        "of Ann",
    ]
    assert lost.reasons == {"crosses a sentence boundary": 1}
    (doc,), lost = docs_and_lost("brat", folder, sentences="lines", window="doc")
    assert len(spans_of(doc)) == 1
    assert not lost.reasons


@pytest.mark.parametrize("name, missing", [("a.txt", "a.ann"), ("a.ann", "a.txt")])
def test_a_missing_half_of_a_pair_is_told(
    tmp_path: Path, name: str, missing: str
) -> None:
    write_file(tmp_path, name, "")
    with pytest.raises(ValueError, match=rf"SP057.*{name} needs the file {missing}"):
        read_all("brat", tmp_path)


@pytest.mark.parametrize(
    "line",
    [
        "T1 PER 0 1 a",
        "T1\tPER 0\ta",
        "T1\tPER x 1\ta",
        "T1\tPER 0 1;2\ta",
        "?",
        "T1\tPER",
    ],
)
def test_a_broken_line_is_found(tmp_path: Path, line: str) -> None:
    path = write_file(tmp_path, "a.txt", "abc")
    write_file(tmp_path, "a.ann", f"#1\tnote\n{line}\n")
    with pytest.raises(ValueError, match=r"SP001.*a\.ann, line 2,"):
        read_all("brat", path)

"""A document that kills its process is found and left out."""

from pathlib import Path
from typing import List

from spacy_spanner.jobs.annotate.messages import Document
from spacy_spanner.jobs.annotate.worker import Journal

DOCUMENTS = [Document(name, name) for name in "abcd"]


def attempt(path: Path, *, dies_at: str = "") -> List[Document]:
    """Follow the documents until one of them kills the process."""
    journal = Journal(path)
    journal.begin()
    followed = []
    for document in journal.follow(DOCUMENTS):
        followed.append(document)
        if document.id == dies_at and not document.problem:
            return followed
    return followed


def test_first_attempt_knows_of_no_others(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "journal")
    assert (journal.n_attempts, journal.deadly) == (0, set())


def test_document_that_kills_twice_is_left_out(tmp_path: Path) -> None:
    path = tmp_path / "journal"
    assert len(attempt(path, dies_at="c")) == 3
    assert Journal(path).deadly == set()
    assert len(attempt(path, dies_at="c")) == 3
    assert Journal(path).deadly == {2}
    followed = attempt(path, dies_at="c")
    assert [one.id for one in followed] == ["a", "b", "c", "d"]
    assert [one.problem[:7] for one in followed] == ["", "", "[SW120]", ""]


def test_two_deadly_documents_are_both_found(tmp_path: Path) -> None:
    path = tmp_path / "journal"
    for _ in range(2):
        attempt(path, dies_at="b")
    for _ in range(2):
        attempt(path, dies_at="d")
    assert Journal(path).deadly == {1, 3}


def test_death_after_the_last_document_accuses_none(tmp_path: Path) -> None:
    path = tmp_path / "journal"
    for _ in range(3):
        attempt(path)  # and the process dies while the file is closed
    assert Journal(path).n_attempts == 3
    assert Journal(path).deadly == set()


def test_attempts_without_numbers_accuse_none(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "journal")
    for _ in range(3):
        journal.begin()
    assert Journal(tmp_path / "journal").deadly == set()

"""Files are cut between lines, without gaps, and lines keep their numbers."""

import io
from typing import List

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spacy_spanner.jobs.annotate import readers
from spacy_spanner.jobs.annotate.readers import LineRange, cut_lines


def cut(content: bytes, limit: int) -> List[LineRange]:
    return list(cut_lines(io.BytesIO(content), limit))


def test_cut_follows_the_first_line_end_after_the_limit() -> None:
    #         0123 456 7890
    content = b"abc\nde\nfgh\n"
    assert cut(content, 1) == [(0, 4, 1), (4, 7, 2), (7, 11, 3)]
    assert cut(content, 4) == [(0, 4, 1), (4, 11, 2)]
    assert cut(content, 5) == [(0, 7, 1), (7, 11, 3)]
    assert cut(content, 100) == [(0, 11, 1)]


def test_last_line_without_an_end_is_not_lost() -> None:
    assert cut(b"a\nb", 1) == [(0, 2, 1), (2, 3, 2)]


def test_empty_file_has_no_ranges() -> None:
    assert cut(b"", 10) == []


@given(
    st.lists(st.binary(max_size=12), max_size=30).map(b"\n".join),
    st.integers(1, 40),
    st.integers(1, 20),
)
def test_ranges_hold_every_line_once(content: bytes, limit: int, block: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(readers, "BLOCK", block)
        ranges = cut(content, limit)
    assert b"".join(content[r.start : r.stop] for r in ranges) == content
    assert all(content[r.stop - 1 : r.stop] == b"\n" for r in ranges[:-1])
    assert all(r.stop - r.start >= limit for r in ranges[:-1])
    for r in ranges:
        assert r.first == 1 + content[: r.start].count(b"\n")

"""Text out of SGML, with offsets counted with and without tags."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spacy_spanner.corpus.markup import find_region, same_text, strip_markup


def whole(raw: str, *, count_tags: bool) -> tuple:
    return strip_markup(raw, count_tags=count_tags, region=(0, len(raw)))[:3]


def test_strip_markup_counting_tags() -> None:
    text, places, breaks = whole("<P>a &amp; b</P>\nc", count_tags=True)
    assert text == "a & b c"
    assert [places[i] for i in (0, 2, 4, 6)] == [3, 5, 11, 17]
    assert breaks == [0, 6]


def test_strip_markup_not_counting_tags() -> None:
    text, places, _ = whole("<P>a &amp; b</P>\nc", count_tags=False)
    assert text == "a & b c"
    assert [places[i] for i in (0, 2, 4, 6)] == [0, 2, 8, 10]


def test_strip_markup_makes_one_space_of_white_space() -> None:
    text, _, breaks = whole("  a \n b\n\n c<BR>d ", count_tags=True)
    assert text == "a b c d"
    assert breaks == [0, 4, 6]


def test_strip_markup_leaves_what_is_no_tag() -> None:
    assert whole("1 < 2 & 3 &x; a<b", count_tags=True)[0] == "1 < 2 & 3 &x; a<b"


def test_find_gives_characters_of_the_text() -> None:
    raw = "<P>AT&amp;T  Inc</P>"
    plain = strip_markup(raw, count_tags=True, region=(0, len(raw)))
    place = plain.find(3, 11)
    assert place and plain.text[slice(*place)] == "AT&T"
    place = plain.find(3, 16)
    assert place and plain.text[slice(*place)] == "AT&T Inc"


@pytest.mark.parametrize("start, end", [(0, 2), (11, 13), (15, 99), (40, 41), (5, 5)])
def test_find_of_what_is_not_in_the_text_is_none(start: int, end: int) -> None:
    raw = "<P>AT&amp;T  Inc</P>"
    plain = strip_markup(raw, count_tags=True, region=(0, len(raw)))
    assert plain.find(start, end) is None


def test_region_outside_is_not_text_but_counts() -> None:
    raw = "<DOCID>x</DOCID><TEXT>ab</TEXT>"
    plain = strip_markup(raw, count_tags=False, region=find_region(raw, "BODY", "TEXT"))
    assert plain.text == "ab"
    assert plain.places == [1, 2]


def test_find_region_prefers_the_first_name() -> None:
    assert find_region("<BODY>a<TEXT>b</TEXT></BODY>", "BODY", "TEXT") == (6, 21)
    assert find_region("abc", "BODY") == (0, 3)


def test_same_text_ignores_space_and_escapes() -> None:
    assert same_text("AT&T\n Inc", "AT&amp;T Inc")
    assert not same_text("AT&T", "AT")


@given(st.text(st.sampled_from("ab<>/&amp; \n;P"), max_size=40), st.booleans())
def test_strip_markup_has_a_place_for_each_character(raw: str, tags: bool) -> None:
    text, places, breaks = whole(raw, count_tags=tags)
    assert len(text) == len(places)
    assert places == sorted(places)
    assert all(0 <= index < len(text) for index in breaks)
    if tags:
        plain = [raw[p] for p, char in zip(places, text) if char not in " &"]
        assert plain == [char for char in text if char not in " &"]

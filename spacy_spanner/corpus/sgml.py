"""Extract the text of SGML files, and map offsets of the annotation to it."""

import re
from bisect import bisect_left, bisect_right
from html import unescape
from typing import List, NamedTuple, Optional, Tuple

_PIECE = re.compile(
    r"(?P<tag></?[A-Za-z][^<>]*>|<[!?][^<>]*>)"
    r"|(?P<space>\s+)"
    r"|(?P<escape>&(?:amp|lt|gt|quot|apos|nbsp|#\d{1,6}|#x[0-9a-fA-F]{1,5});)"
    r"|(?P<word>[^<&\s]+|.)"
)


class PlainText(NamedTuple):
    """The text of a file without markup.

    text (str): the text; white space and markup are reduced to single spaces, escapes
        are resolved.
    places (List[int]): offset of each character, as counted by the annotation.
    breaks (List[int]): characters that follow a tag or a blank line.
    stop (int): end offset of the last character.
    """

    text: str
    places: List[int]
    breaks: List[int]
    stop: int

    def find(self, start: int, end: int) -> Optional[Tuple[int, int]]:
        """Find the characters of an annotation.

        start, end (int): offsets as counted by the annotation; `end` is exclusive.
        RETURNS (Optional[Tuple[int, int]]): None if they are not in the text.
        """
        first, last = (
            bisect_left(self.places, start),
            bisect_right(self.places, end - 1),
        )
        inside = start in self.places[first : first + 1] and start < end <= self.stop
        return (first, last) if inside and first < last else None


def strip_markup(raw: str, *, count_tags: bool, region: Tuple[int, int]) -> PlainText:
    """Extract the text of a region.

    raw (str): content of the file.
    count_tags (bool): whether offsets of the annotation count the characters of tags;
        they always count the unresolved escapes, such as `&amp;`.
    region (Tuple[int, int]): start and end of the region in the file.
    RETURNS (PlainText): the text.
    """
    text: List[str] = []
    places: List[int] = []
    breaks: List[int] = []
    tags = 0  # number of uncounted characters in tags so far
    pending, broken, stop = False, True, 0
    for piece in _PIECE.finditer(raw):
        start, end = piece.span()
        place = start - tags
        if piece["tag"]:
            tags += 0 if count_tags else end - start
            pending = broken = True
        elif not region[0] <= start < region[1]:
            continue
        elif piece["space"]:
            pending = True
            broken = broken or piece["space"].count("\n") > 1
        else:
            if pending and text:
                text.append(" ")
                places.append(place - 1)
            if broken:
                breaks.append(len(places))
            pending = broken = False
            stop = end - tags
            shown = unescape(piece.group())
            text.append(shown)
            # An escape is one character, with the offset of its beginning.
            places += range(place, place + len(shown))
    return PlainText("".join(text), places, breaks, stop)


def find_region(raw: str, *tags: str) -> Tuple[int, int]:
    """RETURNS (Tuple[int, int]): start and end of the content of the first of these
    elements that exists, else of the whole file.
    """
    for tag in tags:
        opening = re.search(rf"<{tag}\b[^<>]*>", raw)
        closing = raw.rfind(f"</{tag}>")
        if opening and closing >= opening.end():
            return opening.end(), closing
    return 0, len(raw)


def same_text(one: str, two: str) -> bool:
    """RETURNS (bool): whether texts are equal apart from white space and escapes."""
    return _without_space(one) == _without_space(two)


def _without_space(text: str) -> str:
    return "".join(unescape(unescape(text)).split())

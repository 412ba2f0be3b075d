"""Text out of SGML, with the way from offsets of the annotation to its characters."""

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
    """What can be read of a marked-up text.

    text (str): one space for all white space and all markup; escapes are resolved.
    places (List[int]): offset of each character, as the annotation counts.
    breaks (List[int]): characters in front of which a tag or a blank line stands.
    stop (int): the offset behind the last character.
    """

    text: str
    places: List[int]
    breaks: List[int]
    stop: int

    def find(self, start: int, end: int) -> Optional[Tuple[int, int]]:
        """Find the characters of an annotation.

        start, end (int): offsets as the annotation counts; `end` is exclusive.
        RETURNS (Optional[Tuple[int, int]]): None where they are not in the text.
        """
        first, last = (
            bisect_left(self.places, start),
            bisect_right(self.places, end - 1),
        )
        inside = start in self.places[first : first + 1] and start < end <= self.stop
        return (first, last) if inside and first < last else None


def strip_markup(raw: str, *, count_tags: bool, region: Tuple[int, int]) -> PlainText:
    """Take the text out of a region.

    raw (str): the file.
    count_tags (bool): whether offsets of the annotation count the characters of tags;
        they always count escapes such as `&amp;` as they stand in the file.
    region (Tuple[int, int]): offsets into the file; what is outside is not text.
    RETURNS (PlainText): the text.
    """
    text: List[str] = []
    places: List[int] = []
    breaks: List[int] = []
    tags = 0  # characters of tags so far that are not counted
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
            # An escape is one character, at the place where it begins.
            places += range(place, place + len(shown))
    return PlainText("".join(text), places, breaks, stop)


def find_region(raw: str, *tags: str) -> Tuple[int, int]:
    """RETURNS (Tuple[int, int]): the content of the first of the elements that exists;
    the whole file where none does.
    """
    for tag in tags:
        opening = re.search(rf"<{tag}\b[^<>]*>", raw)
        closing = raw.rfind(f"</{tag}>")
        if opening and closing >= opening.end():
            return opening.end(), closing
    return 0, len(raw)


def same_text(one: str, two: str) -> bool:
    """RETURNS (bool): whether texts are equal but for white space and escapes."""
    return _squeezed(one) == _squeezed(two)


def _squeezed(text: str) -> str:
    return "".join(unescape(unescape(text)).split())

"""Texts that terminals show as they are."""

import re

# Control characters but line ends and tabs, and those that change the direction of
# writing. Terminals obey them: they clear the screen, or rewrite what was printed.
_OBEYED = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


def plain(text: str) -> str:
    r"""Replace characters that terminals obey by their escapes.

    RETURNS (str): the text.

    >>> plain("\x1b[2J clears the screen")
    '\\x1b[2J clears the screen'
    """
    return _OBEYED.sub(lambda match: ascii(match.group())[1:-1], text)

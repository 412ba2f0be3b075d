"""Discontinuous entities: skip, split or flag them, but never fill their gaps."""

from typing import Iterable, List, NamedTuple, Sequence, Tuple

from .records import Lost, Mention

REASON = "discontinuous"


class EntityParts(NamedTuple):
    """An entity of one or more parts, which are starts and exclusive ends."""

    parts: Sequence[Tuple[int, int]]
    label: str
    line: int
    id: str
    text: str


class ResolvedParts(NamedTuple):
    """The entities of a document: kept ones, flagged parts, and skipped ones."""

    mentions: List[Mention]
    fragments: List[Mention]
    lost: List[Lost]


def join_parts(parts: Sequence[Tuple[int, int]], text: str) -> List[Tuple[int, int]]:
    """Join parts that are separated only by white space, for example a line break.

    parts (Sequence[Tuple[int, int]]): starts and exclusive ends in the text.
    RETURNS (List[Tuple[int, int]]): the joined parts.
    """
    joined: List[Tuple[int, int]] = []
    for start, end in sorted(parts):
        if joined and not text[joined[-1][1] : start].strip():
            joined[-1] = (joined[-1][0], max(end, joined[-1][1]))
        else:
            joined.append((start, end))
    return joined


def resolve_parts(
    entities: Iterable[EntityParts], choice: str, source: str
) -> ResolvedParts:
    """Skip, split or flag the discontinuous entities of a document.

    entities (Iterable[EntityParts]): entities; those of one part are always kept.
    choice (str): "skip", "split" or "flag".
    source (str): name of the file, for the list of lost entities.
    RETURNS (ResolvedParts): the entities by outcome.
    """
    resolved = ResolvedParts([], [], [])
    for parts, label, line, name, text in entities:
        mentions = [Mention(start, end, label, line, name) for start, end in parts]
        if len(mentions) == 1 or choice == "split":
            resolved.mentions.extend(mentions)
        elif choice == "flag":
            resolved.fragments.extend(mentions)
        else:
            resolved.lost.append(Lost(source, line, text, label, REASON))
    return resolved

"""Entities in several parts: left out, split or flagged, never fused into one."""

from typing import Iterable, List, NamedTuple, Sequence, Tuple

from .records import Lost, Mention

REASON = "discontinuous"


class EntityParts(NamedTuple):
    """An entity with the starts and exclusive ends of its parts, and its text."""

    parts: Sequence[Tuple[int, int]]
    label: str
    line: int
    id: str
    text: str


class ResolvedParts(NamedTuple):
    """Where entities go: to the entities, to the flagged parts, or nowhere."""

    mentions: List[Mention]
    fragments: List[Mention]
    lost: List[Lost]


def join_parts(parts: Sequence[Tuple[int, int]], text: str) -> List[Tuple[int, int]]:
    """Join parts that only white space separates, as at the end of a line.

    parts (Sequence[Tuple[int, int]]): starts and exclusive ends, by characters.
    text (str): what they are parts of.
    RETURNS (List[Tuple[int, int]]): fewer parts, or the same.
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
    """Decide about the entities of a document.

    entities (Iterable[EntityParts]): those of one part are kept, whatever the choice.
    choice (str): "skip", "split" or "flag".
    source (str): name of the file, for the account of what is lost.
    RETURNS (ResolvedParts): where they go.
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

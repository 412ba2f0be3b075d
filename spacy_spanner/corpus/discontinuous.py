"""Entities in several parts: left out, split or flagged, never fused into one."""

from typing import List, NamedTuple, Sequence, Tuple

from .records import Lost, Mention

REASON = "discontinuous"


class Parts(NamedTuple):
    """An entity with the starts and exclusive ends of its parts."""

    parts: Sequence[Tuple[int, int]]
    label: str
    line: int
    id: str


class Settled(NamedTuple):
    """Where an entity goes: to the entities, to the flagged parts, or nowhere."""

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


def settle_parts(entity: Parts, choice: str, source: str, text: str) -> Settled:
    """Decide about one entity.

    entity (Parts): an entity of one part is kept, whatever the choice.
    choice (str): "skip", "split" or "flag".
    source (str): name of the file, for the account of what is lost.
    text (str): text of the entity, for the same.
    RETURNS (Settled): where it goes.
    """
    mentions = [
        Mention(start, end, entity.label, entity.line, entity.id)
        for start, end in entity.parts
    ]
    if len(mentions) == 1 or choice == "split":
        return Settled(mentions, [], [])
    if choice == "flag":
        return Settled([], mentions, [])
    return Settled([], [], [Lost(source, entity.line, text, entity.label, REASON)])

"""Whether the end of an entity is its last token or the one behind it.

An entity that ends where it starts, or at the length of its text, tells. Where nothing
tells, or the file contradicts itself, the user is asked.
"""

from typing import Iterable, NamedTuple, Optional

from ..errors import Errors
from .records import Note


class Extent(NamedTuple):
    """Start and end as a file has them, with the length of the text around them."""

    start: int
    end: int
    length: int
    line: int


def settle_ends(extents: Iterable[Extent], ends: str, source: str, note: Note) -> int:
    """Find what has to be added to an end to make it exclusive.

    extents (Iterable[Extent]): all entities of the file.
    ends (str): "inclusive" or "exclusive" where the user has said it, or "auto".
    source (str): name of the file.
    note (Note): is told what was detected, and where.
    RETURNS (int): 1 for inclusive ends, 0 for exclusive ones.
    RAISES (ValueError): SP051 where nothing tells, SP052 where lines contradict each
        other.
    """
    if ends != "auto":
        return int(ends == "inclusive")
    first: Optional[Extent] = None
    inclusive: Optional[Extent] = None
    exclusive: Optional[Extent] = None
    for extent in extents:
        first = first or extent
        if extent.end == extent.start and extent.end < extent.length:
            inclusive = inclusive or extent
        if extent.end == extent.length and extent.end > extent.start:
            exclusive = exclusive or extent
    if first is None:
        return 0
    if inclusive and exclusive:
        raise ValueError(
            Errors.SP052.format(
                source=source, line=inclusive.line, other=exclusive.line
            )
        )
    evidence = inclusive or exclusive
    if evidence is None:
        raise ValueError(Errors.SP051.format(source=source, line=first.line))
    found = "inclusive" if inclusive else "exclusive"
    note(f"{source}: ends are {found}, because of line {evidence.line}")
    return int(inclusive is not None)

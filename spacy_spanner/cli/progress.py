"""Progress of long commands: a bar on a terminal, plain lines in a log."""

import sys
import time
from typing import Any, Iterable, Iterator

from tqdm import tqdm
from wasabi import msg

SECONDS_BETWEEN_LINES = 10.0


def track(items: Iterable[Any], *, total: int, what: str) -> Iterator[Any]:
    """Pass items on and show how many of them are done.

    items (Iterable[Any]): what is worked on.
    total (int): how many there are.
    what (str): the work, as a participle: "Predicting".
    YIELDS (Any): the items.
    """
    if sys.stderr.isatty():
        yield from tqdm(items, total=total, desc=what, leave=False, unit="")
        return
    shown = time.monotonic()
    done = 0
    for item in items:
        yield item
        done += 1
        if time.monotonic() - shown >= SECONDS_BETWEEN_LINES and done < total:
            shown = time.monotonic()
            msg.text(f"{what}: {done:,} of {total:,}")
    msg.text(f"{what}: {done:,} done")

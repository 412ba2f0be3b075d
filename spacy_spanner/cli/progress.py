"""Progress of long commands: a bar on a terminal, lines of text in a log."""

import sys
import time
from datetime import timedelta
from typing import Any, Iterable, Iterator, NamedTuple

from tqdm import tqdm
from wasabi import msg

SECONDS_BETWEEN_LINES = 10.0


def track(items: Iterable[Any], *, total: int, what: str) -> Iterator[Any]:
    """Yield items and show how many are done.

    items (Iterable[Any]): the items.
    total (int): number of items.
    what (str): description of the work, for example "Predicting".
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


class Amount(NamedTuple):
    """The work done in one step, in any unit, and its number of words."""

    done: int
    words: int


def track_amounts(
    amounts: Iterable[Amount], *, total: int, before: int = 0, what: str
) -> Iterator[Amount]:
    """Yield amounts and show the share of work done, the speed and the remaining time.

    amounts (Iterable[Amount]): the work done in each step.
    total (int): the total work.
    before (int): work done before the first step.
    what (str): description of the work, for example "Annotating".
    YIELDS (Amount): the amounts.
    """
    start = shown = time.monotonic()
    done, words = before, 0
    hidden = not sys.stderr.isatty()
    form = "{desc}: {percentage:.0f} %|{bar}| {postfix}"
    bar = tqdm(total=total, initial=done, desc=what, bar_format=form, disable=hidden)
    with bar:
        for amount in amounts:
            yield amount
            done, words = done + amount.done, words + amount.words
            now = time.monotonic()
            speed = _speed(now - start, words, done - before, total - done)
            bar.set_postfix_str(speed, refresh=False)
            bar.update(amount.done)
            if hidden and now - shown >= SECONDS_BETWEEN_LINES and done < total:
                shown = now
                msg.text(f"{what}: {100 * done / total:.0f} %, {speed}")


def _speed(seconds: float, words: int, done: int, left: int) -> str:
    """RETURNS (str): words per second, and the remaining time."""
    remaining = timedelta(seconds=round(left * seconds / max(done, 1)))
    return f"{words / max(seconds, 1e-9):,.0f} words/s, {remaining} left"

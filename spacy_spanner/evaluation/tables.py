"""Numbers and tables as text, for pages and terminals."""

import re
import statistics
from typing import Any, Iterable, Optional, Sequence

from ..errors.plain import plain

# Beginnings of cells that spreadsheets take for formulas, also in East Asian width.
FORMULAS = (*"=+-@", *"\uff1d\uff0b\uff0d\uff20", "\t", "\r", "\n")
# What begins something in Markdown or HTML; underscores inside words do not.
_MEANS = re.compile(r"[\\`*\[\]<>&]|(?<![^\W_])_|_(?![^\W_])")
# A bar that no backslash precedes.
_BAR = re.compile(r"(?<!\\)((?:\\\\)*)\|")


def percent(value: Optional[float]) -> str:
    """RETURNS (str): the share in percent; a dash for nothing to score."""
    return "-" if value is None else f"{100 * value:.1f}"


def amount(number: int, one: str, many: str = "") -> str:
    """RETURNS (str): a number with the words for one or for many, by default with an
    added s: "1 document", "2,000 documents".
    """
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def mean_and_spread(mean: Optional[float], sd: Optional[float]) -> str:
    """RETURNS (str): a mean, and the standard deviation if it is known, in percent."""
    return percent(mean) if sd is None else f"{percent(mean)} ± {percent(sd)}"


def mean_of_runs(values: Sequence[float]) -> str:
    """RETURNS (str): the mean, and the standard deviation of several values."""
    sd = statistics.stdev(values) if len(values) > 1 else None
    return mean_and_spread(statistics.mean(values), sd)


def readable(value: Any) -> Any:
    """Round the numbers of a setting, which may be stored with digits that nobody set.

    spaCy reads the 0.3 of a config as 0.30000000000000004.

    value (Any): numbers, or lists and dicts with numbers; the rest is left as it is.
    RETURNS (Any): the same with at most 10 significant digits.
    """
    if isinstance(value, float):
        return float(f"{value:.10g}")
    if isinstance(value, dict):
        return {key: readable(one) for key, one in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(map(readable, value))
    return value


def guarded(cell: Any) -> Any:
    """RETURNS (Any): a cell of a CSV file that no spreadsheet takes for a formula: such
    a text gets an apostrophe in front. `unguarded` removes it.

    >>> guarded("=1+1"), guarded("1+1"), guarded(-1)
    ("'=1+1", '1+1', -1)
    """
    return f"'{cell}" if _like_formula(cell) else cell


def unguarded(cell: str) -> str:
    """RETURNS (str): the text that `guarded` has made a cell of."""
    return cell[1:] if cell.startswith("'") and _like_formula(cell) else cell


def _like_formula(cell: Any) -> bool:
    """RETURNS (bool): whether a text begins as formulas do, or has apostrophes before
    it, as guarded texts do.
    """
    return isinstance(cell, str) and cell.lstrip("'").startswith(FORMULAS)


def code(text: Any) -> str:
    """RETURNS (str): a text as code in Markdown, where nothing in it has a meaning."""
    line = plain(" ".join(str(text).split()))
    runs = re.findall("`+", line)
    fence = "`" * (max(map(len, runs), default=0) + 1)
    space = " " if runs or not line else ""
    return f"{fence}{space}{line}{space}{fence}"


def escaped(text: Any) -> str:
    """RETURNS (str): a text in Markdown that is shown as it is, in one line."""
    line = plain(" ".join(str(text).split()))
    return _MEANS.sub(r"\\\g<0>", line)


def markdown_table(
    header: Sequence[str], rows: Iterable[Sequence[str]], *, numbers: bool = True
) -> str:
    """Lay out a table.

    header (Sequence[str]): names of the columns.
    rows (Iterable[Sequence[str]]): cells.
    numbers (bool): whether all columns but the first are aligned as numbers.
    RETURNS (str): Markdown; bars and line ends in cells are escaped.
    """
    rule = ["---", *(["--:" if numbers else "---"] * (len(header) - 1))]
    cells = [
        [_BAR.sub(r"\1\\|", " ".join(str(cell).splitlines())) for cell in line]
        for line in (header, rule, *rows)
    ]
    return "\n".join(f"| {' | '.join(line)} |" for line in cells)

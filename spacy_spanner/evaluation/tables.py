"""Numbers and tables as text, for pages and terminals."""

from typing import Any, Iterable, Optional, Sequence


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


def markdown_table(
    header: Sequence[str], rows: Iterable[Sequence[str]], *, numbers: bool = True
) -> str:
    """Lay out a table.

    header (Sequence[str]): names of the columns.
    rows (Iterable[Sequence[str]]): cells.
    numbers (bool): whether all columns but the first are aligned as numbers.
    RETURNS (str): Markdown; bars in cells are escaped.
    """
    rule = ["---", *(["--:" if numbers else "---"] * (len(header) - 1))]
    escaped = [
        [str(cell).replace("|", "\\|") for cell in line]
        for line in (header, rule, *rows)
    ]
    return "\n".join(f"| {' | '.join(line)} |" for line in escaped)

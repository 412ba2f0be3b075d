"""The table of a search, and the choice of the best, on development data only."""

from typing import Any, Dict, List, NamedTuple, Optional, Sequence

from ...evaluation.tables import markdown_table, mean_and_spread
from .summaries import SCORES, by_name, summarize
from .variants import SEED

# Smaller is better.
ERRORS = ("ece",)
COLUMNS = {"P": "p", "R": "r", "F1": "f", "F1 nested": "nested_f", "ECE": "ece"}


class Row(NamedTuple):
    """The trials of some settings.

    name (str): the settings in words.
    variant (str): those of them that were trained with.
    overrides (Dict[str, Any]): of the config, without the seed.
    later (Dict[str, Any]): changes of the component's settings after training.
    scores (Dict[str, Dict[str, Optional[float]]]): mean and standard deviation.
    n_seeds, n_wanted (int): trials that are finished, and all.
    seconds (float): of these trainings.
    """

    name: str
    variant: str
    overrides: Dict[str, Any]
    later: Dict[str, Any]
    scores: Dict[str, Dict[str, Optional[float]]]
    n_seeds: int
    n_wanted: int
    seconds: float

    @property
    def is_complete(self) -> bool:
        """Whether all seeds were trained to the end."""
        return self.n_seeds == self.n_wanted


def table_rows(
    results: Sequence[Dict[str, Any]], n_wanted: int, later: Dict[str, Dict[str, Any]]
) -> List[Row]:
    """Average what differs by its seed only.

    results (Sequence[Dict[str, Any]]): accounts of finished trials; those that were
        stopped early do not count.
    n_wanted (int): seeds of each variant.
    later (Dict[str, Dict[str, Any]]): changes after training, by name.
    RETURNS (List[Row]): in the order of the trials.
    """
    rows = []
    whole = [result for result in results if not result.get("stopped")]
    for variant, runs in by_name(whole).items():
        settings = {k: v for k, v in runs[0]["overrides"].items() if k != SEED}
        seconds = sum(run["seconds"] for run in runs)
        changes_of: Dict[str, Dict[str, Any]] = {"": {}, **later}
        for changed, changes in changes_of.items():
            scored = [_scores(run, changed) for run in runs]
            rows.append(
                Row(
                    f"{variant}; {changed}" if changed else variant,
                    variant,
                    settings,
                    changes,
                    summarize(scored),
                    len(runs),
                    n_wanted,
                    seconds,
                )
            )
    return rows


def _scores(run: Dict[str, Any], changed: str) -> Dict[str, Any]:
    """RETURNS (Dict[str, Any]): scores on the development data, and on no other."""
    scores = run["later"][changed] if changed else run["scores"]
    return {"scores": {"dev": scores["dev"]}}


def choose(rows: Sequence[Row], metric: str) -> Optional[Row]:
    """Find the best settings.

    rows (Sequence[Row]): of the table.
    metric (str): one of `summaries.SCORES`; its mean over the seeds counts.
    RETURNS (Optional[Row]): of equals the first; None where no row has all its seeds.
    """
    assert metric in SCORES
    sign = -1 if metric in ERRORS else 1
    known = [row for row in rows if row.is_complete and _mean(row, metric) is not None]
    return max(known, key=lambda row: sign * (_mean(row, metric) or 0.0), default=None)


def _mean(row: Row, metric: str) -> Optional[float]:
    return row.scores[metric]["mean"]


def cells_of(rows: Sequence[Row], best: Optional[Row]) -> List[List[str]]:
    """RETURNS (List[List[str]]): the cells of the table; a star marks the choice."""
    return [
        [
            f"{row.name} *" if row is best else row.name,
            f"{row.n_seeds} of {row.n_wanted}",
            *[mean_and_spread(**row.scores[key]) for key in COLUMNS.values()],
            f"{row.seconds / row.n_seeds:.0f}",
        ]
        for row in rows
    ]


HEADER = ("settings", "seeds", *COLUMNS, "s")


def render(title: str, rows: Sequence[Row], best: Optional[Row]) -> str:
    """RETURNS (str): the table as Markdown."""
    table = markdown_table(HEADER, cells_of(rows, best))
    note = (
        "Mean ± standard deviation over the seeds, on the development data, in "
        "percent; seconds of one training. A star marks the choice."
    )
    return f"# {title}\n\n{note}\n\n{table}\n"

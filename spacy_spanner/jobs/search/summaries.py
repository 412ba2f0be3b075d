"""Means over seeds, the table of a search, and the choice of the best settings.

The table and the choice are made on the development data only.
"""

from statistics import mean, stdev
from typing import Any, Dict, List, NamedTuple, Optional, Sequence

from ...evaluation.tables import markdown_table, mean_and_spread
from .variants import SEED

# By score the `mean` over trainings and the `sd`.
Means = Dict[str, Dict[str, Optional[float]]]
# Of lengths as the papers join them, from the finer classes that are scored.
LENGTH_GROUPS = {
    "1-4": ("1", "2", "3", "4"),
    "5-9": ("5", "6-9"),
    "10+": ("10+",),
}
SCORES = ("p", "r", "f", "macro_f", "flat_f", "nested_f", "ece", *LENGTH_GROUPS)
# Smaller is better.
ERRORS = ("ece",)
COLUMNS = {"P": "p", "R": "r", "F1": "f", "F1 nested": "nested_f", "ECE": "ece"}
HEADER = ("settings", "seeds", *COLUMNS, "s")


def best_part(run: Dict[str, Any]) -> Dict[str, Any]:
    """RETURNS (Dict[str, Any]): scores on the test data, or else on dev; see
    `with_groups`.
    """
    return with_groups(run["scores"].get("test") or run["scores"]["dev"])


def with_groups(scores: Dict[str, Any]) -> Dict[str, Any]:
    """RETURNS (Dict[str, Any]): the scores, and F1 of the groups of lengths."""
    classes = scores.get("by_length") or {}
    joined = {
        group: joined_f([classes[name] for name in names if name in classes])
        for group, names in LENGTH_GROUPS.items()
    }
    return {**scores, **joined}


def joined_f(classes: Sequence[Dict[str, Any]]) -> Optional[float]:
    """RETURNS (Optional[float]): F1 of several classes together, from precision, recall
    and the numbers of spans of each; None where there are no spans.
    """
    spans = sum(each["gold"] + each["predicted"] for each in classes)
    right = sum(
        (each["r"] or 0.0) * each["gold"] + (each["p"] or 0.0) * each["predicted"]
        for each in classes
    )
    return right / spans if spans else None


def summarize(runs: Sequence[Dict[str, Any]]) -> Means:
    """RETURNS (Dict): the `average` over trainings that differ by chance only."""
    return average([best_part(run) for run in runs])


def average(scores: Sequence[Dict[str, Any]]) -> Means:
    """RETURNS (Means): of `SCORES`; the `sd` of one training is None, as are both where
    some training has no such score.
    """
    found: Means = {}
    for name in SCORES:
        values = [each.get(name) for each in scores]
        known = [value for value in values if value is not None]
        whole = bool(known) and len(known) == len(values)
        found[name] = {
            "mean": mean(known) if whole else None,
            "sd": stdev(known) if whole and len(known) > 1 else None,
        }
    return found


def by_name(runs: Sequence[Dict[str, Any]]) -> Dict[str, List[Dict[str, Any]]]:
    """RETURNS (Dict[str, List[Dict[str, Any]]]): trainings that share a name."""
    groups: Dict[str, List[Dict[str, Any]]] = {}
    for run in runs:
        groups.setdefault(run["name"], []).append(run)
    return groups


class Row(NamedTuple):
    """The trials of some settings.

    name (str): the settings in words.
    variant (str): those of them that were trained with.
    overrides (Dict[str, Any]): of the config, without the seed.
    later (Dict[str, Any]): changes of the component's settings after training.
    scores (Means): mean and standard deviation.
    n_seeds, n_wanted (int): trials that are finished, and all.
    seconds (float): of these trainings.
    """

    name: str
    variant: str
    overrides: Dict[str, Any]
    later: Dict[str, Any]
    scores: Means
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
    """Average what differs by its seed only, in the order of the trials.

    results (Sequence[Dict[str, Any]]): accounts of finished trials; those that were
        stopped early do not count.
    n_wanted (int): seeds of each variant.
    later (Dict[str, Dict[str, Any]]): changes after training, by name.
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
    """Find the best settings by the mean of one of `SCORES` over the seeds.

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


def render(title: str, rows: Sequence[Row], best: Optional[Row]) -> str:
    """RETURNS (str): the table as Markdown."""
    table = markdown_table(HEADER, cells_of(rows, best))
    note = (
        "Mean ± standard deviation over the seeds, on the development data, in "
        "percent; seconds of one training. A star marks the choice."
    )
    return f"# {title}\n\n{note}\n\n{table}\n"

"""A whole search: train what is missing, choose on development data, write it down."""

import warnings
from pathlib import Path
from typing import Any, Callable, Dict, List, NamedTuple, Optional

from spacy.util import load_config

from ...errors import Errors, Warnings
from ...evaluation.tables import percent
from ...files import write_json, write_text
from .choice import Row, choose, render, table_rows
from .experiments import Plan
from .running import Engine, drop_models, results_of, run_in_sequence
from .space import Space, require_settings
from .trials import Machine, Trial, make_trials
from .variants import describe

BEST, TABLE, DATA = "best.cfg", "table.md", "table.json"


class Search(NamedTuple):
    """What is searched, and by what it is judged.

    plan (Plan): the config and what all trials share; its `test` is not looked at.
    space (Space): what is tried.
    metric (str): of the development data; one of `summaries.SCORES`.
    output (Path): folder for everything.
    machine (Machine): what the trials need around them.
    keep_models (bool): whether the pipelines of all trials stay.
    """

    plan: Plan
    space: Space
    metric: str
    output: Path
    machine: Machine = Machine()
    keep_models: bool = False

    def rows(self, trials: List[Trial]) -> List[Row]:
        """RETURNS (List[Row]): the table of what is finished."""
        later = {describe(changes): changes for changes in self.space.later}
        return table_rows(results_of(trials), len(self.space.seeds), later)


class Found(NamedTuple):
    """What a search has found.

    rows (List[Row]): the table.
    best (Row): the choice.
    trials (List[Trial]): all.
    """

    rows: List[Row]
    best: Row
    trials: List[Trial]


def run_search(
    search: Search,
    *,
    engine: Engine = run_in_sequence,
    tell: Callable[[str], Any] = str,
) -> Found:
    """Train all trials that are not finished, and write table and best config.

    search (Search): what is searched.
    engine (Engine): runs the trials.
    tell (Callable): is given a line after each trial.
    RETURNS (Found): table and choice; both are in the folder too.
    RAISES (ValueError): SP136 for settings that do not exist, SP138 where nothing can
        be chosen.
    """
    plan, space = search.plan, search.space
    require_settings(space, plan.config, plan.overrides)
    trials = make_trials(plan, space.variants(), search.output, search.machine)
    missing = [trial for trial in trials if trial.result() is None]
    tell(f"{len(trials)} trials, of which {len(trials) - len(missing)} are finished")

    def after_each(trial: Trial) -> None:
        n_done = len(results_of(trials))
        tell(f"{n_done} of {len(trials)}: {trial.title}: {_outcome(trial, search)}")
        best = choose(search.rows(trials), search.metric)
        if best is not None and not search.keep_models:
            drop_models(trials, best.variant)

    engine(missing, after_each)
    _warn_failed(trials, search.output)
    rows = search.rows(trials)
    best = choose(rows, search.metric)
    if best is None:
        raise ValueError(_nothing_to_choose(trials, search.output))
    found = Found(rows, best, trials)
    _write(search, found)
    return found


def _outcome(trial: Trial, search: Search) -> str:
    result = trial.result()
    if result is None:
        return "failed"
    if result.get("stopped"):
        return "stopped early"
    return f"{search.metric} {percent(result['scores']['dev'].get(search.metric))}"


def _failed(trials: List[Trial]) -> List[Trial]:
    return [trial for trial in trials if trial.result() is None]


def _warn_failed(trials: List[Trial], output: Path) -> None:
    failed = _failed(trials)
    if failed:
        names = ", ".join(f"{trial.title} ({trial.folder.name})" for trial in failed)
        message = Warnings.SW130.format(
            failed=len(failed), trials=len(trials), names=names, folder=output
        )
        warnings.warn(message, stacklevel=3)


def _nothing_to_choose(trials: List[Trial], output: Path) -> str:
    stopped = [result for result in results_of(trials) if result.get("stopped")]
    return Errors.SP138.format(
        failed=len(_failed(trials)),
        trials=len(trials),
        stopped=len(stopped),
        folder=output,
    )


def _write(search: Search, found: Found) -> None:
    """Write the table, its data, and the config of the choice."""
    output, best = search.output, found.best
    write_text(output / TABLE, render(search.space.title, found.rows, best))
    rows = [{**row._asdict(), "best": row is best} for row in found.rows]
    runs = results_of(found.trials)
    write_json(output / DATA, {"metric": search.metric, "rows": rows, "runs": runs})
    settings = best_settings(search, found)
    config = load_config(search.plan.config, overrides=settings)
    write_text(output / BEST, config.to_str())


def best_settings(search: Search, found: Found) -> Dict[str, Any]:
    """RETURNS (Dict[str, Any]): what differs from the config in the choice; the seed
    stays that of the config.
    """
    component = component_of(found)
    later = found.best.later.items()
    return {
        **search.plan.overrides,
        **found.best.overrides,
        **{f"components.{component}.{name}": value for name, value in later},
    }


def component_of(found: Found) -> str:
    """RETURNS (str): the component that was looked at."""
    known: Optional[str] = None
    for result in results_of(found.trials):
        known = known or result.get("component")
    assert known is not None  # a choice has results
    return known

"""A search: train the trials that are missing, and choose the best settings on dev.

`run_variants` trains without choosing, for analyses and tables of ablations.
"""

import shutil
import warnings
from pathlib import Path
from typing import Any, Callable, Dict, List, NamedTuple, Sequence

from spacy.util import load_config, load_model

from ...errors import Errors, Warnings
from ...evaluation.predicting import Track, read_corpus, untracked
from ...evaluation.tables import amount, percent
from ...files import read_json, write_json, write_text
from ..run.digests import digest
from .one_trial import Engine, run_here, run_in_sequence, scores_of
from .space import Space
from .summaries import Row, choose, render, summarize, table_rows
from .trials import MODEL, Machine, Plan, Trial, opened_trials, results_of, unfinished
from .variants import Variant, describe

BEST, TABLE, DATA = "best.cfg", "table.md", "table.json"
TEST = "test.json"


class Search(NamedTuple):
    """The settings to search, and the score that decides.

    plan (Plan): common settings of the trials; its `test` is not used.
    space (Space): the settings to try.
    metric (str): on the development data; one of `summaries.SCORES`.
    output (Path): folder for everything.
    machine (Machine): the setup of the processes that train.
    keep_models (bool): whether the pipelines of all trials stay.
    """

    plan: Plan
    space: Space
    metric: str
    output: Path
    machine: Machine = Machine()
    keep_models: bool = False

    def rows(self, trials: List[Trial]) -> List[Row]:
        """RETURNS (List[Row]): the table of finished trials."""
        later = {describe(changes): changes for changes in self.space.later}
        return table_rows(results_of(trials), len(self.space.seeds), later)


class Found(NamedTuple):
    """The table of a search, the choice, and all trials."""

    rows: List[Row]
    best: Row
    trials: List[Trial]


def run_variants(
    plan: Plan,
    variants: Sequence[Variant],
    output: Path,
    *,
    track: Track = untracked,
) -> List[Dict[str, Any]]:
    """Train variants that are not finished, in this process, and choose nothing.

    output (Path): folder with the trials.
    RETURNS (List[Dict[str, Any]]): the account of each; see `one_trial.train_variant`.
    RAISES (ValueError): see `trials.opened_trials`.
    """
    with opened_trials(plan, variants, output) as trials:
        run_here(unfinished(trials), track=track)
        return results_of(trials)


def run_search(
    search: Search,
    *,
    engine: Engine = run_in_sequence,
    tell: Callable[[str], Any] = str,
) -> Found:
    """Train all trials that are not finished, and write table and best config.

    tell (Callable): called with a line of text after each trial.
    RETURNS (Found): table and choice; both are in the folder too.
    RAISES (ValueError): SP138 where nothing can be chosen; see `trials.opened_trials`.
    """
    plan, variants = search.plan._replace(test=None), search.space.variants()
    opened = opened_trials(
        plan, variants, search.output, search.machine, keep_models=True
    )
    with opened as trials:
        missing = unfinished(trials)
        n_done = len(trials) - len(missing)
        tell(f"{n_done} of {amount(len(trials), 'trial')} finished")

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


def drop_models(trials: Sequence[Trial], best: str) -> None:
    """Remove the pipelines of settings that lost to the best variant so far."""
    groups: Dict[str, List[Trial]] = {}
    for trial in trials:
        groups.setdefault(trial.variant.name, []).append(trial)
    # Two variants may be the same training.
    kept = {trial.folder for trial in groups[best]}
    for group in groups.values():
        if not unfinished(group):
            for trial in group:
                if trial.folder in kept:
                    continue
                shutil.rmtree(trial.folder / MODEL, ignore_errors=True)


def _outcome(trial: Trial, search: Search) -> str:
    result = trial.result()
    if result is None:
        return "failed"
    if result.get("stopped"):
        return "stopped early"
    return f"{search.metric} {percent(result['scores']['dev'].get(search.metric))}"


def _warn_failed(trials: List[Trial], output: Path) -> None:
    failed = unfinished(trials)
    if failed:
        names = ", ".join(f"{trial.title} ({trial.folder.name})" for trial in failed)
        message = Warnings.SW130.format(
            failed=len(failed), trials=len(trials), names=names, folder=output
        )
        warnings.warn(message, stacklevel=3)


def _nothing_to_choose(trials: List[Trial], output: Path) -> str:
    stopped = [result for result in results_of(trials) if result.get("stopped")]
    return Errors.SP138.format(
        failed=len(unfinished(trials)),
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
    results = results_of(found.trials)
    return next(one["component"] for one in results if one.get("component"))


def score_test(search: Search, found: Found, test: Path) -> Dict[str, Any]:
    """Score the chosen pipelines of all seeds on annotated test documents.

    RETURNS (Dict[str, Any]): the settings, a `summary` and the `runs`; also in the
        folder, from where it is read if the same was scored before.
    RAISES (ValueError): SP139 where a pipeline is not there.
    """
    chosen = [one for one in found.trials if one.variant.name == found.best.variant]
    asked = {
        "settings": found.best.name,
        "trials": [trial.folder.name for trial in chosen],
        "test": digest(test),
    }
    path = search.output / TEST
    before = read_json(path) if path.exists() else {}
    if asked == {name: before.get(name) for name in asked}:
        return before
    for trial in chosen:
        if not (trial.folder / MODEL).exists():
            message = Errors.SP139.format(
                folder=trial.folder / MODEL, trial=trial.folder
            )
            raise ValueError(message)
    runs = [_score(trial, found, test) for trial in chosen]
    scored = {**asked, "summary": summarize(runs), "runs": runs}
    write_json(path, scored)
    return scored


def _score(trial: Trial, found: Found, test: Path) -> Dict[str, Any]:
    nlp = load_model(trial.folder / MODEL)
    pipe: Any = nlp.get_pipe(component_of(found))
    pipe.cfg.update(found.best.later)
    key = pipe.cfg["spans_key"]
    scores = scores_of(nlp, read_corpus(test, nlp, key), key)
    return {"overrides": trial.variant.overrides, "scores": {"test": scores}}

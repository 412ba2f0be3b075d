"""Ray trains trials to their end, or stops them."""

import sys
from pathlib import Path
from typing import List

import pytest

from spacy_spanner.jobs.search.search import run_search
from spacy_spanner.jobs.search.space import make_space
from spacy_spanner.jobs.search.trials import Plan, Trial

from .helpers import SETTING, SPACE, Fake, search_in, smoothing


def test_ray_must_be_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    from spacy_spanner.jobs.search.ray_engine import TuneOptions, make_ray_engine

    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(ValueError, match=r"\[SP123\]"):
        make_ray_engine(TuneOptions())


@pytest.mark.slow
def test_ray_trains_trials_to_their_end_or_stops_them(
    plan: Plan, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("ray.tune")
    from spacy_spanner.jobs.search.ray_engine import TuneOptions, make_ray_engine

    # Ray's workers give way to all other work, if they are not told otherwise.
    monkeypatch.setenv("RAY_worker_niceness", "0")
    search = search_in(tmp_path, plan, seeds=[0], grid={SETTING: [0.0, 0.1]})
    engine = make_ray_engine(TuneOptions(grace=3, reduction=2))
    found = run_search(search, engine=engine)
    results = [trial.result() or {} for trial in found.trials]
    whole = [result for result in results if "stopped" not in result]
    assert whole and len(whole) == len(found.rows)
    for result in whole:
        assert [row["step"] for row in result["history"]] == [0, 3, 6]
    assert all(result.get("stopped", 3) >= 3 for result in results)
    # What is finished or stopped is so for the next search too.
    again = Fake(smoothing)
    run_search(search, engine=again)
    assert again.seen == []


def test_a_stopped_trial_is_written_down(plan: Plan, tmp_path: Path) -> None:
    tune = pytest.importorskip("ray.tune")
    from types import SimpleNamespace

    from spacy_spanner.jobs.search.ray_engine import _watcher
    from spacy_spanner.jobs.search.trials import opened_trials

    space = make_space({**SPACE, "seeds": [0]})
    with opened_trials(plan, space.variants(), tmp_path) as trials:
        pass
    told: List[Trial] = []
    watcher = _watcher(tune, {str(t.folder): t for t in trials}, told.append)
    row = {"step": 3, "p": 0.1, "r": 0.2, "f": 0.15, "time_total_s": 2.0}
    seen = [SimpleNamespace(config={"folder": str(t.folder)}) for t in trials]
    for one in seen:
        one.last_result = row
    watcher.on_trial_complete(1, [], seen[0])
    watcher.on_trial_error(1, [], seen[1])
    result = trials[0].result()
    assert result is not None and result["stopped"] == 3
    assert result["scores"] == {"dev": {"p": 0.1, "r": 0.2, "f": 0.15}}
    assert trials[1].result() is None and told == trials

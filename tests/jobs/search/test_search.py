"""Searches train what is missing, choose on dev, and write the choice down."""

from pathlib import Path
from typing import Any, Dict, List, Optional, Sequence

import pytest
import srsly
from spacy.util import load_config, load_model_from_config

from spacy_spanner.jobs.search.one_trial import AfterEach
from spacy_spanner.jobs.search.search import run_search
from spacy_spanner.jobs.search.trials import Plan, Trial

from ...runs import NAME, make_config, write_corpus
from .helpers import SETTING, SHORT, Fake, search_in, smoothing


def models_of(found: Any) -> List[str]:
    kept = [trial for trial in found.trials if (trial.folder / "model").exists()]
    return [trial.title for trial in kept]


def test_search_writes_table_and_best_config(plan: Plan, tmp_path: Path) -> None:
    search = search_in(tmp_path, plan, later={"threshold": [0.2, 0.4]})
    lines: List[str] = []
    found = run_search(search, engine=Fake(smoothing), tell=lines.append)
    assert found.best.name == "boundary_smoothing = 0.1"
    assert len(found.rows) == 2 * 3
    best = load_config(search.output / "best.cfg")
    assert best["components"][NAME]["boundary_smoothing"] == 0.1
    assert best["components"][NAME]["threshold"] == 0.05  # as in the config
    assert best["system"]["seed"] == 0
    load_model_from_config(best, auto_fill=True)
    page = (search.output / "table.md").read_text(encoding="utf8")
    assert "| boundary_smoothing = 0.1 * | 2 of 2 |" in page
    data = srsly.read_json(search.output / "table.json")
    assert [row["best"] for row in data["rows"]] == [False] * 3 + [True, False, False]
    assert len(data["runs"]) == 4
    assert lines[0] == "0 of 4 trials finished"
    assert lines[2] == "2 of 4: boundary_smoothing = 0.0, seed 1: f 51.0"
    assert models_of(found) == [f"boundary_smoothing = 0.1, seed {n}" for n in (0, 1)]


def test_changes_after_training_go_into_the_best_config(
    plan: Plan, tmp_path: Path
) -> None:
    class Better(Fake):
        def __call__(self, trials: Sequence[Trial], after_each: AfterEach) -> None:
            super().__call__(trials, lambda _: None)
            for trial in trials:
                result = trial.result()
                assert result is not None
                result["later"]["threshold = 0.4"]["dev"]["f"] = 0.99
                trial.take_result(result)
                after_each(trial)

    later = {"threshold": [0.2, 0.4]}
    search = search_in(tmp_path, plan, seeds=[0], later=later)
    found = run_search(search, engine=Better(smoothing))
    assert found.best.name == "boundary_smoothing = 0.0; threshold = 0.4"
    best = load_config(search.output / "best.cfg")
    assert best["components"][NAME]["threshold"] == 0.4


def test_finished_trials_are_not_repeated(plan: Plan, tmp_path: Path) -> None:
    first = run_search(search_in(tmp_path, plan), engine=Fake(smoothing))
    again = Fake(smoothing)
    search = search_in(tmp_path, plan, seeds=[0, 1, 2], grid={SETTING: [0.0, 0.2]})
    found = run_search(search, engine=again)
    assert again.seen == [
        "boundary_smoothing = 0.0, seed 2",
        "boundary_smoothing = 0.2, seed 0",
        "boundary_smoothing = 0.2, seed 1",
        "boundary_smoothing = 0.2, seed 2",
    ]
    assert found.best.name == "boundary_smoothing = 0.2"
    assert [t.folder for t in found.trials[:2]] == [t.folder for t in first.trials[:2]]


def test_interrupted_trials_are_repeated(plan: Plan, tmp_path: Path) -> None:
    class Interrupted(Fake):
        def __call__(self, trials: Sequence[Trial], after_each: AfterEach) -> None:
            super().__call__(trials[:1], after_each)
            (trials[1].folder / "model").mkdir()
            raise KeyboardInterrupt

    search = search_in(tmp_path, plan)
    with pytest.raises(KeyboardInterrupt):
        run_search(search, engine=Interrupted(smoothing))
    assert not (search.output / "best.cfg").exists()
    again = Fake(smoothing)
    run_search(search, engine=again)
    assert len(again.seen) == 3


def test_other_data_or_settings_are_other_trials(tmp_path: Path) -> None:
    corpus = write_corpus(tmp_path / "corpus.spacy")
    make_config(corpus, SHORT).to_disk(tmp_path / "config.cfg")
    plan = Plan(tmp_path / "config.cfg", {})
    search = search_in(tmp_path, plan, seeds=[0])
    run_search(search, engine=Fake(smoothing))
    longer = search._replace(plan=plan._replace(overrides={"training.max_steps": 7}))
    for changed in (longer, search):
        again = Fake(smoothing)
        run_search(changed, engine=again)
        assert len(again.seen) == (2 if changed is longer else 0)
    write_corpus(corpus, times=3)
    again = Fake(smoothing)
    run_search(search, engine=again)
    assert len(again.seen) == 2


def test_failed_trials_are_named_and_stop_nothing(plan: Plan, tmp_path: Path) -> None:
    def fails(overrides: Dict[str, Any]) -> Optional[float]:
        return None if overrides[SETTING] else smoothing(overrides)

    search = search_in(tmp_path, plan)
    with pytest.warns(UserWarning, match=r"\[SW130\] 2 of 4 .*0.1, seed 0 \("):
        found = run_search(search, engine=Fake(fails))
    assert found.best.name == "boundary_smoothing = 0.0"
    again = Fake(smoothing)
    assert run_search(search, engine=again).best.name == "boundary_smoothing = 0.1"
    assert len(again.seen) == 2


@pytest.mark.filterwarnings("ignore:.*SW130")
def test_nothing_is_chosen_where_seeds_are_missing(plan: Plan, tmp_path: Path) -> None:
    fails = Fake(lambda o: None if o["system.seed"] else 0.9)
    with pytest.raises(ValueError, match=r"\[SP138\] .*2 of 4 trials failed"):
        run_search(search_in(tmp_path, plan), engine=fails)


def test_models_of_all_trials_stay_if_asked_for(plan: Plan, tmp_path: Path) -> None:
    search = search_in(tmp_path, plan, keep_models=True)
    assert len(models_of(run_search(search, engine=Fake(smoothing)))) == 4


def test_settings_that_are_the_same_training_keep_its_model(
    plan: Plan, tmp_path: Path
) -> None:
    as_it_is = load_config(plan.config)["components"][NAME]["boundary_smoothing"]
    points = [{SETTING: as_it_is}, {}]
    search = search_in(tmp_path, plan, seeds=[0], grid={}, points=points)
    engine = Fake(lambda _: 0.5)
    found = run_search(search, engine=engine)
    assert len(engine.seen) == 1 and len(found.rows) == 2
    assert found.best.name == f"boundary_smoothing = {as_it_is}"
    assert len({trial.folder for trial in found.trials}) == 1
    assert (found.trials[0].folder / "model").exists()


def test_two_searches_do_not_share_a_folder(plan: Plan, tmp_path: Path) -> None:
    search = search_in(tmp_path, plan)

    def other(trials: Sequence[Trial], after_each: AfterEach) -> None:
        run_search(search, engine=Fake(smoothing))

    with pytest.raises(ValueError, match=r"\[SP125\]"):
        run_search(search, engine=other)
    assert len(run_search(search, engine=Fake(smoothing)).trials) == 4

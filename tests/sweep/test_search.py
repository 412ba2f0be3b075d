"""Searches train what is missing, choose on dev, and write the choice down."""

import json
import sys
from pathlib import Path
from typing import Any, Callable, Dict, List, Optional, Sequence

import pytest
import spacy
import srsly
from spacy.training import Corpus
from spacy.util import load_config, load_model_from_config

from spacy_spanner.evaluation.analyses.experiments import Plan
from spacy_spanner.sweep.running import AfterEach
from spacy_spanner.sweep.search import Search, run_search
from spacy_spanner.sweep.space import make_space
from spacy_spanner.sweep.testing import score_test
from spacy_spanner.sweep.trials import Trial
from spacy_spanner.sweep.work import run_trial

from ..cli.helpers import invoke
from ..training.runs import NAME, make_config, settings, write_corpus

SETTING = f"components.{NAME}.boundary_smoothing"
SHORT = settings(max_steps=6, eval_frequency=3) + (
    '\n\n[training.logger]\n@loggers = "spacy.ConsoleLogger.v1"\n'
)
SPACE = {"title": "ε", "seeds": [0, 1], "grid": {SETTING: [0.0, 0.1]}}


@pytest.fixture(scope="module")
def plan(tmp_path_factory: pytest.TempPathFactory) -> Plan:
    folder = tmp_path_factory.mktemp("plan")
    corpus = write_corpus(folder / "corpus.spacy")
    make_config(corpus, SHORT).to_disk(folder / "config.cfg")
    return Plan(folder / "config.cfg", {})


def search_in(folder: Path, plan: Plan, **changes: Any) -> Search:
    parts = {name: changes.pop(name) for name in list(changes) if name in ALL_PARTS}
    space = make_space({**SPACE, **parts})
    return Search(plan, space, "f", folder / "out", **changes)


ALL_PARTS = ("seeds", "grid", "later", "points")


class Fake:
    """Finishes trials without training, with an F1 that the test decides."""

    def __init__(self, f_of: Callable[[Dict[str, Any]], Optional[float]]) -> None:
        self.f_of = f_of
        self.seen: List[str] = []

    def __call__(self, trials: Sequence[Trial], after_each: AfterEach) -> None:
        for trial in trials:
            self.seen.append(trial.title)
            f_score = self.f_of(trial.variant.overrides)
            if f_score is not None:
                (trial.folder / "model").mkdir()
                later = {
                    name: {"dev": {"f": f_score / 2}} for name in trial.variant.later
                }
                trial.take_result(
                    {
                        "name": trial.variant.name,
                        "component": NAME,
                        "overrides": trial.variant.overrides,
                        "scores": {"dev": {"f": f_score}},
                        "later": later,
                        "seconds": 1.0,
                    }
                )
            after_each(trial)


def smoothing(overrides: Dict[str, Any]) -> float:
    return 0.5 + overrides[SETTING] + overrides["system.seed"] / 100


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
    assert lines[0] == "4 trials, of which 0 are finished"
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


def train_here(trials: Sequence[Trial], after_each: AfterEach) -> None:
    for trial in trials:
        run_trial(trial.folder)
        after_each(trial)


@pytest.fixture(scope="module")
def real(plan: Plan, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Two trials that were really trained, in this process."""
    folder = tmp_path_factory.mktemp("real")
    later = {"threshold": [0.01]}
    search = search_in(folder, plan, seeds=[0, 1], grid={SETTING: [0.1]}, later=later)
    return search, run_search(search, engine=train_here)


def test_trained_trials_are_accounted_for(real: Any) -> None:
    _, found = real
    assert len(found.rows) == 2
    for trial in found.trials:
        result = trial.result()
        assert result["component"] == NAME
        assert result["overrides"] == trial.variant.overrides
        assert [row["step"] for row in result["history"]] == [0, 3, 6]
        assert set(result["scores"]) == {"dev"}
        assert result["scores"]["dev"]["f"] == max(r["f"] for r in result["history"])
    seeds = [trial.result()["history"][-1]["loss"] for trial in found.trials]
    assert seeds[0] != seeds[1]


def test_test_data_are_scored_once(real: Any, tmp_path: Path) -> None:
    search, found = real
    test = write_corpus(tmp_path / "test.spacy", times=1)
    scored = score_test(search, found, test)
    assert len(scored["runs"]) == 2
    by_hand = spacy.load(found.trials[1].folder / "model")
    if found.best.later:
        by_hand.get_pipe(NAME).cfg.update(found.best.later)  # type: ignore[attr-defined]
    corpus = Corpus(test)
    expected = by_hand.evaluate(list(corpus(by_hand)))["spans_ents_f"]
    assert scored["runs"][1]["scores"]["test"]["f"] == pytest.approx(expected)
    known = json.loads((search.output / "test.json").read_text(encoding="utf8"))
    known["summary"]["f"]["mean"] = "as read"
    srsly.write_json(search.output / "test.json", known)
    assert score_test(search, found, test)["summary"]["f"]["mean"] == "as read"
    other = write_corpus(tmp_path / "other.spacy", times=2)
    assert score_test(search, found, other)["summary"]["f"]["mean"] != "as read"


def test_test_scores_need_the_pipelines(plan: Plan, tmp_path: Path) -> None:
    search = search_in(tmp_path, plan)
    found = run_search(search, engine=Fake(smoothing))
    for trial in found.trials:
        if (trial.folder / "model").exists():
            (trial.folder / "model").rmdir()
    with pytest.raises(ValueError, match=r"\[SP139\]"):
        score_test(search, found, plan.config)


def test_ray_must_be_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    from spacy_spanner.sweep.ray_engine import RayOptions, make_ray_engine

    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(ImportError, match=r"\[SP140\]"):
        make_ray_engine(RayOptions())


def test_mistakes_of_the_command_are_told(plan: Plan, tmp_path: Path) -> None:
    srsly.write_yaml(tmp_path / "sweep.yml", {"grid": {"training.none": [1]}})
    words = [plan.config, tmp_path / "sweep.yml", "-o", tmp_path / "out"]
    result = invoke("sweep", *words)
    assert result.exit_code == 1 and "SP136" in result.output
    assert invoke("sweep", *words, "--metric", "speed").exit_code == 2
    assert invoke("sweep", *words, "--engine", "spark").exit_code == 2
    assert not (tmp_path / "out").exists()


@pytest.mark.slow
def test_command_trains_in_processes_and_tells_of_failures(
    plan: Plan, tmp_path: Path
) -> None:
    points = [{SETTING: 0.0}, {SETTING: 7.0}]  # the second is out of its limits
    srsly.write_yaml(tmp_path / "sweep.yml", {"points": points})
    words = [plan.config, tmp_path / "sweep.yml", "-o", tmp_path / "out"]
    test = write_corpus(tmp_path / "test.spacy", times=1)
    words += ["--training.max_steps", 3, "--seeds", "4", "--test", test]
    with pytest.warns(UserWarning, match="SW130"):
        result = invoke("sweep", *words)
    assert result.exit_code == 0, result.output
    text = " ".join(result.output.split())
    assert "1 of 2: boundary_smoothing = 7.0, seed 4: failed" in text
    assert "boundary_smoothing = 0.0 *" in text and "F1:" in text
    logs = [path.read_text(encoding="utf8") for path in tmp_path.rglob("log.txt")]
    assert sum("[SP002]" in log for log in logs) == 1
    assert load_config(tmp_path / "out" / "best.cfg")["training"]["max_steps"] == 3


@pytest.mark.slow
def test_ray_trains_trials_to_their_end_or_stops_them(
    plan: Plan, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("ray.tune")
    from spacy_spanner.sweep.ray_engine import RayOptions, make_ray_engine

    # Ray's workers give way to all other work, if they are not told otherwise.
    monkeypatch.setenv("RAY_worker_niceness", "0")
    search = search_in(tmp_path, plan, seeds=[0], grid={SETTING: [0.0, 0.1]})
    engine = make_ray_engine(RayOptions(grace=3, reduction=2))
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

    from spacy_spanner.sweep.ray_engine import _watcher
    from spacy_spanner.sweep.trials import Machine, make_trials

    space = make_space({**SPACE, "seeds": [0]})
    trials = make_trials(plan, space.variants(), tmp_path, Machine())
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

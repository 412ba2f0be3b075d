"""The command trains in processes, and tells of mistakes."""

from pathlib import Path

import pytest
import srsly
from spacy.util import load_config

from spacy_spanner.jobs.search.trials import Plan

from ...cli.helpers import invoke
from ...runs import write_corpus
from .helpers import SETTING


def test_mistakes_of_the_command_are_told(plan: Plan, tmp_path: Path) -> None:
    srsly.write_yaml(tmp_path / "sweep.yml", {"grid": {"training.none": [1]}})
    words = [plan.config, tmp_path / "sweep.yml", "-o", tmp_path / "out"]
    result = invoke("sweep", *words)
    assert result.exit_code == 1 and "SP136" in result.output
    for wrong in (("--metric", "speed"), ("--engine", "spark"), ("--seeds", "x")):
        result = invoke("sweep", *words, *wrong)
        assert result.exit_code == 1 and "SP062" in result.output
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

"""The benchmark of training options, and the prototype that it measures."""

import importlib
import sys
from pathlib import Path
from typing import Any, Dict, Iterator, List

import numpy as np
import pytest
from spacy.language import Language
from spacy.training import Example

from spacy_spanner.files import read_json

from ..helpers import NESTED, blank_pipeline, make_examples
from ..training.test_optimizer import tensors
from .in_process import run_script

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
NAME = "span_biaffine"
WNUT = ("wnut17train.conll", "emerging.dev.conll", "emerging.test.annotated")
SENTENCES = "Ann\tB-person\nleft\tO\nRome\tB-location\n\nIt\tO\nrained\tO\n\n"


@pytest.fixture
def adversarial(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """Import a file of the benchmarks, which no other test finds afterwards."""
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    yield importlib.import_module("adversarial").adversarial
    sys.modules.pop("adversarial", None)


def prepared() -> Any:
    nlp = blank_pipeline(NAME)
    examples = make_examples(nlp, NESTED)
    nlp.initialize(lambda: examples)
    return nlp, examples


def gradients(nlp: Language, examples: List[Example]) -> Dict[Any, Any]:
    """Learn from a batch without dropout. RETURNS: gradients, and weights after it."""
    pipe = nlp.get_pipe(NAME)
    pipe.update(examples)
    found = {key: pair for key, pair in tensors(pipe.model).items()}
    for key, (_, gradient) in found.items():
        assert gradient.isfinite().all(), key
    return found


def test_adversarial_learns_twice_and_restores_the_embeddings(
    adversarial: Any,
) -> None:
    (nlp, examples), (other, same) = prepared(), prepared()
    other.from_bytes(nlp.to_bytes())
    plain = list(gradients(nlp, examples).values())
    with adversarial(1.0):
        twice = list(gradients(other, same).values())
    moved = 0.0
    for (weights, once), (after, both) in zip(plain, twice, strict=True):
        assert weights.equal(after)
        moved = max(moved, float((both - 2 * once).abs().max()))
    assert moved > 1e-4
    with adversarial(0.0):
        again = list(gradients(other, same).values())
    for (_, both), (_, more), (_, once) in zip(twice, again, plain, strict=True):
        np.testing.assert_allclose(more - both, 2 * once, atol=1e-4)


def test_options_are_measured_once_and_compared(tmp_path: Path) -> None:
    folder = tmp_path / "wnut17"
    folder.mkdir()
    for name in WNUT:
        (folder / name).write_text(20 * SENTENCES, encoding="utf8")
    budget = ("--epochs", 1, "--min-steps", 6, "--seeds", 0, "--corpora", "wnut17")
    options = ["none", "twice", "conv", "conv+r_drop"]
    known = ("--options", ",".join(options), "--results", tmp_path / "results")
    script = BENCHMARKS / "training_options.py"
    done = run_script(script, tmp_path, *budget, *known)
    assert done.returncode == 0, done.stdout + done.stderr
    rows = [line.split(" | ") for line in done.stdout.splitlines() if "| " in line]
    names = [row[0].strip("| ") for row in rows[2:]]
    tuned = ["none averages", "threshold", "label_thresholds"]
    assert names == ["none", *tuned, *options[1:]]
    assert rows[2][3:5] == ["+0.0", "+0.0"]
    found = [read_json(path) for path in (tmp_path / "results").iterdir()]
    assert sorted(one["option"] for one in found) == sorted(options)
    (both,) = [one["system"] for one in found if one["option"] == "conv+r_drop"]
    assert both == "span_biaffine model.conv_layers=1 r_drop=1.0"
    assert all(one["seconds"] > 0 for one in found)
    again = run_script(script, tmp_path, *budget, *known)
    assert "seed 0" not in again.stdout  # nothing is trained
    assert done.stdout.endswith(again.stdout)

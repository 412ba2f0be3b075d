"""Trainings whose evaluations could not find the best model, and those that could."""

import warnings
from pathlib import Path
from typing import Any, List, Optional

import pytest
import spacy
from spacy.tokens import DocBin
from spacy.training.initialize import init_nlp

from spacy_spanner.pipeline.config_checks import plan_evaluations

from ...helpers import NESTED, annotate
from .helpers import training_config

NAME = "span_biaffine"
WEIGHTS = {"spans_ents_f": 1.0}


def config_with_dev(folder: Path, *groups: Any, key: str = "ents") -> Any:
    """Make a training config whose dev documents have these gold spans."""
    config = training_config(NAME, folder, WEIGHTS)
    nlp = spacy.blank("en")
    docs = [nlp.make_doc(NESTED[0][0]) for _ in groups]
    for doc, spans in zip(docs, groups):
        if spans is not None:
            annotate(doc, spans, key)
    DocBin(docs=docs).to_disk(folder / "dev.spacy")
    config["paths"]["dev"] = str(folder / "dev.spacy")
    return config


@pytest.mark.parametrize("groups", [(None, None), ([], []), ()], ids=str)
def test_dev_without_gold_fails(groups: Any, tmp_path: Path) -> None:
    config = config_with_dev(tmp_path, *groups)
    existing = "'ents'" if any(g is not None for g in groups) else "none"
    words = rf"SP083\] '{NAME}'.*none of the {len(groups)} .*'ents'.*{existing}"
    with pytest.raises(ValueError, match=words):
        init_nlp(config)


def test_dev_with_gold_under_another_key_fails(tmp_path: Path) -> None:
    config = config_with_dev(tmp_path, [(0, 2, "ORG")], key="sc")
    with pytest.raises(ValueError, match=r"SP083.*'ents'.*existing.*'sc'|SP083.*'sc'"):
        init_nlp(config)


def test_dev_with_some_gold_passes(tmp_path: Path) -> None:
    assert init_nlp(config_with_dev(tmp_path, None, [], [(0, 2, "ORG")]))


def test_dev_without_gold_passes_if_its_scores_do_not_count(tmp_path: Path) -> None:
    config = config_with_dev(tmp_path, None)
    config["training"]["score_weights"] = {"spans_ents_f": 0.0, "token_acc": 1.0}
    assert init_nlp(config)


def test_dev_that_cannot_be_read_is_left_to_training(tmp_path: Path) -> None:
    nlp = init_nlp(config_with_dev(tmp_path, [(0, 2, "ORG")]))
    (tmp_path / "dev.spacy").unlink()
    train = list(spacy.training.Corpus(tmp_path / "train.spacy")(nlp))
    nlp.initialize(lambda: train)


@pytest.mark.parametrize(
    "steps, frequency, last",
    [(100, 200, 0), (500, 200, 400), (400, 200, None), (0, 200, None)],
)
def test_end_without_evaluation_warns(
    steps: int, frequency: int, last: Optional[int], tmp_path: Path
) -> None:
    config = training_config(NAME, tmp_path, WEIGHTS)
    config["training"].update(max_steps=steps, eval_frequency=frequency)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        init_nlp(config)
    found: List[str] = [str(one.message) for one in caught if "SW071" in str(one)]
    assert len(found) == (last is not None)
    for text in found:
        assert f"last evaluation is at step {last}," in text
        better, suggestion = plan_evaluations(steps)
        assert f"{better} --training.eval_frequency {suggestion}" in text
        assert better % suggestion == 0

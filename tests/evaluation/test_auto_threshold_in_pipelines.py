"""`threshold = "auto"` where an ensemble removes spans."""

from pathlib import Path
from typing import Any, Dict

import pytest

from spacy_spanner.evaluation.auto_threshold import make_auto_threshold

from .test_auto_threshold import NAME, gold_above, half_trained

CHOOSE = make_auto_threshold(min_gold=1)


@pytest.mark.parametrize("special", [{}, {"GPE": 0.9}])
def test_members_whose_spans_are_removed_get_a_threshold(
    special: Dict[str, float], tmp_path: Path
) -> None:
    nlp = half_trained()
    gold_above(nlp, NAME, tmp_path)
    cfg: Any = nlp.get_pipe(NAME).cfg  # type: ignore[attr-defined]
    cfg["label_thresholds"] = special
    nlp.meta["performance"] = {"spans_ents_f": 0.0}
    expected = CHOOSE(nlp)
    settings = {"members": [NAME], "spans_key": "joint", "keep_members": False}
    ensemble: Any = nlp.add_pipe("span_ensemble", config=settings)
    stored = CHOOSE(nlp)
    pipes: Any = [one.get_pipe(NAME) for one in (stored, expected)]
    chosen, right = (pipe.cfg["chosen_threshold"] for pipe in pipes)
    assert chosen == right != 0.3
    assert stored.meta["performance"] == expected.meta["performance"]
    assert expected.meta["performance"]["spans_ents_f"] > 0
    assert ensemble.cfg["keep_members"] is False

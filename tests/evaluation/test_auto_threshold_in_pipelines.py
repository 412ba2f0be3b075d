"""`threshold = "auto"` where an ensemble removes spans, and where choosing fails."""

from pathlib import Path
from typing import Any, Callable, Dict

import pytest
import spacy
from spacy.language import Language
from spacy.training import Corpus
from spacy.util import registry

from spacy_spanner.evaluation.auto_threshold import make_auto_threshold
from spacy_spanner.pipeline.state import threshold_of

from ..helpers import annotate
from ..runs import make_config, run, write_corpus
from .test_auto_threshold import (
    LEAST,
    NAME,
    ONLY_AUTO,
    gold_above,
    half_trained,
    use_dev,
)

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


def test_scores_of_an_ensemble_are_those_with_the_new_thresholds_of_its_members(
    tmp_path: Path,
) -> None:
    nlp = half_trained()
    gold_above(nlp, NAME, tmp_path)
    ensemble = {"members": [NAME], "spans_key": "joint", "threshold": 0.0}
    nlp.add_pipe("span_ensemble", config=ensemble)
    docs = [eg.reference for eg in Corpus(tmp_path / "dev.spacy")(nlp)]
    for doc in docs:
        doc.spans["joint"] = list(doc.spans["ents"])
    use_dev(nlp, docs, tmp_path / "dev.spacy")
    examples = list(Corpus(tmp_path / "dev.spacy")(nlp))
    before = nlp.evaluate(examples)["spans_joint_f"]
    nlp.meta["performance"] = {"spans_joint_f": before}
    stored = CHOOSE(nlp)
    after = stored.evaluate(examples)["spans_joint_f"]
    assert stored.meta["performance"] == {"spans_joint_f": pytest.approx(after)}
    assert after != pytest.approx(before)
    assert nlp.meta["performance"] == {"spans_joint_f": before}


def test_pipeline_is_stored_if_choosing_fails(tmp_path: Path) -> None:
    nlp = half_trained()
    gold_above(nlp, NAME, tmp_path)
    settings = {"members": [NAME], "spans_key": "joint", "threshold": "auto"}
    nlp.add_pipe("span_ensemble", config=settings)
    nlp.meta["performance"] = {"spans_ents_f": 0.5}
    (tmp_path / "dev.spacy").write_bytes(b"damaged")
    before = nlp.to_bytes()
    expected = rf"SW063.*failed \(\w+: .*0\.3 for '{NAME}', 0\.3 for 'span_ensemble'"
    with pytest.warns(UserWarning, match=expected):
        assert CHOOSE(nlp) is nlp
    assert nlp.to_bytes() == before


def test_nothing_is_chosen_if_one_of_several_fails(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    nlp = half_trained()
    gold_above(nlp, NAME, tmp_path)
    # Components are chosen for in order. This one fails after those before it.
    settings = {"members": ["missing"], "spans_key": "joint", "threshold": "auto"}
    nlp.add_pipe("span_ensemble", config=settings)
    examples = Corpus(tmp_path / "dev.spacy")(nlp)
    docs = [annotate(eg.reference, [(0, 1, "PER")], "joint") for eg in examples]
    use_dev(nlp, docs, tmp_path / "dev.spacy")
    with pytest.warns(UserWarning, match=r"SW063.*SP170"):
        assert CHOOSE(nlp) is nlp
    assert "chosen_threshold" not in nlp.get_pipe(NAME).cfg  # type: ignore
    assert capsys.readouterr().out == ""


LOSE = """[training.before_update]
@callbacks = "test.lose.v1"
path = "{path}"
"""


@registry.callbacks("test.lose.v1")
def make_lose(path: str) -> Callable:
    """The first step fails, and so does what reads the dev data afterwards."""

    def lose(nlp: Language, info: Dict[str, Any]) -> None:
        Path(path).unlink()
        raise RuntimeError("out of memory")

    return lose


def test_training_that_failed_is_stored_with_its_own_error(tmp_path: Path) -> None:
    corpus = write_corpus(tmp_path / "train.spacy")
    dev = write_corpus(tmp_path / "dev.spacy")
    config = make_config(corpus, ONLY_AUTO, LEAST, LOSE.format(path=dev))
    config["paths"]["dev"] = str(dev)
    with (
        pytest.warns(UserWarning, match=rf"SW063.*0\.3 for '{NAME}'"),
        pytest.raises(RuntimeError, match=r"^out of memory$"),
    ):
        run(config, tmp_path / "out")
    pipe: Any = spacy.load(tmp_path / "out" / "model-last").get_pipe(NAME)
    assert threshold_of(pipe) == 0.3

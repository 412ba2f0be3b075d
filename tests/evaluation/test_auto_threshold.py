"""`threshold = "auto"`: chosen on the dev data, stored, and nothing else is changed."""

import random
import warnings
from pathlib import Path
from typing import Any, Dict, List

import numpy as np
import pytest
import spacy
from spacy.language import Language
from spacy.tokens import Doc, DocBin
from spacy.training import Corpus, Example
from thinc.api import fix_random_seed

from spacy_spanner.evaluation.auto_threshold import (
    choose_threshold,
    make_auto_threshold,
)
from spacy_spanner.evaluation.card import render_card
from spacy_spanner.evaluation.predicting import SpanSource, lowered_threshold
from spacy_spanner.evaluation.tuning import tune
from spacy_spanner.pipeline.annotations import raise_threshold
from spacy_spanner.pipeline.state import threshold_of

from ..helpers import (
    FACTORIES,
    LONG,
    NESTED,
    SMALL_ENCODER,
    annotate,
    blank_pipeline,
    copy_of,
    defaults_of,
    make_examples,
    scored_spans,
    small_model,
    train,
)
from ..runs import (
    NAME,
    callbacks,
    make_config,
    resume,
    run,
    stored_in,
)
from ..runs import write_corpus as write_training

CHOOSE = make_auto_threshold(min_gold=1)
ONLY_AUTO = '[components.span_biaffine]\nthreshold = "auto"\n'
LEAST = "[training.before_to_disk.callbacks.threshold]\nmin_gold = 1\n"
DATA = [*NESTED[:3], *LONG]
UNSURE = 12  # updates after which a model is not sure


def half_trained(factory: str = NAME, **settings: Any) -> Language:
    nlp = blank_pipeline(factory, threshold="auto", **settings)
    train(nlp, make_examples(nlp, DATA), updates=UNSURE)
    return nlp


def candidates(nlp: Language, name: str, threshold: float = 0.05) -> List[Doc]:
    source = SpanSource("ents", name, nlp.get_pipe(name))
    with lowered_threshold(source, threshold):
        return list(nlp.pipe(text for text, _ in DATA))


def use_dev(nlp: Language, docs: List[Doc], path: Path) -> None:
    """Make documents the dev data of a pipeline's config."""
    DocBin(docs=docs).to_disk(path)
    nlp.config["paths"].update(train=str(path), dev=str(path))


def gold_above(nlp: Language, name: str, folder: Path) -> None:
    """Write dev data whose gold spans are the better half of the candidates."""
    docs = candidates(nlp, name)
    scores = sorted({span[3] for doc in docs for span in scored_spans(doc)})
    above = scores[len(scores) // 2]
    gold = [
        annotate(
            nlp.make_doc(doc.text), [s[:3] for s in scored_spans(doc) if s[3] >= above]
        )
        for doc in docs
    ]
    use_dev(nlp, gold, folder / "dev.spacy")


def f1(nlp: Language, folder: Path) -> float:
    scores = nlp.evaluate(list(Corpus(folder / "dev.spacy")(nlp)))
    return float(scores["spans_ents_f"])


@pytest.mark.parametrize("factory", FACTORIES)
def test_threshold_is_chosen_on_dev_and_stored(factory: str, tmp_path: Path) -> None:
    nlp = half_trained(factory)
    gold_above(nlp, factory, tmp_path)
    default, before = defaults_of(factory)["threshold"], f1(nlp, tmp_path)
    nlp.meta["performance"] = {"spans_ents_f": before, "other": 1.0}
    stored = CHOOSE(nlp)
    # The pipeline in training stays as it is.
    assert threshold_of(nlp.get_pipe(factory)) == default
    assert "chosen_threshold" not in nlp.get_pipe(factory).cfg
    assert nlp.meta["performance"]["spans_ents_f"] == before
    stored.to_disk(tmp_path / "model")
    for loaded in (spacy.load(tmp_path / "model"), copy_of(stored)):
        pipe: Any = loaded.get_pipe(factory)
        assert pipe.cfg["threshold"] == "auto"
        chosen = pipe.cfg["chosen_threshold"]
        assert threshold_of(pipe) == pipe.settings.threshold == chosen
        after = f1(loaded, tmp_path)
        # Better by more than what a threshold is changed for.
        assert chosen == default or after > before + 0.01
        performance = stored.meta["performance"]
        assert performance == {"spans_ents_f": pytest.approx(after), "other": 1.0}
    for threshold in (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9):
        pipe.cfg["threshold"] = threshold
        assert f1(loaded, tmp_path) <= after + 0.010001


def test_card_shows_both(tmp_path: Path) -> None:
    nlp = half_trained()
    gold_above(nlp, NAME, tmp_path)
    card = render_card(CHOOSE(nlp))
    assert "| `threshold` | `'auto'` |" in card
    assert "| `chosen_threshold` | `" in card


def test_frozen_components_and_numbers_are_left_alone(tmp_path: Path) -> None:
    nlp = half_trained()
    gold_above(nlp, NAME, tmp_path)
    nlp.config["training"]["frozen_components"] = [NAME]
    assert CHOOSE(nlp) is nlp
    nlp.config["training"]["frozen_components"] = []
    nlp.get_pipe(NAME).cfg["threshold"] = 0.2  # type: ignore[attr-defined]
    assert CHOOSE(nlp) is nlp


def test_new_weights_have_the_default_again(tmp_path: Path) -> None:
    nlp = half_trained()
    gold_above(nlp, NAME, tmp_path)
    nlp.add_pipe("span_ensemble", config={"members": [NAME], "spans_key": "joint"})
    joint: Any = nlp.get_pipe("span_ensemble")
    joint.cfg.update(threshold="auto", chosen_threshold=0.9)
    stored = CHOOSE(nlp)
    stored.get_pipe(NAME).cfg["chosen_threshold"] = 0.9  # type: ignore[attr-defined]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # members should report unlikely spans
        stored.initialize(lambda: make_examples(stored, DATA))
    for name in stored.pipe_names:
        assert threshold_of(stored.get_pipe(name)) == 0.3


def test_new_choices_are_shown(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    nlp = half_trained()
    gold_above(nlp, NAME, tmp_path)
    choose = make_auto_threshold(min_gold=1)
    chosen = threshold_of(choose(nlp).get_pipe(NAME))
    assert chosen != 0.3
    shown = capsys.readouterr().out
    assert f"{NAME}: threshold 0.30 -> {chosen:.2f}, F1 on dev" in shown
    assert f" {100 * f1(nlp, tmp_path):.1f} -> " in shown
    choose(nlp)
    assert capsys.readouterr().out == ""
    use_dev(nlp, candidates(nlp, NAME, 0.3), tmp_path / "dev.spacy")
    choose(nlp)
    assert f"{NAME}: threshold stays 0.30" in capsys.readouterr().out


@pytest.mark.parametrize("factory", [NAME, "span_ensemble"])
def test_config_without_the_callback_warns(factory: str, tmp_path: Path) -> None:
    nlp = half_trained()
    gold_above(nlp, NAME, tmp_path)
    nlp.get_pipe(NAME).cfg["threshold"] = 0.1  # type: ignore[attr-defined]
    joint = {"members": [NAME], "spans_key": "joint"}
    nlp.add_pipe("span_ensemble", config=joint)
    nlp.get_pipe(factory).cfg["threshold"] = "auto"  # type: ignore[attr-defined]
    expected = rf"SW062\] '{factory}' has .* stored with 0.3"
    with pytest.warns(UserWarning, match=expected):
        nlp.initialize(lambda: make_examples(nlp, DATA))
    chooser = {"@callbacks": "spacy_spanner.auto_threshold.v1"}
    both = {"@callbacks": "spacy_spanner.callbacks.v1", "callbacks": {"a": chooser}}
    for block in (chooser, both):
        nlp.config["training"]["before_to_disk"] = block
        with warnings.catch_warnings(record=True) as found:
            warnings.simplefilter("always")
            nlp.initialize(lambda: make_examples(nlp, DATA))
        assert not any("SW062" in str(one.message) for one in found)


def test_too_little_gold_keeps_the_threshold(tmp_path: Path) -> None:
    nlp = half_trained()
    use_dev(
        nlp, [eg.reference for eg in make_examples(nlp, NESTED)], tmp_path / "dev.spacy"
    )
    with pytest.warns(UserWarning, match=r"SW061.*threshold stays 0.3.*only 6 gold"):
        stored = make_auto_threshold(min_gold=7)(nlp)
    assert threshold_of(stored.get_pipe(NAME)) == 0.3
    nothing = [nlp.make_doc("It rained."), annotate(nlp.make_doc("Nobody came."), [])]
    use_dev(nlp, nothing, tmp_path / "dev.spacy")
    with pytest.warns(UserWarning, match=r"SW061.*only 0 gold"):
        make_auto_threshold(min_gold=0)(nlp)


def test_labels_with_thresholds_of_their_own_keep_them(tmp_path: Path) -> None:
    nlp = half_trained()
    gold_above(nlp, NAME, tmp_path)
    special = {"GPE": 0.99, "PER": 0.99}
    cfg: Any = nlp.get_pipe(NAME).cfg  # type: ignore[attr-defined]
    cfg["label_thresholds"] = special
    stored = CHOOSE(nlp)
    pipe: Any = stored.get_pipe(NAME)
    assert pipe.cfg["label_thresholds"] == special
    nlp.meta["performance"] = {"spans_ents_f": 0.0}
    stored = CHOOSE(nlp)
    assert stored.meta["performance"]["spans_ents_f"] == f1(stored, tmp_path)


def just_above_a_score(docs: List[Doc]) -> float:
    """RETURNS: a threshold that is higher than a score, but the same in float32."""
    scores = sorted(span[3] for doc in docs for span in scored_spans(doc))
    threshold: float = scores[len(scores) // 2] * (1 + 1e-9)
    assert threshold not in scores and float(np.float32(threshold)) in scores
    return threshold


def test_raised_threshold_keeps_what_prediction_keeps() -> None:
    nlp = half_trained()
    docs = candidates(nlp, NAME)
    threshold = just_above_a_score(docs)
    for doc in docs:
        raise_threshold(doc, "ents", threshold)
    predicted = candidates(nlp, NAME, threshold)
    assert [scored_spans(doc) for doc in docs] == [scored_spans(d) for d in predicted]


def test_label_with_a_threshold_keeps_what_prediction_keeps() -> None:
    nlp = half_trained()
    pipe: Any = nlp.get_pipe(NAME)
    docs = candidates(nlp, NAME)
    threshold = just_above_a_score(docs)
    pipe.cfg["label_thresholds"] = dict.fromkeys(pipe.labels, threshold)
    examples = [Example(doc, annotate(nlp.make_doc(doc.text), [])) for doc in docs]
    choice = choose_threshold(SpanSource("ents", NAME, pipe), examples)
    assert choice.before.n_predicted == sum(
        len(doc.spans["ents"]) for doc in candidates(nlp, NAME, threshold)
    )


def test_limit_reads_no_more_documents(tmp_path: Path) -> None:
    nlp = half_trained()
    docs = [eg.reference for eg in make_examples(nlp, NESTED)]
    use_dev(nlp, docs, tmp_path / "dev.spacy")
    nlp.meta["performance"] = {"spans_ents_f": 0.5}
    with pytest.warns(UserWarning, match=r"SW061.*only 3 gold"):
        make_auto_threshold(limit=1, min_gold=5)(nlp)
    stored = make_auto_threshold(limit=1, min_gold=1)(nlp)
    assert stored.meta["performance"] == {"spans_ents_f": 0.5}


@pytest.mark.parametrize("wrong", [{"limit": -1}, {"min_gold": 0.5}])
def test_wrong_settings_are_refused(wrong: Dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="SP002"):
        make_auto_threshold(**wrong)


def test_several_components_on_one_encoder_and_their_ensemble(tmp_path: Path) -> None:
    nlp = spacy.blank("en")
    nlp.add_pipe("tok2vec", config={"model": SMALL_ENCODER})
    listener = {"@architectures": "spacy.Tok2VecListener.v1", "width": 32}
    names = ["span_biaffine", "span_offset"]
    for name in names:
        block = {"model": small_model(name, listener), "spans_key": name}
        nlp.add_pipe(name, config={**block, "threshold": "auto"})
    settings = {"members": names, "threshold": "auto"}
    nlp.add_pipe("span_ensemble", config=settings)
    examples = make_examples(nlp, DATA)
    for eg in examples:
        for name in names:
            eg.reference.spans[name] = eg.reference.spans["ents"].copy()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # members should report unlikely spans
        train(nlp, examples, updates=30)
    use_dev(nlp, [eg.reference for eg in examples], tmp_path / "dev.spacy")
    keys = dict(zip([*names, "span_ensemble"], [*names, "ents"]))
    nlp.meta["performance"] = {f"spans_{key}_f": 0.0 for key in keys.values()}
    stored = CHOOSE(nlp)
    stored.to_disk(tmp_path / "model")
    loaded = spacy.load(tmp_path / "model")
    scores = loaded.evaluate(list(Corpus(tmp_path / "dev.spacy")(loaded)))
    before = nlp.evaluate(list(Corpus(tmp_path / "dev.spacy")(nlp)))
    for name, key in keys.items():
        pipe: Any = loaded.get_pipe(name)
        assert threshold_of(pipe) == pipe.cfg["chosen_threshold"]
        f = scores[f"spans_{key}_f"]
        assert stored.meta["performance"][f"spans_{key}_f"] == pytest.approx(f)
        assert name == "span_ensemble" or f >= before[f"spans_{key}_f"]


def test_choice_draws_no_random_numbers(tmp_path: Path) -> None:
    nlp = half_trained()
    gold_above(nlp, NAME, tmp_path)
    augmenter = {"@augmenters": "spacy.lower_case.v1", "level": 0.5}
    nlp.config["corpora"]["dev"]["augmenter"] = augmenter
    fix_random_seed(1)
    expected = random.random(), np.random.rand()
    fix_random_seed(1)
    CHOOSE(nlp)
    assert (random.random(), np.random.rand()) == expected


def test_tuning_puts_a_number_in_its_place(tmp_path: Path) -> None:
    nlp = half_trained()
    gold_above(nlp, NAME, tmp_path)
    stored = CHOOSE(nlp)
    chosen = threshold_of(stored.get_pipe(NAME))
    found = tune(stored, tmp_path / "dev.spacy")
    assert found["settings"]["before"]["threshold"] == chosen
    cfg: Any = stored.get_pipe(NAME).cfg  # type: ignore[attr-defined]
    assert cfg["threshold"] == found["settings"]["after"]["threshold"]
    assert "chosen_threshold" not in cfg


def test_damaged_choice_is_reported() -> None:
    nlp = half_trained()
    nlp.get_pipe(NAME).cfg["chosen_threshold"] = "auto"  # type: ignore[attr-defined]
    with pytest.raises(ValueError, match=r"SP002.*chosen_threshold"):
        nlp("It rained.")


# --------------------------------------------------------------- spacy train


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_training(tmp_path_factory.mktemp("data") / "corpus.spacy")


def test_spacy_train_stores_the_choice(corpus: Path, tmp_path: Path) -> None:
    config = make_config(corpus, ONLY_AUTO, LEAST)
    found = run(config, tmp_path / "auto")
    fixed = "[components.span_biaffine]\nthreshold = 0.3\n"
    constant = run(make_config(corpus, fixed, LEAST), tmp_path / "constant")
    # Evaluations during training have the default.
    assert [r["score"] for r in found.rows] == [r["score"] for r in constant.rows]
    for path, at_default in ((found.best, constant.best), (found.last, constant.last)):
        nlp = spacy.load(path)
        scores = nlp.evaluate(list(Corpus(corpus)(nlp)))
        stored = nlp.meta["performance"]["spans_ents_f"]
        assert stored == pytest.approx(scores["spans_ents_f"])
        assert stored >= spacy.load(at_default).meta["performance"]["spans_ents_f"]
        assert 0 < nlp.get_pipe(NAME).cfg["chosen_threshold"] < 1  # type: ignore
        assert "`chosen_threshold`" in nlp.meta["notes"]


def test_resumed_run_chooses_as_the_whole(corpus: Path, tmp_path: Path) -> None:
    texts = (ONLY_AUTO, LEAST)
    stored = callbacks(stored_in(tmp_path / "run"))
    run(make_config(corpus, *texts, stored), tmp_path / "out", stop_at=8)
    resumed = resume(tmp_path / "run", tmp_path / "out")
    whole = run(make_config(corpus, *texts), tmp_path / "whole")
    assert resumed.rows == whole.rows[-len(resumed.rows) :]
    for one, other in ((resumed.last, whole.last), (resumed.best, whole.best)):
        cfgs = [(path / NAME / "cfg").read_text("utf8") for path in (one, other)]
        assert cfgs[0] == cfgs[1]


def test_further_training_chooses_anew(corpus: Path, tmp_path: Path) -> None:
    first = run(make_config(corpus, ONLY_AUTO, LEAST), tmp_path / "first")
    config = make_config(corpus, ONLY_AUTO, LEAST)
    config["components"][NAME] = {"source": str(first.last)}
    second = run(config, tmp_path / "second")
    nlp = spacy.load(second.last)
    pipe: Any = nlp.get_pipe(NAME)
    assert pipe.cfg["threshold"] == "auto"
    scores = nlp.evaluate(list(Corpus(corpus)(nlp)))
    stored = nlp.meta["performance"]["spans_ents_f"]
    assert stored == pytest.approx(scores["spans_ents_f"])

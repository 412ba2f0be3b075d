"""Members of `span_ensemble` that are changed, added or moved after it was made."""

import gc
import pickle
from copy import copy, deepcopy
from pathlib import Path
from typing import Any

import pytest
import spacy
from spacy.language import Language

from spacy_spanner.evaluation.predicting import find_source

from ..helpers import NESTED, make_examples, scored_spans, small_model, train
from .test_ensemble import SURE, TEXT, joined, pipeline


def two_keys_changed() -> Language:
    """The pipeline, after both members were told to write to other groups."""
    nlp = pipeline()
    for name in ("one", "two"):
        nlp.get_pipe(name).cfg["spans_key"] = f"{name}_new"  # type: ignore
    return nlp


def test_keys_of_members_may_change() -> None:
    nlp, expected = two_keys_changed(), scored_spans(pipeline()(TEXT))
    assert scored_spans(nlp(TEXT)) == expected
    assert find_source(nlp).name == "span_ensemble"
    again = two_keys_changed().from_bytes(nlp.to_bytes())
    for copied in (again, deepcopy(nlp), pickle.loads(pickle.dumps(nlp))):
        assert scored_spans(copied(TEXT)) == expected


def test_keys_that_were_changed_are_stored(tmp_path: Path) -> None:
    names = ["span_biaffine", "span_offset"]
    nlp = spacy.blank("en")
    for name in names:
        settings = {"spans_key": name, "threshold": 0.0, "overlap": "any"}
        own = {"model": small_model(name), **settings}
        nlp.add_pipe(name, config=own)
    joined(nlp, *names, threshold=0.0)
    nlp.get_pipe(names[0]).cfg["spans_key"] = "other"  # type: ignore[attr-defined]
    examples = make_examples(nlp, NESTED)
    for eg in examples:
        for key in ("other", names[1]):
            eg.reference.spans[key] = eg.reference.spans["ents"].copy()
    train(nlp, examples, updates=1)
    nlp.to_disk(tmp_path / "model")
    doc = spacy.load(tmp_path / "model")(NESTED[0][0])
    assert doc.spans["other"] and doc.spans[names[1]] and doc.spans["ents"]


def test_members_may_be_added_later() -> None:
    nlp = pipeline(threshold=0.2)
    config = {"spans_key": "k", "rows": [[5, 6, "PER", 0.9]]}
    nlp.add_pipe("scored_writer", name="three", config=config, before="span_ensemble")
    ensemble: Any = nlp.get_pipe("span_ensemble")
    ensemble.cfg["members"] = ["one", "two", "three"]
    assert ensemble.member_keys == ["one", "two", "k"]
    assert (5, 6, "PER", pytest.approx(0.3)) in scored_spans(nlp(TEXT))
    assert find_source(nlp).name == "span_ensemble"


def test_member_that_was_changed_to_the_group_of_the_ensemble_is_refused() -> None:
    nlp = pipeline()
    nlp.get_pipe("two").cfg["spans_key"] = "ents"  # type: ignore[attr-defined]
    with pytest.raises(ValueError, match=r"SP174.*'two'"):
        nlp(TEXT)
    with pytest.raises(ValueError, match=r"SP174.*'two'"):
        nlp.initialize(lambda: [])


def test_other_processes_read_keys_that_were_changed() -> None:
    nlp = two_keys_changed()
    docs = list(nlp.pipe([TEXT] * 4, n_process=2, batch_size=2))
    assert all(scored_spans(doc) == scored_spans(nlp(TEXT)) for doc in docs)


def test_ensemble_without_its_pipeline_knows_the_last_keys() -> None:
    nlp = two_keys_changed()
    doc = nlp(TEXT)
    ensemble: Any = nlp.get_pipe("span_ensemble")
    apart = pickle.dumps(ensemble)
    assert len(apart) < 3000  # no pipeline
    del nlp
    gc.collect()
    for one in (ensemble, pickle.loads(apart), deepcopy(ensemble), copy(ensemble)):
        again = doc.copy()
        del again.spans["ents"]
        assert scored_spans(one(again)) == scored_spans(doc)


def test_ensemble_in_another_pipeline_reads_its_members() -> None:
    first, second = pipeline(), spacy.blank("en")
    for name in first.pipe_names:
        second.add_pipe(name, source=first)
    config = {"spans_key": "k", "rows": SURE}
    second.replace_pipe("one", "scored_writer", config=config)
    second.initialize(lambda: [])
    assert scored_spans(second(TEXT)) == scored_spans(pipeline()(TEXT))

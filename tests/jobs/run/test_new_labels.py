"""Runs that continue the training of a component with new labels."""

from pathlib import Path
from typing import Any

import pytest
import spacy
from spacy.tokens import DocBin, Span
from thinc.api import Config

from ...runs import (
    NAME,
    assert_same_weights,
    callbacks,
    make_config,
    resume,
    run,
    settings,
    stored_in,
)


@pytest.fixture(scope="module")
def earlier(corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A trained pipeline whose component was given another label and lost one."""
    folder = tmp_path_factory.mktemp("earlier")
    first = run(make_config(corpus, settings(max_steps=3)), folder / "first")
    nlp = spacy.load(first.last)
    pipe: Any = nlp.get_pipe(NAME)
    pipe.add_label("NEW")
    pipe.remove_label("GPE")
    nlp.to_disk(folder / "changed")
    return folder / "changed"


@pytest.fixture(scope="module")
def relabelled(corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The corpus with the new label in place of the removed one."""
    docs = list(DocBin().from_disk(corpus).get_docs(spacy.blank("xx").vocab))
    for doc in docs:
        spans = list(doc.spans["ents"])
        names = ["NEW" if s.label_ == "GPE" else s.label_ for s in spans]
        places = [(s.start, s.end, name) for s, name in zip(spans, names)]
        doc.spans["ents"] = [Span(doc, *place) for place in places]
    path = tmp_path_factory.mktemp("relabelled") / "corpus.spacy"
    DocBin(docs=docs).to_disk(path)
    return path


def sourced(earlier: Path, corpus: Path, *texts: str) -> Config:
    """RETURNS (Config): a run that goes on with the component."""
    config = make_config(corpus, *texts)
    config["components"][NAME] = {"source": str(earlier)}
    return config


def test_a_resumed_run_equals_the_whole(
    earlier: Path, relabelled: Path, tmp_path: Path
) -> None:
    whole = run(sourced(earlier, relabelled), tmp_path / "whole")
    stored = callbacks(stored_in(tmp_path / "run"))
    run(sourced(earlier, relabelled, stored), tmp_path / "out", stop_at=8)
    resumed = resume(tmp_path / "run", tmp_path / "out")
    assert resumed.rows == whole.rows[-len(resumed.rows) :]
    assert_same_weights(resumed.last, whole.last)
    nlp = spacy.load(resumed.last)
    pipe: Any = nlp.get_pipe(NAME)
    assert pipe.labels == ("LOC", "ORG", "PER", "NEW")
    assert list(pipe.head_label_ids) == ["LOC", "ORG", "PER", "NEW"]
    per_type = whole.rows[-1]["other_scores"]["spans_ents_per_type"]
    assert per_type["NEW"]["f"] > 0

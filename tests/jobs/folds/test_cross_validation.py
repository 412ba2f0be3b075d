"""Every document is held out once, by a pipeline that is trained once."""

from collections import Counter
from pathlib import Path
from typing import Any, List, Sequence

import pytest
import spacy
from hypothesis import given
from hypothesis import strategies as st
from spacy.tokens import Doc, DocBin

from spacy_spanner.jobs.folds import cross_validation
from spacy_spanner.jobs.folds.cross_validation import (
    CrossValidation,
    Folds,
    predict_held_out,
    run_at_once,
    train_folds,
    write_folds,
)
from spacy_spanner.jobs.search.one_trial import AfterEach, run_here
from spacy_spanner.jobs.search.trials import Trial

from ...runs import make_config, write_corpus
from ..search.helpers import SHORT, Fake

N_FOLDS = 2


@given(st.integers(2, 9), st.integers(0, 60), st.integers(0, 3))
def test_folds_are_of_equal_size_and_seeded(number: int, more: int, seed: int) -> None:
    folds = Folds(number, seed)
    found = folds.of(number + more)
    sizes = Counter(found)
    assert sorted(sizes) == list(range(number))
    assert max(sizes.values()) - min(sizes.values()) <= 1
    assert folds.of(number + more) == found


def test_other_seed_other_folds() -> None:
    assert Folds(3, 0).of(30) != Folds(3, 1).of(30)


def test_one_document_cannot_be_divided() -> None:
    with pytest.raises(ValueError, match=r"SP180.*1 annotated documents.*5 folds"):
        Folds().of(1)


def docs_of(path: Path) -> List[Doc]:
    return list(DocBin().from_disk(path).get_docs(spacy.blank("xx").vocab))


@pytest.fixture
def setup(tmp_path: Path) -> CrossValidation:
    corpus = write_corpus(tmp_path / "corpus.spacy")
    make_config(corpus, SHORT).to_disk(tmp_path / "config.cfg")
    return CrossValidation(tmp_path / "config.cfg", {}, tmp_path / "out")


@pytest.fixture
def docs(setup: CrossValidation) -> List[Doc]:
    return docs_of(setup.config.parent / "corpus.spacy")


@pytest.fixture
def fold_of(docs: Sequence[Doc]) -> List[int]:
    return Folds(N_FOLDS).of(len(docs))


def test_each_document_is_in_one_held_out_file_and_all_other_training_files(
    docs: List[Doc], fold_of: List[int], tmp_path: Path
) -> None:
    write_folds(docs, fold_of, tmp_path / "folds")
    for fold in range(N_FOLDS):
        folder = tmp_path / "folds" / str(fold)
        held_out = [doc.text for doc in docs_of(folder / "held_out.spacy")]
        train = [doc.text for doc in docs_of(folder / "train.spacy")]
        assert held_out == [d.text for d, f in zip(docs, fold_of) if f == fold]
        assert train == [d.text for d, f in zip(docs, fold_of) if f != fold]


class Engine:
    """Stands for the processes; a test decides which trainings succeed."""

    def __init__(self, fake: Fake) -> None:
        self.fake = fake

    def __call__(self, trials: Sequence[Trial], after_each: AfterEach) -> None:
        self.fake(trials, after_each)


def use(monkeypatch: pytest.MonkeyPatch, *scores: Any) -> Fake:
    left = list(scores)
    fake = Fake(lambda overrides: left.pop(0) if left else 0.5)
    monkeypatch.setattr(cross_validation, "run_in_sequence", Engine(fake))
    return fake


def test_failed_folds_are_named_and_trained_again(
    setup: CrossValidation,
    docs: List[Doc],
    fold_of: List[int],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    first, told = use(monkeypatch, 0.5, None), []
    with pytest.raises(ValueError, match=r"SP181.*fold 2 of 2.*log\.txt"):
        train_folds(docs, fold_of, setup, tell=told.append)
    assert told[1:] == ["fold 1 of 2: trained", "fold 2 of 2: failed"]
    second = use(monkeypatch)
    models = train_folds(docs, fold_of, setup)
    assert first.seen == ["fold 1 of 2", "fold 2 of 2"]
    assert second.seen == ["fold 2 of 2"]
    assert [model.exists() for model in models] == [True, True]


def test_changed_data_are_trained_again(
    setup: CrossValidation,
    docs: List[Doc],
    fold_of: List[int],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    use(monkeypatch)
    train_folds(docs, fold_of, setup)
    again = use(monkeypatch)
    train_folds(docs, fold_of, setup)
    assert again.seen == []
    docs[0].spans["ents"] = []
    train_folds(docs, fold_of, setup)
    assert len(again.seen) == N_FOLDS


def test_processes_run_every_trial_once(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: List[int] = []

    def engine(trials: Any, after_each: Any) -> None:
        (one,) = trials
        after_each(one)

    monkeypatch.setattr(cross_validation, "run_in_sequence", engine)
    trials: Any = list(range(20))
    run_at_once(trials, seen.append, 4)  # type: ignore[arg-type]
    assert sorted(seen) == trials


def test_held_out_documents_are_read_in_their_order(
    setup: CrossValidation,
    docs: List[Doc],
    fold_of: List[int],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(cross_validation, "run_in_sequence", run_here)
    models = train_folds(docs, fold_of, setup)
    readings = predict_held_out(fold_of, models, "ents", setup.output)
    expected = [{(s.start, s.end, s.label_) for s in doc.spans["ents"]} for doc in docs]
    assert [reading.gold for reading in readings] == expected
    scores = [score for r in readings for score in r.predicted.values()]
    assert min(scores) < 0.05 < max(scores)
    # Everything overlaps something, and nothing is left out for it.
    assert all(len(reading.predicted) > 3 for reading in readings)

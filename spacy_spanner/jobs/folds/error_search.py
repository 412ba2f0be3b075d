"""Find errors in annotation by cross-validation, or with a pipeline that exists."""

import warnings
from pathlib import Path
from typing import Any, Callable, List, NamedTuple, Optional, Sequence

from spacy.language import Language
from spacy.training import Corpus, Example
from spacy.util import load_config, load_model_from_config

from ...corpus.conversion import read_plain_docs
from ...corpus.corrections import Corrected, correct, read_reviewed
from ...corpus.records import Note
from ...corpus.spacy_files import SpacyWriter
from ...corpus.tasks import write_tasks
from ...errors import Warnings
from ...evaluation.counts import Reading
from ...evaluation.predicting import Track, find_source, read_corpus, untracked
from ...evaluation.thresholds import best_threshold, f_objective
from ...files import staged_folder, write_text
from ...review.candidates import find_scored_source, read_candidates
from ...review.reports import Reviewed, as_rows, review_tasks, write_csv, write_jsonl
from ...review.suspicion_page import render_page
from ...review.suspicions import rank_suspicions
from .cross_validation import CrossValidation, Folds, predict_held_out, train_folds

REVIEW = "review"
# Predictions with a lower F1 hardly tell errors from annotation.
LOWEST_F = 0.1
TRAIN_LONGER = (
    "Train longer: raise training.max_steps, training.max_epochs and training.patience "
    "of the config, and use another --output, because finished folds are not trained "
    "again."
)
OTHER_MODEL = "Use a model with the labels of the data that is trained longer."


class Found(NamedTuple):
    """The result of a search.

    data (Path): the documents.
    key (str): the span group.
    reviewed (Reviewed): documents, and their ranked suspicions.
    """

    data: Path
    key: str
    reviewed: Reviewed


def search_by_folds(
    data: Path,
    setup: CrossValidation,
    folds: Folds,
    *,
    key: Optional[str] = None,
    tell: Callable[[str], Any] = str,
    track: Track = untracked,
) -> Found:
    """Rank suspicions by cross-validated predictions.

    data (Path): annotated documents.
    setup (CrossValidation): how to train; finished trainings are not repeated.
    key (Optional[str]): the span group; see `find_source`.
    RETURNS (Found): the suspicions.
    RAISES (ValueError): SP180 for too few documents, SP181 for failed trainings, SP185
        for a component without scores; see `read_corpus`.
    """
    config = load_config(setup.config, overrides=setup.overrides, interpolate=True)
    nlp = load_model_from_config(config, auto_fill=True)
    key = find_scored_source(nlp, key).key
    examples = _read(data, nlp, key)
    docs = [example.reference for example in examples]
    fold_of = folds.of(len(docs))
    models = train_folds(docs, fold_of, setup, tell=tell)
    readings = predict_held_out(fold_of, models, key, setup.output, track=track)
    warn_of_chance(readings, TRAIN_LONGER)
    return _ranked(data, key, examples, readings, folds.seed)


def search_by_model(
    data: Path,
    nlp: Language,
    *,
    key: Optional[str] = None,
    seed: int = 0,
    track: Track = untracked,
) -> Found:
    """Rank suspicions by the predictions of a pipeline that was trained on other data;
    see `search_by_folds`.
    """
    key = find_source(nlp, key).key
    examples = _read(data, nlp, key)
    readings = read_candidates(nlp, examples, key, track=track)
    warn_of_chance(readings, OTHER_MODEL)
    return _ranked(data, key, examples, readings, seed)


def warn_of_chance(readings: Sequence[Reading], advice: str) -> None:
    """Warn (SW181) of predictions that know too little to judge the annotation by."""
    best = best_threshold(readings, f_objective())
    if best.f < LOWEST_F:
        message = Warnings.SW181.format(f=f"{best.f:.2f}", advice=advice)
        warnings.warn(message, stacklevel=3)


def _read(data: Path, nlp: Language, key: str) -> List[Example]:
    """RETURNS (List[Example]): the annotated documents; warns if there are others."""
    examples = read_corpus(data, nlp, key)
    total = sum(1 for _ in Corpus(data)(nlp))
    if len(examples) < total:
        left_out = total - len(examples)
        message = Warnings.SW180.format(docs=left_out, total=total, key=key)
        warnings.warn(message, stacklevel=3)
    return examples


def _ranked(
    data: Path,
    key: str,
    examples: Sequence[Example],
    readings: Sequence[Reading],
    seed: int,
) -> Found:
    docs = [example.reference for example in examples]
    words = [[token.text for token in doc] for doc in docs]
    return Found(data, key, Reviewed(docs, rank_suspicions(words, readings, seed=seed)))


def write_found(
    found: Found, output: Path, *, tools: Sequence[str], limit: int
) -> None:
    """Write all suspicions, and the page and the review tasks of the first ones.

    output (Path): folder; files with other names stay.
    tools (Sequence[str]): keys of `corpus.tasks.TOOLS`.
    limit (int): number of suspicions on the page and in the tasks.
    """
    rows = list(as_rows(found.reviewed))
    with staged_folder(output) as folder:
        write_jsonl(folder / "suspicions.jsonl", rows)
        write_csv(folder / "suspicions.csv", rows)
        page = render_page(found.reviewed, found.data.name, limit=limit)
        write_text(folder / "suspicions.html", page)
        for tool in tools:
            tasks = review_tasks(found.reviewed, found.key, limit=limit)
            write_tasks(tasks, folder / REVIEW, tool, found.key)


def apply_review(
    data: Path,
    reviewed: Path,
    target: Path,
    *,
    key: str,
    format: Optional[str] = None,
    align: str = "strict",
    note: Note,
) -> Corrected:
    """Write a copy of the data with the spans of reviewed documents.

    data (Path): the documents that the review is about: a `.spacy` file, or a folder.
    reviewed (Path): file or folder of an annotation tool.
    target (Path): the `.spacy` file to write, or a folder.
    key, align: see `corpus.corrections.correct`.
    format (Optional[str]): format of the reviewed file; None to detect it.
    note (Note): called with messages about what was detected.
    RETURNS (Corrected): the numbers of changes.
    RAISES (ValueError): SP182, SP183 or SP184 if the review does not fit; see
        `read_plain_docs` for the data. Then nothing is written.
    """
    docs = list(read_plain_docs(data))
    changes = correct(
        docs, read_reviewed(reviewed, format=format, note=note), key, align=align
    )
    writer = SpacyWriter(target, lean=False)
    try:
        for doc in docs:
            writer.add(doc)
        writer.close()
    finally:
        writer.discard()
    return changes

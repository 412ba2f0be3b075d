"""Held-out predictions of a corpus: candidates of spans, and a tagger's classes."""

import time
from pathlib import Path
from typing import Any, Dict, List, Sequence, Tuple

import numpy as np
from common import SPANS_KEY, build_pipeline, to_examples, train_from_start
from error_rankings import Floats, class_names, outermost
from measuring import write_json
from scipy.special import softmax
from spacy.tokens import Doc
from spacy.training import Example

from spacy_spanner.evaluation.counts import Reading
from spacy_spanner.files import read_json
from spacy_spanner.jobs.folds.cross_validation import Folds
from spacy_spanner.review.candidates import read_candidates

OUTSIDE = "O"


def cross_validate(
    docs: Sequence[Doc], *, encoder: str, folds: Folds, epochs: int, store: Path
) -> Tuple[List[Reading], List[Floats]]:
    """Train and predict each fold, and store the predictions.

    RETURNS (Tuple[List[Reading], List[Floats]]): annotation and held-out candidates of
        all documents, and the probabilities of a tagger.
    """
    fold_of = folds.of(len(docs))
    budget: Any = {"encoder": encoder, "epochs": epochs, "seed": folds.seed}
    found: Dict[int, Tuple[Reading, Floats]] = {}
    for fold in range(folds.number):
        path = store / f"fold-{fold}.json"
        held_out = [place for place, number in enumerate(fold_of) if number == fold]
        if not path.exists():
            known = [d for d, number in zip(docs, fold_of) if number != fold]
            start = time.process_time()
            rows = predict_fold(known, [docs[n] for n in held_out], budget)
            write_json(path, rows, seconds=time.process_time() - start)
        for place, row in zip(held_out, read_json(path)["results"]):
            scores = {(start, end, label): s for start, end, label, s in row["spans"]}
            reading = reading_of(docs[place])._replace(predicted=scores)
            found[place] = (reading, np.asarray(row["tags"]))
    readings, taggings = zip(*(found[place] for place in range(len(docs))))
    return list(readings), list(taggings)


def predict_fold(
    known: Sequence[Doc], held_out: Sequence[Doc], budget: Dict[str, Any]
) -> List[Dict[str, Any]]:
    """RETURNS (List[Dict[str, Any]]): for each document, the candidates of a span model
    and the probabilities of a tagger, both trained on known documents.
    """
    nlp = build_pipeline("span_biaffine", budget["encoder"])
    train_from_start(nlp, to_examples(known), **budget)
    readings = read_candidates(nlp, to_examples(held_out))
    labels = class_names([*map(reading_of, known), *map(reading_of, held_out)])
    tagger = build_pipeline("tagger", budget["encoder"])
    train_from_start(tagger, tagged(known), **budget)
    pipe: Any = tagger.get_pipe("tagger")
    # Columns of classes that the folds do not have stay empty.
    columns = [labels.index("" if tag == OUTSIDE else tag) for tag in pipe.labels]
    found = []
    for reading, eg in zip(readings, to_examples(held_out)):
        rows = np.full((len(eg.predicted), len(labels)), 1e-6)
        # The model leaves its outputs unnormalized.
        rows[:, columns] = softmax(pipe.model.predict([eg.predicted])[0], axis=1)
        tags = (rows / rows.sum(axis=1, keepdims=True)).round(6).tolist()
        spans = [(*span, score) for span, score in reading.predicted.items()]
        found.append({"spans": spans, "tags": tags})
    return found


def reading_of(doc: Doc) -> Reading:
    """RETURNS (Reading): the annotation of a document."""
    return Reading({(s.start, s.end, s.label_) for s in doc.spans[SPANS_KEY]}, {}, [])


def tagged(docs: Sequence[Doc]) -> List[Example]:
    """RETURNS (List[Example]): documents with the class of each token as its tag."""
    references = []
    for doc in docs:
        spans = outermost(list(reading_of(doc).gold), len(doc))
        tags = [span[2] if span else OUTSIDE for span in spans]
        words = [token.text for token in doc]
        references.append(Doc(doc.vocab, words=words, tags=tags))
    return to_examples(references)

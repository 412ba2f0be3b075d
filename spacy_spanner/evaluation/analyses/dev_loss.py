"""The loss of a component on documents, without updating it."""

from typing import Any, Dict, List, Sequence

import numpy as np
from spacy.language import Language
from spacy.training import Example
from spacy.util import minibatch

from ...errors import Errors
from ...pipeline.annotations import annotated_spans
from ...pipeline.component import SpanRecognizer

BATCH_DOCS = 64
# Losses with and without smoothing are comparable only on hard targets.
HARD: Dict[str, Any] = {"boundary_smoothing": 0.0, "label_smoothing": 0.0}


def find_component(nlp: Language, name: str = "") -> str:
    """Find the component of this package to analyse.

    name (str): its name; required if there are several.
    RETURNS (str): the name.
    RAISES (ValueError): SP079 if there is none, or several and no name.
    """
    names = [one for one, pipe in nlp.pipeline if isinstance(pipe, SpanRecognizer)]
    if name in names or (not name and len(names) == 1):
        return name or names[0]
    present = ", ".join(names) or "none"
    raise ValueError(Errors.SP079.format(name=name, present=present))


def prepare_examples(
    nlp: Language, name: str, examples: Sequence[Example]
) -> List[Example]:
    """Run the preceding components of the pipeline on copies of the documents.

    nlp (Language): the pipeline.
    name (str): the component.
    examples (Sequence[Example]): examples.
    RETURNS (List[Example]): the annotated examples, as the component gets them.
    """
    key = nlp.get_pipe(name).cfg["spans_key"]  # type: ignore[attr-defined]
    kept = [eg for eg in examples if annotated_spans(eg.reference, key) is not None]
    before = nlp.pipe_names[: nlp.pipe_names.index(name)]
    with nlp.select_pipes(enable=before):
        docs = list(nlp.pipe(eg.predicted.copy() for eg in kept))
    return [Example(doc, eg.reference) for doc, eg in zip(docs, kept)]


def mean_loss(pipe: Any, examples: Sequence[Example]) -> float:
    """Compute the loss on hard targets, with the same random numbers each time.

    pipe (SpanRecognizer): the component.
    examples (Sequence[Example]): see `prepare_examples`.
    RETURNS (float): mean over batches, weighted by their number of documents; within a
        batch, the mean over windows. 0 without documents.
    """
    cfg, rng = dict(pipe.cfg), pipe.rng
    pipe.cfg.update({name: value for name, value in HARD.items() if name in cfg})
    pipe.rng = np.random.default_rng(0)
    total = 0.0
    try:
        for batch in minibatch(examples, BATCH_DOCS):
            total += pipe.get_loss(batch)[0] * len(batch)
    finally:
        pipe.cfg.update(cfg)
        pipe.rng = rng
    return total / len(examples) if examples else 0.0

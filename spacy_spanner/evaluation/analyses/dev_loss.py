"""The loss of a component on given documents, without learning."""

from typing import Any, Dict, List, Sequence

import numpy as np
from spacy.language import Language
from spacy.training import Example
from spacy.util import minibatch

from ...errors import Errors
from ...pipeline.annotations import annotated_spans
from ...pipeline.component import SpanRecognizer

DOCS_AT_ONCE = 64
# Losses of models with and without smoothing can only be compared on hard targets.
HARD: Dict[str, Any] = {"boundary_smoothing": 0.0, "label_smoothing": 0.0}


def find_component(nlp: Language, name: str = "") -> str:
    """Find the component of this package that is to be analysed.

    name (str): its name, needed where there are several.
    RETURNS (str): the name.
    RAISES (ValueError): SP079 where it cannot be told.
    """
    names = [one for one, pipe in nlp.pipeline if isinstance(pipe, SpanRecognizer)]
    if name in names or (not name and len(names) == 1):
        return name or names[0]
    present = ", ".join(names) or "none"
    raise ValueError(Errors.SP079.format(name=name, present=present))


def prepare_examples(
    nlp: Language, name: str, examples: Sequence[Example]
) -> List[Example]:
    """Let the components in front of one work on fresh documents.

    nlp (Language): the pipeline.
    name (str): the component.
    examples (Sequence[Example]): annotated examples.
    RETURNS (List[Example]): the annotated ones, as the component sees them.
    """
    key = nlp.get_pipe(name).cfg["spans_key"]  # type: ignore[attr-defined]
    kept = [eg for eg in examples if annotated_spans(eg.reference, key) is not None]
    before = nlp.pipe_names[: nlp.pipe_names.index(name)]
    with nlp.select_pipes(enable=before):
        docs = list(nlp.pipe(eg.predicted.copy() for eg in kept))
    return [Example(doc, eg.reference) for doc, eg in zip(docs, kept)]


def mean_loss(pipe: Any, examples: Sequence[Example]) -> float:
    """Measure the loss on hard targets, with the same draws each time.

    pipe (SpanRecognizer): the component.
    examples (Sequence[Example]): see `prepare_examples`.
    RETURNS (float): mean over groups of documents, weighted by their number; within a
        group, it is the mean over windows. 0 without documents.
    """
    cfg, rng = dict(pipe.cfg), pipe.rng
    pipe.cfg.update({name: value for name, value in HARD.items() if name in cfg})
    pipe.rng = np.random.default_rng(0)
    total = 0.0
    try:
        for batch in minibatch(examples, DOCS_AT_ONCE):
            total += pipe.get_loss(batch)[0] * len(batch)
    finally:
        pipe.cfg.update(cfg)
        pipe.rng = rng
    return total / len(examples) if examples else 0.0

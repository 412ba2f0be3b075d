"""Run a pipeline on a corpus, optionally with a lower threshold."""

import random
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Callable, Dict, Iterable, Iterator, List, NamedTuple, Optional

import numpy as np
from spacy.language import Language
from spacy.training import Corpus, Example

from ..encoders.surroundings import copy_neighbours
from ..errors import Errors
from ..pipeline.component import SpanRecognizer
from ..pipeline.ensemble import SpanEnsemble
from ..pipeline.shared_keys import group_written_by
from ..pipeline.state import threshold_of
from ..settings import DEFAULT_SPANS_KEY
from .counts import Reading
from .scorer import annotated_examples, read_example
from .thresholds import CURVE_FLOOR

Track = Callable[..., Iterable[Any]]


def untracked(items: Iterable[Any], **_: Any) -> Iterable[Any]:
    """RETURNS (Iterable[Any]): the items, without reporting progress."""
    return items


class SpanSource(NamedTuple):
    """The span group to evaluate, and the component that writes it.

    key (str): key of the group in `doc.spans`.
    name (Optional[str]): name of the component, if known.
    pipe (Any): the component, or None.
    """

    key: str
    name: Optional[str] = None
    pipe: Any = None

    @property
    def threshold(self) -> Optional[float]:
        """The threshold of the component; None if it has none."""
        return threshold_of(self.pipe)


def find_source(nlp: Language, key: Optional[str] = None) -> SpanSource:
    """Find the component to evaluate: one of this package, spancat, or any other with a
    `spans_key`.

    nlp (Language): the pipeline.
    key (Optional[str]): the group; required if components write several groups.
    RETURNS (SpanSource): the group, and the last component that writes it.
    RAISES (ValueError): SP071 if the group is ambiguous or there is none.
    """
    sources = [
        SpanSource(written, name, pipe)
        for name, pipe in nlp.pipeline
        for written in [group_written_by(pipe)]
        if written is not None
    ]
    # What is joined is not the result of the pipeline.
    joined = {
        member
        for source in sources
        if isinstance(source.pipe, SpanEnsemble)
        for member in source.pipe.member_keys
    }
    if key is not None:
        return ([s for s in sources if s.key == key] or [SpanSource(key)])[-1]
    sources = [source for source in sources if source.key not in joined]
    keys = sorted({source.key for source in sources})
    if len(keys) != 1:
        pipeline = ", ".join(nlp.pipe_names) or "no component"
        existing = ", ".join(map(repr, keys)) or "none"
        raise ValueError(Errors.SP071.format(pipeline=pipeline, keys=existing))
    return sources[-1]


def labels_of(nlp: Language, source: SpanSource) -> List[str]:
    """RETURNS (List[str]): the labels that a span group can have, those of its members
    for an ensemble; none if its components do not say.
    """
    pipes = [source.pipe]
    if isinstance(source.pipe, SpanEnsemble):
        keys = source.pipe.member_keys
        pipes = [pipe for _, pipe in nlp.pipeline if group_written_by(pipe) in keys]
    return sorted({label for pipe in pipes for label in getattr(pipe, "labels", ())})


def span_components(nlp: Language) -> Dict[str, Any]:
    """RETURNS (Dict[str, SpanRecognizer]): components of this package by name."""
    return {
        name: pipe for name, pipe in nlp.pipeline if isinstance(pipe, SpanRecognizer)
    }


def read_corpus(
    path: Path, nlp: Language, key: str = DEFAULT_SPANS_KEY
) -> List[Example]:
    """RETURNS (List[Example]): the annotated documents of a `.spacy` file or a folder,
    with the neighbours that were stored with sentences.

    nlp (Language): the pipeline, which creates the documents to predict.
    key (str): the span group with the gold spans.
    RAISES (ValueError): SP072 for an unreadable file, SP073 without annotation.
    """
    if not path.exists():
        raise ValueError(Errors.SP072.format(path=path, problem="does not exist"))
    try:
        examples = list(Corpus(path)(nlp))
    except Exception as error:  # zlib, msgpack, E167: none of them helps a user
        problem = f"is not in spaCy's binary format ({type(error).__name__})"
        raise ValueError(Errors.SP072.format(path=path, problem=problem)) from error
    if not examples:
        raise ValueError(Errors.SP072.format(path=path, problem="has no documents"))
    for example in examples:
        copy_neighbours(example.reference, example.predicted)
    annotated = annotated_examples(examples, key)
    if not annotated:
        groups = sorted({name for eg in examples for name in eg.reference.spans})
        existing = ", ".join(map(repr, groups)) or "none"
        raise ValueError(Errors.SP073.format(path=path, key=key, existing=existing))
    return annotated


def predict(
    nlp: Language, examples: Iterable[Example], *, track: Track = untracked
) -> List[Example]:
    """RETURNS (List[Example]): the same references with predicted documents, which are
    copies.

    track (Track): reports the progress.
    """
    examples = list(examples)
    docs = nlp.pipe(eg.predicted.copy() for eg in examples)
    tracked = track(docs, total=len(examples), what="Predicting")
    return [Example(doc, eg.reference) for doc, eg in zip(tracked, examples)]


def read_predictions(
    nlp: Language,
    examples: Iterable[Example],
    key: str,
    *,
    track: Track = untracked,
) -> List[Reading]:
    """RETURNS (List[Reading]): gold and predicted spans of each example."""
    return [read_example(eg, key) for eg in predict(nlp, examples, track=track)]


@contextmanager
def unchanged_random_numbers() -> Iterator[None]:
    """Restore the states of Python's and NumPy's generators, which shuffle the data
    that training reads next.
    """
    of_python, of_numpy = random.getstate(), np.random.get_state()
    try:
        yield
    finally:
        random.setstate(of_python)
        np.random.set_state(of_numpy)


@contextmanager
def keeping_members(nlp: Language) -> Iterator[None]:
    """Temporarily keep the groups that ensembles remove after they have read them.

    nlp (Language): the pipeline with the ensembles.
    """
    pipes = [pipe for _, pipe in nlp.components if isinstance(pipe, SpanEnsemble)]
    saved = [(pipe.cfg, pipe.cfg["keep_members"]) for pipe in pipes]
    for cfg, _ in saved:
        cfg["keep_members"] = True
    try:
        yield
    finally:
        for cfg, kept in saved:
            cfg["keep_members"] = kept


@contextmanager
def lowered_threshold(
    source: SpanSource, threshold: float, *, keep_all: bool = False
) -> Iterator[None]:
    """Temporarily lower the threshold of a component.

    keep_all (bool): also keep spans that conflict with spans of higher scores.
    """
    saved = dict(source.pipe.cfg)
    lower_threshold(source, threshold, keep_all=keep_all)
    try:
        yield
    finally:
        source.pipe.cfg.update(saved)


def lower_threshold(
    source: SpanSource, threshold: float, *, keep_all: bool = False
) -> None:
    """Lower the threshold of a component for good; see `lowered_threshold`."""
    settings = source.pipe.cfg
    settings["threshold"] = threshold
    if keep_all and "overlap" in settings:
        settings["overlap"] = "any"
    if keep_all and "decision" in settings:
        settings["decision"] = "threshold"  # argmax would leave out unlikely spans
    if "label_thresholds" in settings:
        settings["label_thresholds"] = {}


def read_unfiltered(
    nlp: Language,
    examples: Iterable[Example],
    source: SpanSource,
    *,
    threshold: float = CURVE_FLOOR,
    keep_all: bool = False,
    track: Track = untracked,
) -> List[Reading]:
    """RETURNS (List[Reading]): gold spans, and predicted ones with a low threshold; see
    `lowered_threshold`.
    """
    with lowered_threshold(source, threshold, keep_all=keep_all):
        return read_predictions(nlp, examples, source.key, track=track)

"""The spaCy component of all span models: `SpanRecognizer`."""

from copy import deepcopy
from functools import partial
from typing import Any, Callable, Dict, Iterable, List, Optional, Sequence, Tuple, Type

import numpy as np
from spacy.errors import Errors as SpacyErrors
from spacy.language import Language
from spacy.tokens import Doc
from spacy.training import Example
from spacy.vocab import Vocab
from thinc.api import Model, Optimizer

from ..layers.head_work import HeadGold, HeadWork
from ..layers.span_model import SpanInput, measure_loss
from ..models.codec import SpanCodec
from ..settings import SpanSettings
from ..spans.table import SpanTable
from . import initialization, rehearsal, state, steps
from .annotations import write_prediction
from .gold import GoldReader, read_batch
from .label_changes import (
    change_labels,
    thresholds_of_head,
    with_label_ids,
    without,
)
from .prediction import Doubt, Predictions, Thresholds, predict_all, read_thresholds
from .rehearsal import Teacher
from .stored_pipe import StoredPipe
from .system import FreedMemory, memory_explained, one_thread_after_fork
from .weights_lock import WeightsLock, changes_weights, reads_weights

one_thread_after_fork()


class SpanRecognizer(StoredPipe):
    """Recognize flat, nested and overlapping entities with one of the span models.

    The component is composed of a Thinc model (encoder and torch head) and a codec, the
    mathematics of the model. All settings live in `cfg`, are saved with the component,
    and may be changed at any time: a prediction reads them once, when it begins.

    total_of (Callable): adds up a count over all processes that learn from shares of a
        batch; training with several processes sets it.

    >>> pipe = spacy.load("model").get_pipe("span_offset")
    >>> isinstance(pipe, SpanRecognizer), pipe.labels
    (True, ('GPE', 'ORG', 'PER'))
    """

    total_of: Callable[[int], int] = int

    def __init__(
        self,
        vocab: Vocab,
        model: Model[SpanInput, SpanTable],
        name: str,
        *,
        codec_type: Type[Any],
        scorer: Optional[Callable] = None,
        defaults: Optional[Dict[str, Any]] = None,
        **settings: Any,
    ) -> None:
        """Compose a component.

        vocab (Vocab): the shared vocabulary.
        model (Model): see `layers.span_model.build_span_model`.
        name (str): name of the component in the pipeline.
        codec_type (Type[SpanCodec]): the codec's class; its fields are settings.
        scorer (Optional[Callable]): scoring function.
        defaults (Optional[Dict[str, Any]]): the defaults of the factory.
        **settings: see `SpanSettings` and the codec.
        RAISES (ValueError): SP002 for a setting out of its limits.
        """
        self.vocab = vocab
        self.model = model
        self.name = name
        self.scorer = scorer
        self.cfg: Dict[str, Any] = {"labels": [], **settings}
        self.made_with, self.defaults = deepcopy(settings), defaults or {}
        constant = self.defaults.get("threshold", SpanSettings.threshold)
        self._reader = state.SettingsReader(codec_type, constant)
        self._head.name = name  # for messages
        self.rng = np.random.default_rng(self.settings.seed)  # checks the settings
        self.gold_reader = GoldReader(name)
        self.freed, self.doubt = FreedMemory(), Doubt(name)
        self.weights_lock = WeightsLock()
        self.teacher: Optional[Teacher] = None

    # ---------------------------------------------------- settings and labels

    @property
    def settings(self) -> SpanSettings:
        """The settings that all span components share, with their values in `cfg`; the
        threshold is a number, also if it is "auto" there.
        """
        return self._reader.read(self.cfg).settings

    @property
    def codec(self) -> SpanCodec:
        """The model's mathematics, with the settings in `cfg`."""
        return self._reader.read(self.cfg).codec

    @property
    def labels(self) -> Tuple[str, ...]:
        """The labels that the component can predict; a label's id is its place."""
        return tuple(self.cfg["labels"])

    @property
    def label_data(self) -> List[str]:
        """What `initialize(labels=...)` needs to make the same labels again."""
        return list(self.labels)

    @property
    def label_ids(self) -> Dict[str, int]:
        """The id of each label."""
        return state.label_ids(self.cfg)

    @property
    def thresholds(self) -> Thresholds:
        """The lowest score of each label to write; SP006 for labels that it lacks."""
        return read_thresholds(self.settings, self.label_ids, self.name)

    @property
    def head_label_ids(self) -> Dict[str, int]:
        """The place of each label in the scores of the model; until training goes on,
        it has none for a new label.
        """
        return state.head_label_ids(self.cfg)

    @changes_weights
    def add_label(self, label: str) -> int:
        """Add a label. A trained component predicts the same as before, and can predict
        the new label after it has learned from further examples.

        label (str): the label.
        RETURNS (int): 0 if the component has it already, otherwise 1.
        """
        if not isinstance(label, str):
            raise ValueError(SpacyErrors.E187)
        if label in self.labels:
            return 0
        change_labels(self.cfg, [*self.labels, label], self._head)
        self.vocab.strings.add(label)
        return 1

    @changes_weights
    def remove_label(self, label: str) -> None:
        """Remove a label. It is not written any more, and the model forgets it when
        training goes on; until then, spans of other labels have the same scores.

        label (str): the label.
        RAISES (ValueError): SP250 if there is no such label, SP251 if it is the last.
        """
        labels = without(self.cfg, label, self.name)
        change_labels(self.cfg, labels, self._head)

    @property
    def _head(self) -> Model:
        return self.model.get_ref("output_layer")

    # ---------------------------------------------------------------- training

    @changes_weights
    def initialize(
        self,
        get_examples: Callable[[], Iterable[Example]],
        *,
        nlp: Optional[Language] = None,
        labels: Optional[Sequence[str]] = None,
    ) -> None:
        """Find the labels, check that there is something to learn, build the model.

        Labels from data are sorted; `add_label` and `labels` keep their order. With
        them, no data are needed, as in `nlp.initialize()`.

        get_examples (Callable): returns the examples; all are read once.
        nlp (Optional[Language]): the pipeline, to check its training config.
        labels (Optional[Sequence[str]]): the labels, if they are known.
        RAISES (ValueError): SP003 without annotation, SP004 without labels, SP005 or
            SP083 if nothing can be scored, SP006 for thresholds of unknown labels.
        """
        initialization.initialize(self, get_examples, nlp, labels)

    @changes_weights
    def update(
        self,
        examples: Iterable[Example],
        *,
        drop: float = 0.0,
        sgd: Optional[Optimizer] = None,
        losses: Optional[Dict[str, float]] = None,
    ) -> Dict[str, float]:
        """Learn from a batch.

        examples (Iterable[Example]): those without annotation teach nothing.
        drop (float): dropout of the encoder.
        sgd (Optional[Optimizer]): if given, the weights are updated.
        losses (Optional[Dict[str, float]]): the loss is added under the name.
        RETURNS (Dict[str, float]): the losses.
        RAISES (ValueError): SP010 if the loss is not finite.
        """
        read = partial(self._read_gold, rng=self.rng)
        return steps.learn_from(self, examples, read, drop, sgd, losses)

    @changes_weights
    def rehearse(
        self,
        examples: Iterable[Example],
        *,
        sgd: Optional[Optimizer] = None,
        losses: Optional[Dict[str, float]] = None,
        drop: float = 0.0,
    ) -> Dict[str, float]:
        """Learn to predict as the model did when `nlp.resume_training` was called.
        Labels that it did not know then are learned from annotation, if there is any.

        examples (Iterable[Example]): documents, annotated or not.
        sgd, losses, drop: see `update`.
        RETURNS (Dict[str, float]): the losses.
        RAISES (ValueError): SP253 before `nlp.resume_training`, SP254 with a listener.
        """
        lesson = partial(rehearsal.lesson_of, self)
        return steps.learn_from(self, examples, lesson, drop, sgd, losses)

    @property
    def _rehearsal_model(self) -> Optional[Model]:
        """What `nlp.resume_training` sets to a copy of the model."""
        return None if self.teacher is None else self.teacher.model

    @_rehearsal_model.setter
    def _rehearsal_model(self, model: Model) -> None:
        self.teacher = Teacher(model, tuple(state.head_labels(self.cfg)))

    @changes_weights
    def finish_update(self, sgd: Optimizer) -> None:
        """Update the weights with the gradients of the batches since the last time."""
        super().finish_update(sgd)

    @reads_weights
    def get_loss(
        self, examples: Iterable[Example], scores: Any = None
    ) -> Tuple[float, None]:
        """Measure the loss without dropout and without learning, as on dev data. Models
        that sample in training sample here from the setting `seed`.

        scores (Any): not needed; in spaCy's contract.
        RETURNS (Tuple[float, None]): the loss. Gradients stay inside `update`, which
            bounds the memory of training by going forward and backward in groups.
        """
        examples = list(examples)
        rng = np.random.default_rng(self.settings.seed)
        work, gold = self._read_gold(examples, rng)
        docs = [example.predicted for example in examples]
        with memory_explained(self.name, docs, work):
            return measure_loss(self.model, docs, work, gold), None

    def _read_gold(
        self, examples: Sequence[Example], rng: np.random.Generator
    ) -> Tuple[HeadWork, HeadGold]:
        """Read the gold of a batch and place it on the windows."""
        self._require_sizes()
        made = self._reader.read(self.cfg)
        ids = self.head_label_ids
        return read_batch(examples, made, ids, self.gold_reader, rng)

    # -------------------------------------------------------------- prediction

    @reads_weights
    def predict(self, docs: Iterable[Doc]) -> List[SpanTable]:
        """Find the spans of documents, without changing the documents.

        RETURNS (List[SpanTable]): the spans of each, in document order.
        """
        self._require_sizes()
        made = self._reader.read(self.cfg)
        thresholds = read_thresholds(made.settings, self.label_ids, self.name)
        default = float(made.settings.threshold)
        lowest = thresholds_of_head(thresholds, self.cfg, default)
        found = predict_all(self.model, docs, made, lowest, self.freed, self.doubt)
        spans = (with_label_ids(one, self.cfg) for one in found)
        return Predictions(spans, made.settings, self.labels)

    def _require_sizes(self) -> None:
        """RAISES (ValueError): E109 before the component is initialized or loaded."""
        if not self._head.has_dim("nO"):
            raise ValueError(SpacyErrors.E109.format(name=self.name))

    def set_annotations(self, docs: Iterable[Doc], scores: List[SpanTable]) -> None:
        """Write predicted spans, and with `set_ents` a choice of them to `doc.ents`.

        docs (Iterable[Doc]): the documents to modify.
        scores (List[SpanTable]): what `predict` returned.
        """
        if not isinstance(scores, Predictions):
            scores = Predictions(scores, self.settings, self.labels)
        for doc, spans in zip(docs, scores):
            write_prediction(doc, spans, scores.labels, scores.settings)

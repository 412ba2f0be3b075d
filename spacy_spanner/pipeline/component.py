"""The spaCy component of all span models: `SpanRecognizer`."""

from copy import deepcopy
from functools import partial
from typing import Any, Callable, Dict, Iterable, List, Optional, Sequence, Tuple, Type

import numpy as np
from spacy.errors import Errors as SpacyErrors
from spacy.language import Language
from spacy.pipeline import TrainablePipe
from spacy.tokens import Doc
from spacy.training import Example, validate_examples
from spacy.util import ensure_path
from spacy.vocab import Vocab
from thinc.api import Model, Optimizer, set_dropout_rate

from ..layers.span_model import SpanInput, learn, measure_loss
from ..layers.torch_head import HeadGold, HeadWork
from ..models.codec import SpanCodec
from ..settings import SpanSettings
from ..spans.table import SpanTable
from . import initialization, state, storage
from .annotations import write_prediction
from .gold import GoldReader, read_batch
from .overrides import with_origin
from .prediction import Doubt, Predictions, Thresholds, predict_all, read_thresholds
from .system import FreedMemory, memory_explained, one_thread_after_fork
from .weights_lock import WeightsLock, changes_weights, reads_weights

one_thread_after_fork()


class SpanRecognizer(TrainablePipe):
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
        self._reader = state.SettingsReader(codec_type)
        self._head.name = name  # for messages
        self.rng = np.random.default_rng(self.settings.seed)  # checks the settings
        self.gold_reader = GoldReader(name)
        self.freed, self.doubt = FreedMemory(), Doubt(name)
        self.weights_lock = WeightsLock()

    # ---------------------------------------------------- settings and labels

    @property
    def settings(self) -> SpanSettings:
        """The settings that all span components share, with their values in `cfg`."""
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

    def add_label(self, label: str) -> int:
        """Add a label before initialization.

        label (str): the label.
        RETURNS (int): 0 if the component has it already, otherwise 1.
        RAISES (ValueError): SP008 after initialization.
        """
        if not isinstance(label, str):
            raise ValueError(SpacyErrors.E187)
        if label in self.labels:
            return 0
        state.set_labels(self.cfg, [*self.labels, label], self._head, self.vocab)
        return 1

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
        losses = {} if losses is None else losses
        losses.setdefault(self.name, 0.0)
        examples = list(examples)
        validate_examples(examples, "SpanRecognizer.update")
        work, gold = self._read_gold(examples, self.rng)
        # All processes that learn from shares of a batch must come here, if empty too.
        gold = gold._replace(n_windows=self.total_of(gold.n_windows))
        docs = [example.predicted for example in examples]
        if not any(len(doc) for doc in docs):
            return losses
        self.freed.before_step(work.plan.n_padded)
        set_dropout_rate(self.model, drop)
        with memory_explained(self.name, docs, work):
            losses[self.name] += learn(self.model, docs, work, gold)
        if sgd not in (None, False):
            self.finish_update(sgd)
        return losses

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
        return read_batch(examples, made, self.label_ids, self.gold_reader, rng)

    # -------------------------------------------------------------- prediction

    @reads_weights
    def predict(self, docs: Iterable[Doc]) -> List[SpanTable]:
        """Find the spans of documents, without changing the documents.

        RETURNS (List[SpanTable]): the spans of each, in document order.
        """
        self._require_sizes()
        made = self._reader.read(self.cfg)
        thresholds = read_thresholds(made.settings, self.label_ids, self.name)
        spans = predict_all(self.model, docs, made, thresholds, self.freed, self.doubt)
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

    # ----------------------------------------------------------------- storage

    @reads_weights
    def to_bytes(self, *, exclude: Iterable[str] = tuple()) -> bytes:
        """RETURNS (bytes): settings, labels, weights, and their digests."""
        return storage.complete_bytes(super().to_bytes(exclude=exclude), self._origin)

    @reads_weights
    def to_disk(self, path: Any, *, exclude: Iterable[str] = tuple()) -> None:
        """Store settings, labels, weights, and their digests, all or nothing."""
        write = partial(super().to_disk, exclude=exclude)
        storage.write_whole(ensure_path(path), write, self._origin)

    @property
    def _origin(self) -> Dict[str, Any]:
        return with_origin(self.cfg, self.made_with)

    @changes_weights
    def from_bytes(
        self, bytes_data: bytes, *, exclude: Iterable[str] = tuple()
    ) -> "SpanRecognizer":
        """Load settings, labels and weights.

        RAISES (ValueError): SP148 if they are damaged, SP149 for weights that are not
            finite, SP007 if weights and labels do not belong together, SP002 for
            settings out of their limits.
        """
        parts = storage.unpack(bytes_data, self.name)
        storage.check_parts(parts, exclude, f"'{self.name}'")
        load = partial(super().from_bytes, bytes_data, exclude=exclude)
        storage.load_whole(self, load, parts, exclude)
        return self

    @changes_weights
    def from_disk(
        self, path: Any, *, exclude: Iterable[str] = tuple()
    ) -> "SpanRecognizer":
        """Load settings, labels and weights; raises what `from_bytes` raises."""
        folder = ensure_path(path)
        parts = storage.read_parts(folder)
        storage.check_parts(parts, exclude, f"'{self.name}' ({folder})")
        load = partial(super().from_disk, folder, exclude=exclude)
        storage.load_whole(self, load, parts, exclude)
        return self

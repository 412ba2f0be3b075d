"""The spaCy component of all span models: `SpanRecognizer`."""

from itertools import islice
from typing import (
    Any,
    Callable,
    Dict,
    Iterable,
    Iterator,
    List,
    Optional,
    Sequence,
    Tuple,
    Type,
)

import numpy as np
from spacy.errors import Errors as SpacyErrors
from spacy.language import Language
from spacy.tokens import Doc
from spacy.training import Example, validate_examples, validate_get_examples
from spacy.vocab import Vocab
from thinc.api import Model, Optimizer, set_dropout_rate

from ..errors import Errors
from ..layers.doc_arrays import white_space
from ..layers.span_model import SpanInput
from ..layers.torch_head import HeadOutput, HeadTask
from ..spans.geometry import resolve_overlaps
from ..spans.table import ScoredSpan, SpanTable
from ..spans.windows import WindowPlan
from .annotations import write_entities, write_spans
from .forked import one_thread_after_fork
from .freed_memory import FreedMemory
from .gold import GoldReader, plan_docs, read_batch, survey
from .labelled_pipe import LabelledPipe
from .score_weights import check_score_weights
from .temperature import calibrate_spans

# Documents are encoded together up to this many tokens, so that the vectors of a large
# batch of long documents never exist all at once.
TOKENS_AT_ONCE = 20_000
N_SAMPLE_DOCS = 10

one_thread_after_fork()


class SpanRecognizer(LabelledPipe):
    """Recognise flat, nested and overlapping entities with one of the span models.

    The component is composed of a Thinc model (encoder and torch head) and a codec,
    which holds the mathematics of the model. All settings live in `cfg`, are saved with
    the component, and may be changed between two predictions.

    total_of (Callable): the sum of a count over all processes that learn from shares of
        one batch; `jobs.parallel` sets it.
    """

    total_of: Callable[[int], int] = int

    def __init__(
        self,
        vocab: Vocab,
        model: Model[SpanInput, HeadOutput],
        name: str,
        *,
        codec_type: Type[Any],
        scorer: Optional[Callable] = None,
        **settings: Any,
    ) -> None:
        """Compose a component.

        vocab (Vocab): the shared vocabulary.
        model (Model): see `layers.span_model.build_span_model`.
        name (str): name of the component in the pipeline.
        codec_type (Type[SpanCodec]): the codec's class; its fields are settings.
        scorer (Optional[Callable]): scoring function.
        **settings: see `SpanSettings` and the codec.
        RAISES (ValueError): SP002 for a setting out of its limits.
        """
        super().__init__(vocab, model, name, codec_type=codec_type, settings=settings)
        self.scorer = scorer
        self.rng = np.random.default_rng(self.settings.seed)
        self.gold_reader = GoldReader(name)
        self.freed = FreedMemory()

    # ---------------------------------------------------------------- training

    def initialize(
        self,
        get_examples: Callable[[], Iterable[Example]],
        *,
        nlp: Optional[Language] = None,
        labels: Optional[Sequence[str]] = None,
    ) -> None:
        """Find the labels, check that there is something to learn, build the model.

        get_examples (Callable): gives the examples; all are read once.
        nlp (Optional[Language]): the pipeline; its score weights are checked.
        labels (Optional[Sequence[str]]): the labels, if they are known.
        RAISES (ValueError): SP003 without annotation, SP004 without labels, SP005 for
            score weights that nothing produces, SP006 for thresholds of unknown labels.
        """
        validate_get_examples(get_examples, "SpanRecognizer.initialize")
        settings = self.settings
        found = survey(get_examples(), settings.spans_key)
        found.require_annotation(self.name, settings.spans_key)
        wanted = sorted({*(found.labels if labels is None else labels), *self.labels})
        if not wanted:
            raise ValueError(
                Errors.SP004.format(
                    component=self.name,
                    examples=found.n_examples,
                    key=settings.spans_key,
                    existing=found.groups,
                )
            )
        self._set_labels(wanted)
        self.cfg["trained_on"] = found.counts
        self.thresholds()  # checks their labels
        self.rng = np.random.default_rng(settings.seed)
        self.gold_reader = GoldReader(self.name)
        self.gold_reader.report_survey(found, settings, self.codec, set(wanted))
        if nlp is not None:
            check_score_weights(nlp, self, get_examples)
        sample = [eg.predicted for eg in islice(get_examples(), N_SAMPLE_DOCS)]
        sample = [doc for doc in sample if len(doc)] or [Doc(self.vocab, words=["x"])]
        self.model.get_ref("output_layer").set_dim("nO", len(self.labels))
        self.model.initialize(
            X=SpanInput(sample, self._task(plan_docs(sample, settings)))
        )

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
        RAISES (ValueError): SP010 when the loss is not a number.
        """
        losses = {} if losses is None else losses
        losses.setdefault(self.name, 0.0)
        examples = list(examples)
        validate_examples(examples, "SpanRecognizer.update")
        inputs = self._training_input(examples)
        # All processes that learn from shares of a batch must come here, if empty too.
        inputs = inputs.out_of(self.total_of(inputs.task.plan.n_windows))
        if not any(len(doc) for doc in inputs.docs):
            return losses
        self.freed.before_step(inputs.task.plan.n_padded)
        set_dropout_rate(self.model, drop)
        output, backprop = self.model.begin_update(inputs)
        if not np.isfinite(output.loss):
            raise ValueError(
                Errors.SP010.format(component=self.name, value=output.loss)
            )
        # Also without gold: a shared encoder waits for the call of each listener.
        backprop(output)
        if sgd not in (None, False):
            self.finish_update(sgd)
        losses[self.name] += output.loss
        return losses

    def get_loss(
        self, examples: Iterable[Example], scores: Any = None
    ) -> Tuple[float, None]:
        """Measure the loss without dropout and without learning, as on dev data.

        What a model samples in training, it samples here from the seed.

        examples (Iterable[Example]): annotated examples.
        scores (Any): not needed; in spaCy's contract.
        RETURNS (Tuple[float, None]): the loss. Gradients stay inside `update`, which
            bounds the memory of training by going forward and backward in groups.
        """
        inputs = self._training_input(list(examples))
        rng = np.random.default_rng(self.settings.seed)
        output = self.model.predict(inputs._replace(task=inputs.task._replace(rng=rng)))
        return output.loss, None

    def _training_input(self, examples: Sequence[Example]) -> SpanInput:
        """Read the gold of a batch and place it on the windows."""
        self._require_sizes()
        settings = self.settings
        docs = [example.predicted for example in examples]
        batch = read_batch(
            examples,
            plan_docs(docs, settings),
            self.codec,
            self.gold_reader,
            settings=settings,
            label_ids=self.label_ids,
        )
        return SpanInput(docs, self._task(batch.plan, batch.spans))

    def _task(
        self, plan: WindowPlan, gold: Optional[List[SpanTable]] = None
    ) -> HeadTask:
        """Ask the head for candidates, or with gold for the loss."""
        max_cells = self.settings.max_cells
        return HeadTask(self.codec, plan, max_cells, self.thresholds(), gold, self.rng)

    # -------------------------------------------------------------- prediction

    def predict(self, docs: Iterable[Doc]) -> List[List[ScoredSpan]]:
        """Find the spans of documents, without changing these.

        docs (Iterable[Doc]): the documents.
        RETURNS (List[List[ScoredSpan]]): chosen spans of each in document order.
        """
        self._require_sizes()
        return [
            spans
            for group in _in_groups(list(docs), TOKENS_AT_ONCE)
            for spans in self._predict_group(group)
        ]

    def _require_sizes(self) -> None:
        """RAISES (ValueError): E109 before the component is initialized or loaded."""
        if not self.model.get_ref("output_layer").has_dim("nO"):
            raise ValueError(SpacyErrors.E109.format(name=self.name))

    def _predict_group(self, docs: List[Doc]) -> List[List[ScoredSpan]]:
        if not any(len(doc) for doc in docs):
            return [[] for _ in docs]
        settings = self.settings
        plan = plan_docs(docs, settings)
        self.freed.before_prediction(plan.n_padded)
        output = self.model.predict(SpanInput(docs, self._task(plan)))
        # Positions in the concatenation of all documents: spans of different documents
        # never touch there, so one pass selects for all of them.
        spans = output.spans.shift(plan.flat_start[output.window])
        space = white_space(docs)
        spans = spans.take(~space[spans.start] & ~space[spans.end - 1])
        spans = resolve_overlaps(spans, settings.overlap)
        # Behind the choice: tempered scores near 1 may be equal where these differ.
        spans = calibrate_spans(spans, self.lowest_scores(), settings.temperature)
        return _split_by_doc(spans, [len(doc) for doc in docs])

    def set_annotations(
        self, docs: Iterable[Doc], scores: List[List[ScoredSpan]]
    ) -> None:
        """Write predicted spans, and a choice of them to `doc.ents` if asked to.

        docs (Iterable[Doc]): the documents to modify.
        scores (List[List[ScoredSpan]]): what `predict` returned.
        """
        settings, labels = self.settings, self.labels
        for doc, spans in zip(docs, scores):
            write_spans(
                doc,
                settings.spans_key,
                spans,
                labels,
                overwrite=settings.overwrite,
                overlap=settings.overlap,
            )
            if settings.set_ents != "off":
                write_entities(
                    doc,
                    spans,
                    labels,
                    prefer=settings.set_ents,
                    overwrite=settings.overwrite,
                )


def _in_groups(docs: List[Doc], max_tokens: int) -> Iterator[List[Doc]]:
    """Yield consecutive documents of up to `max_tokens` in all, at least one."""
    group: List[Doc] = []
    n_tokens = 0
    for doc in docs:
        if group and n_tokens + len(doc) > max_tokens:
            yield group
            group, n_tokens = [], 0
        group.append(doc)
        n_tokens += len(doc)
    if group:
        yield group


def _split_by_doc(spans: SpanTable, lengths: Sequence[int]) -> List[List[ScoredSpan]]:
    """Cut spans on concatenated documents into lists on each document's own tokens."""
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    bounds = np.searchsorted(spans.start, offsets)
    return [
        spans.take(np.arange(first, last)).shift(-offset).rows()
        for first, last, offset in zip(bounds, bounds[1:], offsets)
    ]

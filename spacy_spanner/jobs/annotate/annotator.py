"""A picklable annotator that loads its pipeline in the process that calls it."""

from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any, Dict, Iterable, Iterator, List, Optional, Sequence

from spacy.language import Language
from spacy.tokens import Doc
from spacy.util import load_model

from ...errors import Errors
from ...evaluation.predicting import SpanSource, find_source, lower_threshold
from ...pipeline.shared_keys import group_written_by
from ...review.candidates import find_scored_source, without_scores
from .frames import Columns, add_columns, columns_of, span_rows
from .messages import Annotated, Document

# A batch ends with the document that reaches this many characters.
BATCH_CHARACTERS = 1_000_000
NO_GPU = -1


class SpanAnnotator:
    """Predict the spans of documents, in any process.

    Only the settings are pickled, so that an annotator can be sent to workers. Each
    worker loads the pipeline on the first call. Batches are tables: a dict of columns,
    a pandas DataFrame or a pyarrow Table.

    model (str): folder or package name of a trained pipeline that workers can load.
    spans_key (Optional[str]): span group to read; required if the pipeline writes
        several groups.
    text_field (str): name of the text column.
    batch_size (Optional[int]): documents per batch; defaults to that of the pipeline.
    gpu_id (int): GPU, or -1 for the CPU.
    threads (Optional[int]): number of torch threads; defaults to torch's choice.
    code (Optional[str]): Python file to import before loading.
    memory_zone (bool): free the strings of a batch after it. Set it to `False` only for
        components that keep documents or tokens.
    lowest (Optional[float]): write all spans with at least this score, also those that
        overlap others, instead of those that the settings of the pipeline choose.

    >>> annotator = SpanAnnotator("model")
    >>> table = annotator({"text": ["The mayor of Boston met Ana Ruiz."]})
    >>> [(span["text"], span["label"]) for span in table["spans"][0]]
    [('The mayor of Boston', 'PER'), ('Boston', 'GPE'), ('Ana Ruiz', 'PER')]
    >>> table["error"]
    [None]
    """

    def __init__(
        self,
        model: str,
        *,
        spans_key: Optional[str] = None,
        text_field: str = "text",
        batch_size: Optional[int] = None,
        gpu_id: int = NO_GPU,
        threads: Optional[int] = None,
        code: Optional[str] = None,
        memory_zone: bool = True,
        lowest: Optional[float] = None,
    ) -> None:
        self.model = model
        self.spans_key = spans_key
        self.text_field = text_field
        self.batch_size = batch_size
        self.gpu_id = gpu_id
        self.threads = threads
        self.code = code
        self.memory_zone = memory_zone
        self.lowest = lowest
        self._nlp: Optional[Language] = None
        self._key: Optional[str] = None

    def __getstate__(self) -> Dict[str, Any]:
        return {**self.__dict__, "_nlp": None, "_key": None}

    @property
    def nlp(self) -> Language:
        """The pipeline, loaded on first access.

        RAISES (ValueError): SP128 if the GPU cannot be used, SP071 if the pipeline
            writes several span groups and none is chosen, SP185 if its spans need
            scores and have none.
        """
        if self._nlp is None:
            self._nlp = self._load()
        return self._nlp

    def _load(self) -> Language:
        from ..spacy_commands import import_code

        if self.threads is not None:
            import torch

            torch.set_num_threads(self.threads)
        if self.gpu_id != NO_GPU:
            _require_gpu(self.gpu_id)
        import_code(self.code and Path(self.code))
        nlp = load_model(self.model)
        self._key = find_key(nlp, self.spans_key)
        if self.lowest is not None:
            if self._key is None:
                source = SpanSource("ents", ", ".join(nlp.pipe_names))
                raise ValueError(without_scores(source))
            source = find_scored_source(nlp, self._key)
            lower_threshold(source, self.lowest, keep_all=True)
        return nlp

    @property
    def key(self) -> Optional[str]:
        """The span group to read; None for `doc.ents`."""
        _ = self.nlp
        return self._key

    @contextmanager
    def zone(self) -> Iterator[None]:
        """Free all new strings and documents at the end."""
        zone = self.nlp.memory_zone() if self.memory_zone else nullcontext()
        with zone:
            yield

    def annotate(
        self, documents: Iterable[Document], *, batch_size: Optional[int] = None
    ) -> Iterator[Annotated]:
        """Annotate documents in batches.

        batch_size (Optional[int]): overrides the batch size of the annotator.
        YIELDS (Annotated): the result of each document, in order; a failed document has
            a `problem`.
        """
        size = batch_size or self.batch_size or self.nlp.batch_size
        for batch in _batches(documents, size):
            docs = iter(self._pipe([one for one in batch if not one.problem]))
            for document in batch:
                if document.problem:
                    yield Annotated(document.id, problem=document.problem)
                else:
                    yield next(docs)

    def _pipe(self, documents: Sequence[Document]) -> List[Annotated]:
        """Annotate a batch; if it fails, annotate its documents one by one."""
        try:
            inputs = [self._input(document) for document in documents]
            docs = list(self.nlp.pipe(inputs, batch_size=len(inputs) or 1))
        except Exception:  # raised by any component, for an unknown document
            docs = []
        # Error handlers may make a pipeline skip documents.
        if len(docs) == len(documents):
            pairs = zip(documents, docs)
            return [Annotated(one.id, doc, others=one.others) for one, doc in pairs]
        return [self._pipe_one(document) for document in documents]

    def _pipe_one(self, document: Document) -> Annotated:
        try:
            (doc,) = self.nlp.pipe([self._input(document)])
        except Exception as error:
            return Annotated(document.id, problem=describe(error))
        return Annotated(document.id, doc, others=document.others)

    def _input(self, document: Document) -> Any:
        """RETURNS (Any): the text, or a copy of the document: components modify
        documents, and a failed batch is tried again. What the pipeline shall judge
        itself is not annotated.
        """
        if document.doc is None:
            return document.text
        doc = document.doc.copy()
        if self.lowest is not None:
            doc.spans.clear()
            doc.set_ents([], default="missing")
        return doc

    def __call__(self, batch: Any) -> Any:
        """Add the columns `spans` and `error` to a table of texts.

        batch (Any): a dict of columns, a pandas DataFrame or a pyarrow Table.
        RETURNS (Any): a new table of the same kind. `spans` contains a list of dicts
            per document, as in the command's JSON Lines output; `error` is the reason
            why the document failed, or None.
        RAISES (ValueError): SP121 if the text column is missing.
        """
        columns = columns_of(batch)
        existing = ", ".join(map(str, columns)) or "none"
        name = self.text_field
        if name not in columns:
            raise ValueError(
                Errors.SP121.format(place="The table", field=name, existing=existing)
            )
        missing = Errors.SP121.format(place="The row", field=name, existing=existing)
        documents = [
            Document("", text)
            if isinstance(text, str)
            else Document("", problem=missing)
            for text in columns[name]
        ]
        return add_columns(batch, self._columns(documents))

    def _columns(self, documents: Iterable[Document]) -> Columns:
        spans: List[List[Dict[str, Any]]] = []
        errors: List[Optional[str]] = []
        with self.zone():
            for one in self.annotate(documents):
                # Tables require every field in every row.
                rows = [] if one.doc is None else span_rows(one.doc, self.key)
                spans.append([{**row, "score": row.get("score")} for row in rows])
                errors.append(one.problem or None)
        return {"spans": spans, "error": errors}

    def map_in_pandas(self, frames: Iterable[Any]) -> Iterator[Any]:
        """Annotate DataFrames; pass this method to Spark's `DataFrame.mapInPandas`.

        frames (Iterable[Any]): pandas DataFrames.
        YIELDS (Any): DataFrames with the added columns `spans` and `error`, whose
            schema is `SPARK_COLUMNS`.
        """
        for frame in frames:
            yield self(frame)


def find_key(nlp: Language, key: Optional[str] = None) -> Optional[str]:
    """RETURNS (Optional[str]): the span group that was chosen or that the pipeline
        writes; None for `doc.ents`, if no component writes a group.
    RAISES (ValueError): SP071 if components write several groups.
    """
    writes = any(group_written_by(pipe) is not None for _, pipe in nlp.pipeline)
    return find_source(nlp, key).key if key is not None or writes else None


def describe(error: BaseException) -> str:
    """RETURNS (str): type and message of an error, on one line."""
    message = " ".join(str(error).split())
    return f"{type(error).__name__}: {message}" if message else type(error).__name__


def _batches(documents: Iterable[Document], size: int) -> Iterator[List[Document]]:
    """YIELDS (List[Document]): batches of `size` documents, fewer if they are long."""
    batch: List[Document] = []
    characters = 0
    for document in documents:
        batch.append(document)
        characters += _n_characters(document)
        if len(batch) >= size or characters >= BATCH_CHARACTERS:
            yield batch
            batch, characters = [], 0
    if batch:
        yield batch


def _n_characters(document: Document) -> int:
    doc: Optional[Doc] = document.doc
    if doc is None:
        return len(document.text)
    return doc[-1].idx + len(doc[-1]) if len(doc) else 0


def _require_gpu(gpu_id: int) -> None:
    import spacy

    try:
        spacy.require_gpu(gpu_id)
    except Exception as error:  # raised by thinc, cupy or torch
        message = Errors.SP128.format(gpu=gpu_id, problem=describe(error))
        raise ValueError(message) from error

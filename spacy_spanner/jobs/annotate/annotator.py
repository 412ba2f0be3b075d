"""A pipeline that can be sent to where the documents are, and loads itself there."""

from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any, Dict, Iterable, Iterator, List, Optional, Sequence

from spacy.language import Language
from spacy.tokens import Doc
from spacy.util import load_model

from ...errors import Errors
from .frames import Columns, add_columns, columns_of
from .messages import Annotated, Document
from .span_rows import find_key, span_rows

# However long they are, the documents of a batch have no more characters than this,
# but for the last.
BATCH_CHARACTERS = 1_000_000
NO_GPU = -1


class SpanAnnotator:
    """Find the spans of documents, in whatever process it is called.

    It holds settings only, so that it can be pickled and sent to workers; each loads
    the pipeline when it is called first. Batches are tables: a dict of columns, a
    DataFrame of pandas or a Table of pyarrow.

    model (str): folder or package name of a trained pipeline, as workers can load it.
    spans_key (Optional[str]): group to read; needed where several are written.
    text_field (str): column of the texts.
    batch_size (Optional[int]): documents at once; that of the pipeline by default.
    gpu_id (int): GPU, or -1 for the CPU.
    threads (Optional[int]): threads of torch; as many as it wants by default.
    code (Optional[str]): Python file to import first.
    memory_zone (bool): forget the words of a batch after it. Only pipelines with
        components that keep documents or words of their own need `False`.
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
    ) -> None:
        self.model = model
        self.spans_key = spans_key
        self.text_field = text_field
        self.batch_size = batch_size
        self.gpu_id = gpu_id
        self.threads = threads
        self.code = code
        self.memory_zone = memory_zone
        self._nlp: Optional[Language] = None
        self._key: Optional[str] = None

    def __getstate__(self) -> Dict[str, Any]:
        return {**self.__dict__, "_nlp": None, "_key": None}

    @property
    def nlp(self) -> Language:
        """The pipeline; loaded when it is asked for first.

        RAISES (ValueError): SP128 where the GPU cannot be used, SP071 where the group
            cannot be told.
        """
        if self._nlp is None:
            self._nlp = self._load()
        return self._nlp

    def _load(self) -> Language:
        from spacy.cli._util import import_code

        if self.threads is not None:
            import torch

            torch.set_num_threads(self.threads)
        if self.gpu_id != NO_GPU:
            _require_gpu(self.gpu_id)
        import_code(self.code and Path(self.code))
        nlp = load_model(self.model)
        self._key = find_key(nlp, self.spans_key)
        return nlp

    @property
    def key(self) -> Optional[str]:
        """The group with the spans; None for `doc.ents`."""
        _ = self.nlp
        return self._key

    @contextmanager
    def zone(self) -> Iterator[None]:
        """Forget all new words and documents at the end."""
        zone = self.nlp.memory_zone() if self.memory_zone else nullcontext()
        with zone:
            yield

    def annotate(
        self, documents: Iterable[Document], *, batch_size: Optional[int] = None
    ) -> Iterator[Annotated]:
        """Annotate documents, batch by batch.

        batch_size (Optional[int]): instead of that of the annotator.
        YIELDS (Annotated): one for each document, in order; those that fail say why.
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
        """Annotate a batch; where it fails, one document at a time."""
        try:
            inputs = [_input(document) for document in documents]
            docs = list(self.nlp.pipe(inputs, batch_size=len(inputs) or 1))
        except Exception:  # of any component; which document it was is not known
            docs = []
        # A pipeline may leave out what fails, if its error handler wants that.
        if len(docs) == len(documents):
            pairs = zip(documents, docs)
            return [Annotated(document.id, doc) for document, doc in pairs]
        return [self._one(document) for document in documents]

    def _one(self, document: Document) -> Annotated:
        try:
            (doc,) = self.nlp.pipe([_input(document)])
        except Exception as error:
            return Annotated(document.id, problem=describe(error))
        return Annotated(document.id, doc)

    def __call__(self, batch: Any) -> Any:
        """Add the columns `spans` and `error` to a table of texts.

        batch (Any): a dict of columns, a DataFrame of pandas or a Table of pyarrow.
        RETURNS (Any): a new table of the same kind. `spans` has a list of dicts for
            each document, as in the JSON Lines of the command; `error` says why it has
            failed, and is None where it has not.
        RAISES (ValueError): SP121 where there is no column of texts.
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
                # Tables want every field in every row.
                rows = [] if one.doc is None else span_rows(one.doc, self.key)
                spans.append([{**row, "score": row.get("score")} for row in rows])
                errors.append(one.problem or None)
        return {"spans": spans, "error": errors}

    def map_in_pandas(self, frames: Iterable[Any]) -> Iterator[Any]:
        """Annotate DataFrames, as `DataFrame.mapInPandas` of Spark wants it.

        frames (Iterable[Any]): DataFrames of pandas.
        YIELDS (Any): DataFrames with the columns `spans` and `error`; `SPARK_COLUMNS`
            is their schema.
        """
        for frame in frames:
            yield self(frame)


def describe(error: BaseException) -> str:
    """RETURNS (str): kind and message of an error, in one line."""
    message = " ".join(str(error).split())
    return f"{type(error).__name__}: {message}" if message else type(error).__name__


def _input(document: Document) -> Any:
    """RETURNS (Any): text or document for the pipeline. Components change documents, so
    that a second attempt needs the first one untouched.
    """
    return document.text if document.doc is None else document.doc.copy()


def _batches(documents: Iterable[Document], size: int) -> Iterator[List[Document]]:
    """YIELDS (List[Document]): as many documents, but not too many characters."""
    batch: List[Document] = []
    characters = 0
    for document in documents:
        batch.append(document)
        characters += _length(document)
        if len(batch) >= size or characters >= BATCH_CHARACTERS:
            yield batch
            batch, characters = [], 0
    if batch:
        yield batch


def _length(document: Document) -> int:
    doc: Optional[Doc] = document.doc
    if doc is None:
        return len(document.text)
    return doc[-1].idx + len(doc[-1]) if len(doc) else 0


def _require_gpu(gpu_id: int) -> None:
    import spacy

    try:
        spacy.require_gpu(gpu_id)
    except Exception as error:  # of thinc, cupy or torch
        message = Errors.SP128.format(gpu=gpu_id, problem=describe(error))
        raise ValueError(message) from error

"""Encoder and head as one Thinc model: documents and a task in, spans or a loss out."""

from typing import Callable, List, NamedTuple, Optional, Tuple

from thinc.api import Model
from thinc.types import Floats2d

from ..errors import Errors
from .memory import memory_explained
from .predict_only import forgetful_chains
from .torch_head import HeadInput, HeadOutput, HeadTask, build_torch_head
from .torch_shim import ModuleBuilder


class SpanInput(NamedTuple):
    """Documents for the encoder, and what the head shall do with their vectors."""

    docs: List  # of Doc, which only the encoder looks at
    task: HeadTask

    def out_of(self, n_windows: int) -> "SpanInput":
        """RETURNS (SpanInput): the same as a share of a batch of so many windows."""
        return self._replace(task=self.task._replace(n_windows=n_windows))


def build_span_model(
    tok2vec: Model[List, List[Floats2d]], build: ModuleBuilder
) -> Model[SpanInput, HeadOutput]:
    """Put a head on an encoder.

    tok2vec (Model): any encoder or listener: documents to token vectors.
    build (ModuleBuilder): makes the torch module of the head.
    RETURNS (Model): references `tok2vec`, and `output_layer` for the head, whose `nO`
        is the number of labels.
    """
    head = build_torch_head(build)
    return Model(
        "span_model",
        forward,
        init=init,
        layers=[tok2vec, head],
        refs={"tok2vec": tok2vec, "output_layer": head},
    )


def forward(
    model: Model, inputs: SpanInput, is_train: bool
) -> Tuple[HeadOutput, Callable]:
    """Encode, then let the head work.

    RAISES (MemoryError): SP146, in both directions.
    """
    tok2vec, head = model.get_ref("tok2vec"), model.get_ref("output_layer")
    docs, task = inputs
    if not is_train:
        with memory_explained(head.name, docs, task):
            with forgetful_chains(tok2vec):
                vectors = tok2vec.predict(docs)
            return head.predict(HeadInput(vectors, task)), lambda _: []
    with memory_explained(head.name, docs, task):
        vectors, backprop_vectors = tok2vec.begin_update(docs)
        output, backprop_head = head.begin_update(HeadInput(vectors, task))

    def backprop(d_output: HeadOutput) -> List:
        with memory_explained(head.name, docs, task):
            return backprop_vectors(backprop_head(d_output))

    return output, backprop


def init(
    model: Model, X: Optional[SpanInput] = None, Y: Optional[HeadOutput] = None
) -> None:
    """Initialize the encoder, then the head in the width that the encoder has."""
    tok2vec, head = model.get_ref("tok2vec"), model.get_ref("output_layer")
    docs = X.docs if X is not None else None
    if tok2vec.has_dim("nL") is None:  # an encoder that reads the labels, too
        tok2vec.set_dim("nL", head.get_dim("nO"))
    tok2vec.initialize(X=docs)
    width = tok2vec.maybe_get_dim("nO")
    if width is None and docs is not None:
        width = tok2vec.predict(docs)[0].shape[-1]
    if head.has_dim("nI") and head.get_dim("nI") != width:
        raise ValueError(
            Errors.SP009.format(
                component=head.name, seen=width, expected=head.get_dim("nI")
            )
        )
    if width is not None:
        head.set_dim("nI", width)
    head.initialize()

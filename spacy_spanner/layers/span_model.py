"""Encoder and head as one Thinc model: documents in, spans out; or documents and gold
in, a loss out.
"""

from functools import partial
from typing import Any, Callable, List, Optional, Tuple, Type

from spacy.tokens import Doc
from spacy.util import registry
from thinc.api import Model
from thinc.types import Floats2d

from ..errors import Errors
from ..settings import expand
from ..spans.table import Floats, SpanTable
from . import torch_head
from .head_work import HeadGold, HeadWork
from .predict_only import forget_in_prediction, no_way_back
from .torch_head import build_torch_head
from .torch_shim import ModuleBuilder

# Documents for the encoder, work for the head, and the lowest scores by label.
SpanInput = Tuple[List, HeadWork, Floats]
Encoder = Model[List[Doc], List[Floats2d]]
SpanModel = Model[SpanInput, SpanTable]


def span_architecture(
    name: str,
    module_type: Type[Any],
    settings_type: Type[Any],
    check: Optional[Callable[[Encoder, Any], None]] = None,
) -> Callable[..., SpanModel]:
    """Register the architecture of a model: its torch module as a head on an encoder.

    name (str): name of the architecture.
    module_type (Type): the module. It is built from the width of the token vectors, the
        number of labels, and the settings.
    settings_type (Type): dataclass of the module's settings. The architecture takes
        each by its name, as blocks of a config do.
    check (Optional[Callable]): raises an error for an encoder that does not fit the
        settings.
    RETURNS (Callable): the registered function.
    """

    def build_model(tok2vec: Encoder, **chosen: Any) -> SpanModel:
        """Put the head of a span model on an encoder.

        tok2vec (Model): the encoder, or a listener to a shared one.
        RAISES (ValueError): SP002 for a value out of its limits.
        RETURNS (Model): see `build_span_model`.
        """
        settings = settings_type(**chosen)
        if check is not None:
            check(tok2vec, settings)
        return build_span_model(tok2vec, partial(module_type, settings=settings))

    expand(build_model, settings_type)
    registered: Callable[..., SpanModel] = registry.architectures(
        name, func=build_model
    )
    return registered


def build_span_model(tok2vec: Encoder, build: ModuleBuilder) -> SpanModel:
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
) -> Tuple[SpanTable, Callable]:
    """Encode documents and find the candidates in them; `learn` trains.

    RETURNS (Tuple[SpanTable, Callable]): spans on the tokens of all documents, and a
        callback that fails.
    """
    docs, work, thresholds = inputs
    vectors = _encode(model, docs)
    spans = model.get_ref("output_layer").predict((vectors, work, thresholds))
    return spans, no_way_back


def learn(model: Model, docs: List, work: HeadWork, gold: HeadGold) -> float:
    """Add the gradients of a batch to those of encoder and head.

    RETURNS (float): the loss.
    RAISES (ValueError): SP010 if it is not finite; no gradient changes then.
    """
    tok2vec, head = model.get_ref("tok2vec"), model.get_ref("output_layer")
    vectors, backprop = tok2vec.begin_update(docs)
    if work.r_drop:
        loss, d_vectors = _learn_twice(model, vectors, docs, work, gold)
    else:
        loss, d_vectors = torch_head.loss_and_gradients(head, vectors, work, gold)
    # Also without gold: a shared encoder waits for the call of each listener.
    backprop(d_vectors)
    return loss


def _learn_twice(
    model: Model, vectors: List[Floats2d], docs: List, work: HeadWork, gold: HeadGold
) -> Tuple[float, List[Floats2d]]:
    """Read the documents a second time, with other dropout, and learn from both. A
    shared encoder has read them once for all its listeners: then only the head does.

    vectors (List[Floats2d]): what the encoder read first.
    RETURNS (Tuple[float, List[Floats2d]]): the loss, and the gradients of `vectors`.
    """
    tok2vec, head = model.get_ref("tok2vec"), model.get_ref("output_layer")
    learn_from_both = partial(torch_head.learn_from_readings, head)
    if any(hasattr(node, "upstream_name") for node in tok2vec.walk()):
        loss, gradients = learn_from_both([vectors, vectors], work, gold)
        return loss, [one + two for one, two in zip(*gradients)]
    again, backprop = tok2vec.begin_update(docs)
    loss, (d_vectors, d_again) = learn_from_both([vectors, again], work, gold)
    backprop(d_again)
    return loss, d_vectors


def measure_loss(model: Model, docs: List, work: HeadWork, gold: HeadGold) -> float:
    """RETURNS (float): the loss, without dropout and without gradients; 0 without
    tokens, which encoders need not be able to read.
    """
    if not any(map(len, docs)):
        return 0.0
    head = model.get_ref("output_layer")
    return torch_head.measure_loss(head, _encode(model, docs), work, gold)


def _encode(model: Model, docs: List) -> List[Floats2d]:
    tok2vec = model.get_ref("tok2vec")
    forget_in_prediction(tok2vec)
    return tok2vec.predict(docs)


def init(model: Model, X: Optional[List] = None, Y: Optional[SpanTable] = None) -> None:
    """Initialize the encoder, then the head in the encoder's width.

    X (Optional[List]): sample documents.
    """
    tok2vec, head = model.get_ref("tok2vec"), model.get_ref("output_layer")
    if tok2vec.has_dim("nL") is None:  # an encoder that reads the labels, too
        tok2vec.set_dim("nL", head.get_dim("nO"))
    tok2vec.initialize(X=X)
    width = tok2vec.maybe_get_dim("nO")
    if width is None and X is not None:
        width = tok2vec.predict(X)[0].shape[-1]
    if head.has_dim("nI") and head.get_dim("nI") != width:
        raise ValueError(
            Errors.SP009.format(
                component=head.name, seen=width, expected=head.get_dim("nI")
            )
        )
    if width is not None:
        head.set_dim("nI", width)
    head.initialize()

"""What a component costs beside its scores: parameters and speed."""

import time
from typing import Any, Dict, NamedTuple, Sequence

from spacy.language import Language
from spacy.training import Example
from thinc.api import Model

from ..layers.torch_shim import torch_module
from ..training.owners import torch_shims
from .predicting import predict
from .scorer import score_spans

WARM_UP_DOCS = 16


class Parameters(NamedTuple):
    """Numbers of trained parameters.

    encoder (int): of the encoder in the component; 0 for a listener to a shared one.
    head (int): of everything else in the component.
    others (int): of all other components of the pipeline.
    """

    encoder: int
    head: int
    others: int


def count_parameters(nlp: Language, name: str) -> Parameters:
    """RETURNS (Parameters): those of a component, and of the rest of the pipeline.

    name (str): the component.
    """
    pipe: Any = nlp.get_pipe(name)
    whole, encoder = _count(pipe.model), _count(pipe.model.get_ref("tok2vec"))
    models = {other: getattr(found, "model", None) for other, found in nlp.pipeline}
    others = [
        _count(model)
        for other, model in models.items()
        if other != name and isinstance(model, Model)
    ]
    return Parameters(encoder, whole - encoder, sum(others))


def _count(model: Model) -> int:
    """RETURNS (int): numbers in the tensors of a model, each tensor once."""
    sizes = {}
    for node in model.walk():
        for name in node.param_names:
            if node.has_param(name):
                sizes[node.id, name] = int(node.get_param(name).size)
        for shim in torch_shims(node):
            for tensor in torch_module(shim).parameters():
                sizes[id(tensor), ""] = tensor.numel()
    return sum(sizes.values())


def measure_run(nlp: Language, examples: Sequence[Example], key: str) -> Dict[str, Any]:
    """Predict documents, and measure scores and speed of the whole pipeline.

    key (str): the span group.
    RETURNS (Dict[str, Any]): `f`, which is None without spans to score, and
        `words_per_second`.
    """
    start = time.perf_counter()
    found = predict(nlp, examples)
    seconds = time.perf_counter() - start
    n_words = sum(len(example.predicted) for example in found)
    scores = score_spans(found, spans_key=key)
    return {"f": scores[f"spans_{key}_f"], "words_per_second": n_words / seconds}


def model_costs(
    nlp: Language, name: str, examples: Sequence[Example]
) -> Dict[str, Any]:
    """RETURNS (Dict[str, Any]): `parameters`, and what `measure_run` returns.

    name (str): the component.
    examples (Sequence[Example]): annotated documents; the first ones are predicted
        twice, because the first documents take longer.
    """
    key = nlp.get_pipe(name).cfg["spans_key"]  # type: ignore[attr-defined]
    predict(nlp, examples[:WARM_UP_DOCS])
    parameters = count_parameters(nlp, name)._asdict()
    return {"parameters": parameters, **measure_run(nlp, examples, key)}

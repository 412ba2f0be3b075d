"""Parameters are counted once, and in the part that they belong to."""

from typing import Any

from spacy_spanner.evaluation.model_costs import count_parameters
from spacy_spanner.layers.torch_shim import torch_module

from ..helpers import trained


def test_parameters_of_encoder_head_and_other_components() -> None:
    nlp = trained("span_biaffine")
    pipe: Any = nlp.get_pipe("span_biaffine")
    module = torch_module(pipe.model.get_ref("output_layer").shims[0])
    head = sum(tensor.numel() for tensor in module.parameters())
    encoder = sum(
        node.get_param(name).size
        for node in pipe.model.get_ref("tok2vec").walk()
        for name in node.param_names
    )
    found = count_parameters(nlp, "span_biaffine")
    assert found == (encoder, head, 0) and encoder > 0 < head

"""The precision in which the encoders of a pipeline predict."""

from typing import Any, Dict, Iterator, Optional

from spacy.language import Language

from ..encoders.fast.copies import Chosen
from ..encoders.fast.processor import PRECISIONS
from ..encoders.pretrained import PretrainedShim
from ..errors import Errors
from ..settings import one_of, require
from .requirements import pretrained_encoders

# Key in `nlp.meta` of what `spanner optimize` measured.
META_KEY = "precision"
ARCHITECTURE = "spacy_spanner.Transformer.v1"


def set_precision(nlp: Language, precision: str, *, emulate: bool = False) -> None:
    """Change the precision in which all encoders of this package predict.

    The weights stay as they are, so the pipeline can still be trained. The config of
    the pipeline is changed too: `nlp.to_disk` stores the choice.

    nlp (Language): a pipeline with `spacy_spanner.Transformer.v1` in its components, or
        in a `tok2vec` component that others listen to.
    precision (str): "float32", "bfloat16", "int8" or "auto".
    emulate (bool): use it also on processors without fast instructions for it.
    RAISES (ValueError): SP002 for an unknown precision, SP240 without such an encoder.

    >>> encoder = {"@architectures": "spacy_spanner.Transformer.v1", "name": "minilm"}
    >>> nlp = spacy.blank("en")
    >>> pipe = nlp.add_pipe("span_offset", config={"model": {"tok2vec": encoder}})
    >>> set_precision(nlp, "bfloat16")
    """
    require(one_of(PRECISIONS), precision=precision)
    encoders = list(encoders_of(nlp))
    if not encoders:
        pipeline = ", ".join(nlp.pipe_names) or "no component"
        raise ValueError(Errors.SP240.format(pipeline=pipeline))
    for encoder in encoders:
        encoder.chosen = Chosen(precision, emulate)
    for name in nlp.component_names:
        for block in _encoder_blocks(nlp.get_pipe_config(name)):
            block.update(precision=precision, emulate_precision=emulate)


def get_precision(nlp: Language) -> Optional[str]:
    """RETURNS (Optional[str]): the precision that was chosen for the encoders of a
    pipeline; None if it has none of this package.
    """
    return next((encoder.chosen.precision for encoder in encoders_of(nlp)), None)


def encoders_of(nlp: Language) -> Iterator[PretrainedShim]:
    """YIELDS (PretrainedShim): the encoders of this package in all components."""
    for _, pipe in nlp.components:
        yield from pretrained_encoders(getattr(pipe, "model", None))


def _encoder_blocks(config: Any) -> Iterator[Dict[str, Any]]:
    """YIELDS (Dict[str, Any]): the blocks of a config that describe such an encoder."""
    if isinstance(config, dict):
        if config.get("@architectures") == ARCHITECTURE:
            yield config
        for value in config.values():
            yield from _encoder_blocks(value)

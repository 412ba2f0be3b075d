"""Give a component its labels and weights, with data to learn from or without.

`nlp.initialize()` without examples and `spacy assemble` only need the labels, which
`add_label` or `[initialize.components]` can give. spaCy passes a placeholder then.
"""

import warnings
from itertools import islice
from typing import Any, Callable, Iterable, List, Optional, Sequence

import numpy as np
from spacy.errors import Errors as SpacyErrors
from spacy.language import Language
from spacy.tokens import Doc
from spacy.training import Example, validate_examples, validate_get_examples

from ..errors import Warnings
from ..layers.doc_arrays import is_placeholder
from ..layers.torch_shim import torch_module
from ..models.codec import SpanCodec
from .config_checks import check_config
from .gold import GoldReader
from .shared_keys import warn_of_deleted_spans
from .state import CHOSEN_THRESHOLD, TRAINED_ON, set_labels
from .survey import Survey, survey

N_SAMPLE_DOCS = 10

Examples = Callable[[], Iterable[Example]]


def initialize(
    pipe: Any,
    get_examples: Examples,
    nlp: Optional[Language],
    labels: Optional[Sequence[str]],
) -> None:
    """Find the labels, check that there is something to learn, build the model.

    pipe (SpanRecognizer): the component.
    get_examples (Callable): see `SpanRecognizer.initialize`, as for what follows.
    """
    known = known_labels(pipe.labels, labels)
    _validate(get_examples, known)
    settings, codec = pipe.settings, pipe.codec
    found = survey(_real(get_examples()), settings.spans_key)
    if found.n_examples or not known:
        found.require_annotation(pipe.name, settings.spans_key)
    wanted = known_labels(known, sorted(found.labels) if labels is None else ())
    found.require_labels(wanted, pipe.name, settings.spans_key)
    head = pipe.model.get_ref("output_layer")
    set_labels(pipe.cfg, wanted, head, pipe.vocab)
    _record_size(pipe.cfg, found)
    pipe.cfg.pop(CHOSEN_THRESHOLD, None)  # it was for other weights
    _ = pipe.thresholds  # checks their labels
    pipe.rng = np.random.default_rng(settings.seed)
    pipe.gold_reader = GoldReader(pipe.name)
    pipe.gold_reader.report_survey(found, settings, codec, set(wanted))
    if nlp is not None:
        warn_of_deleted_spans(nlp, pipe)
        check_config(nlp, pipe, get_examples)
    head.set_dim("nO", len(wanted))
    pipe.model.initialize(X=_sample(get_examples(), pipe, nlp))
    _warn_of_contradictions(codec, torch_module(head.shims[0]), pipe.name)


def known_labels(
    present: Sequence[str], given: Optional[Sequence[str]]
) -> Sequence[str]:
    """RETURNS (Sequence[str]): present labels, then new ones in the order given.
    RAISES (ValueError): E187 for a label that is no string.
    """
    together = [*present, *(given or ())]
    if not all(isinstance(label, str) for label in together):
        raise ValueError(SpacyErrors.E187)
    return list(dict.fromkeys(together))


def _validate(get_examples: Examples, known: Sequence[str]) -> None:
    """Check the type of the examples. There may be none if the labels are known."""
    method = "SpanRecognizer.initialize"
    if known and callable(get_examples):
        validate_examples(get_examples(), method)
    else:
        validate_get_examples(get_examples, method)


def _real(examples: Iterable[Example]) -> Iterable[Example]:
    """RETURNS (Iterable[Example]): the examples without spaCy's placeholder."""
    return (eg for eg in examples if not is_placeholder(eg.reference))


def _record_size(cfg: Any, found: Survey) -> None:
    """Keep the size of the data, which model cards show."""
    cfg.pop(TRAINED_ON, None)
    if found.n_examples:
        cfg[TRAINED_ON] = found.counts


def _warn_of_contradictions(codec: SpanCodec, module: Any, name: str) -> None:
    """Warn (SW085) of settings that make each other useless."""
    for pair in codec.contradictions(module):
        message = Warnings.SW085.format(
            component=name, first=pair.first, second=pair.second, why=pair.why
        )
        warnings.warn(message, stacklevel=3)


def _sample(
    examples: Iterable[Example], pipe: Any, nlp: Optional[Language]
) -> List[Doc]:
    """RETURNS (List[Doc]): documents from which layers infer their sizes, annotated as
    in training by frozen components, which need no initialization.
    """
    docs = [eg.predicted for eg in islice(examples, N_SAMPLE_DOCS)]
    docs = [doc for doc in docs if len(doc)] or [Doc(pipe.vocab, words=["x"])]
    if nlp is None or all(map(is_placeholder, docs)):
        return docs
    training = nlp.config["training"]
    ready = {*training["frozen_components"]} & {*training["annotating_components"]}
    if ready:
        docs = [doc.copy() for doc in docs]
    for name, other in nlp.components:  # also those that are disabled until training
        if name in ready:
            docs = [other(doc) for doc in docs]
    return docs

"""What the package of a pipeline requires, for `spacy package`."""

from typing import Any, Iterator

from spacy.language import Language
from thinc.api import Model

from ..encoders.pretrained import PretrainedShim

# Spelled with an underscore and without a version: `spacy package` adds `spacy-spanner`
# with its range of versions, but not if `meta["requirements"]` lists the same name. For
# pip, both names are the same.
ENCODER_REQUIREMENT = "spacy_spanner[encoder]"


def pretrained_encoders(model: Any) -> Iterator[PretrainedShim]:
    """YIELDS (PretrainedShim): the pretrained encoders that are layers of a model.

    model (Any): the model of a component, if it has one.
    """
    for node in model.walk() if isinstance(model, Model) else ():
        yield from (shim for shim in node.shims if isinstance(shim, PretrainedShim))


def add_requirements(nlp: Language, model: Model) -> None:
    """List the packages that run pretrained encoders in `nlp.meta["requirements"]`.

    `spacy package` loads the pipeline and so comes here, and it adds the requirements
    to those of the package. By itself, it cannot find out about an extra.

    nlp (Language): the pipeline. Its components may share an encoder.
    model (Model): the model of a component that is about to be added.
    """
    models = [model, *(getattr(pipe, "model", None) for _, pipe in nlp.components)]
    needed = any(True for one in models for _ in pretrained_encoders(one))
    known = nlp.meta.get("requirements") or []
    if needed and ENCODER_REQUIREMENT not in known:
        nlp.meta["requirements"] = [*known, ENCODER_REQUIREMENT]

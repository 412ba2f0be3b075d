"""Register functions that put a head on an encoder, with the settings of its module."""

from typing import Any, Callable, List, Type

from spacy.tokens import Doc
from spacy.util import registry
from thinc.api import Model
from thinc.types import Floats2d

from ..settings import expand
from ..spans.table import SpanTable
from .span_model import SpanInput

Encoder = Model[List[Doc], List[Floats2d]]
SpanModel = Model[SpanInput, SpanTable]


def span_architecture(
    name: str, settings_type: Type[Any]
) -> Callable[[Callable[[Encoder, Any], SpanModel]], Callable[..., SpanModel]]:
    """Decorate a function of an encoder and settings to register it.

    The registered function takes each setting by its name, as blocks of a config do.

    name (str): name of the architecture.
    settings_type (Type): dataclass with the settings of the module.
    RETURNS (Callable): the decorator.
    """

    def register(build: Callable[[Encoder, Any], SpanModel]) -> Callable:
        def build_from_config(tok2vec: Encoder, **chosen: Any) -> SpanModel:
            return build(tok2vec, settings_type(**chosen))

        build_from_config.__doc__ = build.__doc__
        build_from_config.__name__ = build_from_config.__qualname__ = build.__name__
        build_from_config.__module__ = build.__module__
        expand(build_from_config, settings_type)
        registered: Callable = registry.architectures(name, func=build_from_config)
        return registered

    return register

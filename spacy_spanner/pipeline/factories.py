"""Register a span model as a spaCy factory.

A factory's arguments are the shared settings and the fields of the model's codec:
names, types and defaults come from these two dataclasses and stand nowhere else.
"""

from dataclasses import MISSING, Field, fields
from inspect import Parameter, Signature
from typing import Any, Callable, Dict, List, Optional, Type, get_type_hints

from spacy.language import Language
from thinc.api import Config, Model

from ..settings import DEFAULT_SPANS_KEY, SpanSettings
from .component import SpanRecognizer

DEFAULT_SCORE_WEIGHTS: Dict[str, Optional[float]] = {
    f"spans_{DEFAULT_SPANS_KEY}_f": 1.0,
    f"spans_{DEFAULT_SPANS_KEY}_p": 0.0,
    f"spans_{DEFAULT_SPANS_KEY}_r": 0.0,
}

# Encoder of every model when none is chosen: small, fast, no pretraining needed.
DEFAULT_ENCODER = """
[model.tok2vec]
@architectures = "spacy.HashEmbedCNN.v2"
pretrained_vectors = null
width = 96
depth = 4
embed_size = 2000
window_size = 1
maxout_pieces = 3
subword_features = true
"""

SCORER = {"@scorers": "spacy_spanner.spans_scorer.v1"}

# The codec of every factory of this package that has been loaded.
codec_types: Dict[str, Type[Any]] = {}


def register_span_factory(
    name: str, *, codec_type: Type[Any], model_config: str, **defaults: Any
) -> Callable[..., SpanRecognizer]:
    """Make a factory for `nlp.add_pipe` and register it.

    name (str): name of the factory.
    codec_type (Type[SpanCodec]): the codec's class; its fields become settings.
    model_config (str): config text with the block [model], down to the encoder.
    **defaults: settings whose default differs for this model.
    RETURNS (Callable): the factory function.
    """
    codec_types[name] = codec_type
    settings = {**_defaults(SpanSettings), **_defaults(codec_type), **defaults}

    def make_component(
        nlp: Language,
        name: str,
        model: Model,
        scorer: Optional[Callable] = None,
        **chosen: Any,
    ) -> SpanRecognizer:
        return SpanRecognizer(
            nlp.vocab,
            model,
            name,
            codec_type=codec_type,
            scorer=scorer,
            **{**settings, **chosen},
        )

    _declare(make_component, codec_type, settings)
    make_component.__doc__ = f"Create a {name!r} component; see its codec for settings."
    model = Config().from_str(model_config + DEFAULT_ENCODER)["model"]
    Language.factory(
        name,
        assigns=["doc.spans"],
        default_config={"model": model, "scorer": SCORER, **settings},
        default_score_weights=DEFAULT_SCORE_WEIGHTS,
        func=make_component,
    )
    return make_component


def _defaults(settings_type: Type[Any]) -> Dict[str, Any]:
    return {field.name: _default(field) for field in fields(settings_type)}


def _default(field: Field) -> Any:
    if field.default_factory is not MISSING:
        return field.default_factory()
    return field.default


def _declare(
    function: Callable, codec_type: Type[Any], settings: Dict[str, Any]
) -> None:
    """Give the function the signature that spaCy's config validation reads."""
    hints = {**get_type_hints(SpanSettings), **get_type_hints(codec_type)}
    own = [
        parameter
        for parameter in Signature.from_callable(function).parameters.values()
        if parameter.kind is not Parameter.VAR_KEYWORD
    ]
    added: List[Parameter] = [
        Parameter(key, Parameter.KEYWORD_ONLY, default=value, annotation=hints[key])
        for key, value in settings.items()
    ]
    function.__signature__ = Signature(own + added)  # type: ignore[attr-defined]
    function.__annotations__.update({key: hints[key] for key in settings})

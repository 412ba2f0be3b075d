"""Register a span model as a spaCy factory.

A factory's arguments are the shared settings and the fields of the model's codec:
names, types, defaults and descriptions come from these two dataclasses.
"""

from typing import Any, Callable, Dict, Optional, Type

from spacy.language import Language
from spacy.util import registry
from thinc.api import Model

from ..models.codec import SpanCodec
from ..settings import DEFAULT_SPANS_KEY, SpanSettings, defaults_of, expand
from .component import SpanRecognizer
from .requirements import add_requirements
from .span_scores import register_scores

DEFAULT_SCORE_WEIGHTS: Dict[str, Optional[float]] = {
    f"spans_{DEFAULT_SPANS_KEY}_f": 1.0,
    f"spans_{DEFAULT_SPANS_KEY}_p": 0.0,
    f"spans_{DEFAULT_SPANS_KEY}_r": 0.0,
}

# The default encoder of every model: small, fast, no pretraining needed.
DEFAULT_ENCODER = {
    "@architectures": "spacy.HashEmbedCNN.v2",
    "pretrained_vectors": None,
    "width": 96,
    "depth": 4,
    "embed_size": 2000,
    "window_size": 1,
    "maxout_pieces": 3,
    "subword_features": True,
}

SCORER = {"@scorers": "spacy_spanner.spans_scorer.v1"}

# The codec of every registered factory, by name.
codec_types: Dict[str, Type[SpanCodec]] = {}


def register_span_factory(
    name: str, *, codec_type: Type[SpanCodec], architecture: str, **defaults: Any
) -> Callable[..., SpanRecognizer]:
    """Make a factory for `nlp.add_pipe` and register it.

    name (str): name of the factory.
    codec_type (Type[SpanCodec]): the codec's class; its fields become settings.
    architecture (str): registered name of the architecture; its defaults become those
        of the block [model].
    **defaults: shared settings whose default differs for this model.
    RETURNS (Callable): the factory function.
    """
    codec_types[name] = codec_type
    settings = {**defaults_of(SpanSettings), **defaults_of(codec_type), **defaults}
    make_component = _component_maker(codec_type, settings)
    expand(make_component, SpanSettings, codec_type, **defaults)
    model = {"@architectures": architecture, "tok2vec": DEFAULT_ENCODER}
    filled = registry.fill({"model": model})
    Language.factory(
        name,
        assigns=["doc.spans"],
        default_config={**filled, "scorer": SCORER, **settings},
        default_score_weights=DEFAULT_SCORE_WEIGHTS,
        func=make_component,
    )
    return make_component


def _component_maker(
    codec_type: Type[SpanCodec], settings: Dict[str, Any]
) -> Callable[..., SpanRecognizer]:
    """RETURNS (Callable): makes components; settings that are not given have these."""

    def make_component(
        nlp: Language,
        name: str,
        model: Model,
        scorer: Optional[Callable] = None,
        **chosen: Any,
    ) -> SpanRecognizer:
        """Create a component that recognizes spans.

        nlp (Language): the pipeline.
        name (str): name of the component in the pipeline.
        model (Model): see `build_span_model`.
        scorer (Optional[Callable]): scores predictions; see `make_spans_scorer`.
        RETURNS (SpanRecognizer): the component.
        """
        add_requirements(nlp, model)
        register_scores()
        return SpanRecognizer(
            nlp.vocab,
            model,
            name,
            codec_type=codec_type,
            scorer=scorer,
            defaults=settings,
            **{**settings, **chosen},
        )

    return make_component

"""A complete config to start from: any model of this package on any encoder."""

from typing import Any, Dict, List, NamedTuple, Optional, Sequence

import spacy
from spacy.language import Language
from spacy.util import registry
from thinc.api import Config

from ..errors import Errors
from ..pipeline.factories import codec_types
from ..settings import DEFAULT_SPANS_KEY, one_of, require
from ..spans.windows import WINDOW_MODES

CNN = "cnn"
PREFIX = "span_"
CARD = {"@callbacks": "spacy_spanner.model_card.v1"}


class Recipe(NamedTuple):
    """How an encoder is trained.

    steps (int): batches to train on.
    patience (int): steps without improvement before training stops; 0 where a schedule
        ends it.
    words (int): words in a batch on the CPU; on a GPU there are more.
    eval_frequency (int): steps between two looks at the development data.
    """

    steps: int
    patience: int
    words: int
    eval_frequency: int


RECIPES = {
    True: Recipe(steps=20_000, patience=1600, words=400, eval_frequency=200),
    False: Recipe(steps=4_000, patience=0, words=160, eval_frequency=200),
}
WORDS_ON_GPU = 2000
# Scores of a sentencizer, which would count as much as those of the spans.
SENTENCE_SCORES = ("sents_f", "sents_p", "sents_r")
WARM_UP = 0.1  # share of the steps
ENCODER_RATE, HEAD_RATE = 5e-5, 1e-3


class Wishes(NamedTuple):
    """What a config shall be for.

    model (str): a factory of this package, with or without "span_".
    lang (str): language code.
    encoder (str): "cnn" for spaCy's HashEmbedCNN; everything else names a transformer:
        "minilm", a folder, or a name on the hub.
    gpu (bool): whether it will be trained on a GPU.
    window (str): see `SpanSettings`.
    labels (Sequence[str]): if they are known; else they come from the data.
    spans_key (str): the group that holds the gold.
    steps (Optional[int]): batches to train on, if not as many as usual.
    sentencizer (bool): whether a sentencizer finds the sentences that windows follow;
        not needed where documents are single sentences.
    """

    model: str
    lang: str = "en"
    encoder: str = CNN
    gpu: bool = False
    window: str = "sentence"
    labels: Sequence[str] = ()
    spans_key: str = DEFAULT_SPANS_KEY
    steps: Optional[int] = None
    sentencizer: bool = True

    @property
    def recipe(self) -> Recipe:
        """How the encoder is trained."""
        return RECIPES[self.encoder == CNN]

    def heading(self, file: str) -> str:
        """RETURNS (str): what a config of that name is, and how it is used."""
        gpu = " --gpu-id 0" if self.gpu else ""
        return (
            f"{self.model} on {self.encoder}, for {self.lang}. To train it:\n"
            f"python -m spacy train {file} --output training --paths.train "
            f"train.spacy --paths.dev dev.spacy{gpu}"
        )


def build_config(wishes: Wishes) -> Config:
    """Build a training config.

    wishes (Wishes): what it is for.
    RETURNS (Config): complete, not interpolated; the paths are null.
    RAISES (ValueError): SP076 for an unknown model, SP002 for an unknown window.
    """
    require(one_of(WINDOW_MODES), window=wishes.window)
    nlp = spacy.blank(wishes.lang)  # also finds the factories
    factory = find_factory(wishes.model)
    config = Config(nlp.config.copy())
    config["vars"] = {"spans_key": wishes.spans_key}
    needed = wishes.sentencizer and wishes.window == "sentence"
    sentences = ["sentencizer"] if needed else []
    config["nlp"]["pipeline"] = [*sentences, factory]
    config["components"] = {name: component_block(nlp, name) for name in sentences}
    config["components"][factory] = _span_component(nlp, factory, wishes)
    config["system"]["gpu_allocator"] = "pytorch" if wishes.gpu else None
    config["training"].update(_training(wishes, sentences))
    if wishes.labels:
        labels = {"labels": list(wishes.labels)}
        config["initialize"]["components"] = {factory: labels}
    return config


def find_factory(model: str) -> str:
    """RETURNS (str): the factory that is meant. RAISES (ValueError): SP076."""
    name = model if model.startswith(PREFIX) else f"{PREFIX}{model}"
    if name not in codec_types:
        existing = ", ".join(sorted(codec_types))
        raise ValueError(Errors.SP076.format(model=model, existing=existing))
    return name


def component_block(nlp: Language, factory: str) -> Dict[str, Any]:
    """RETURNS (Dict[str, Any]): the block of a component, with all its settings."""
    default = Config(nlp.get_factory_meta(factory).default_config)
    return {"factory": factory, **default.copy()}


def filled(block: Dict[str, Any]) -> Dict[str, Any]:
    """RETURNS (Dict[str, Any]): the block of a registered function and the blocks in
    it, with the defaults of all arguments that they leave out.
    """
    return dict(registry.fill({"block": block}, validate=False)["block"])


def _span_component(nlp: Language, factory: str, wishes: Wishes) -> Dict[str, Any]:
    block = component_block(nlp, factory)
    block.update(spans_key="${vars.spans_key}", window=wishes.window)
    block["seed"] = "${system.seed}"
    if wishes.encoder != CNN:
        encoder = {
            "@architectures": "spacy_spanner.Transformer.v1",
            "name": wishes.encoder,
            "mixed_precision": wishes.gpu,
        }
        block["model"]["tok2vec"] = filled(encoder)
    return block


def _training(wishes: Wishes, sentences: List[str]) -> Dict[str, Any]:
    """RETURNS (Dict[str, Any]): what differs from spaCy's own [training]."""
    recipe = wishes.recipe
    prefix = f"spans_{wishes.spans_key}"
    scores: Dict[str, Optional[float]] = {
        f"{prefix}_f": 1.0,
        f"{prefix}_p": 0.0,
        f"{prefix}_r": 0.0,
    }
    if sentences:
        scores.update(dict.fromkeys(SENTENCE_SCORES))
    return {
        "dropout": 0.1,
        "patience": recipe.patience,
        "max_steps": wishes.steps or recipe.steps,
        "eval_frequency": recipe.eval_frequency,
        "annotating_components": sentences,
        "before_to_disk": CARD,
        "batcher": {
            "@batchers": "spacy.batch_by_words.v1",
            "size": WORDS_ON_GPU if wishes.gpu else recipe.words,
            "tolerance": 0.2,
            "discard_oversize": False,
            "get_length": None,
        },
        "optimizer": _optimizer(wishes),
        "score_weights": scores,
    }


def _optimizer(wishes: Wishes) -> Dict[str, Any]:
    """RETURNS (Dict[str, Any]): Adam for the CNN, AdamW with schedules for others."""
    if wishes.encoder == CNN:
        return {
            "@optimizers": "Adam.v1",
            "beta1": 0.9,
            "beta2": 0.999,
            "L2_is_weight_decay": True,
            "L2": 0.01,
            "grad_clip": 1.0,
            "use_averages": False,
            "eps": 1e-8,
            "learn_rate": 0.001,
        }
    steps = wishes.steps or wishes.recipe.steps
    warm_up = {
        "@schedules": "warmup_linear.v1",
        "warmup_steps": max(1, round(WARM_UP * steps)),
        "total_steps": steps,  # no variable: optimizers are resolved alone, too
    }
    return {
        "@optimizers": "spacy_spanner.AdamW.v1",
        "weight_decay": 0.01,
        "grad_clip": 1.0,
        "beta1": 0.9,
        "beta2": 0.999,
        "eps": 1e-8,
        "frozen_steps": 0,
        "use_averages": False,
        "encoder": {**warm_up, "initial_rate": ENCODER_RATE},
        "head": {**warm_up, "initial_rate": HEAD_RATE},
    }

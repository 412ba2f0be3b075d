"""Build a complete training config for any model of this package on any encoder."""

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


class Plan(NamedTuple):
    """How long and in which batches an encoder is trained.

    steps (int): number of batches to train on.
    patience (int): steps without improvement before training stops; 0 to train all
        steps.
    words (int): words per batch on the CPU.
    eval_frequency (int): steps between evaluations on the development data.
    """

    steps: int
    patience: int
    words: int
    eval_frequency: int


CNN_PLAN = Plan(steps=20_000, patience=1600, words=400, eval_frequency=200)
TRANSFORMER_PLAN = Plan(steps=4_000, patience=0, words=160, eval_frequency=200)
WORDS_ON_GPU = 2000
# Scores of the sentencizer; without a weight of null they would count as much as the
# scores of the spans.
SENTENCE_SCORES = ("sents_f", "sents_p", "sents_r")
WARM_UP = 0.1  # share of the steps
ENCODER_RATE, HEAD_RATE = 5e-5, 1e-3


class Wishes(NamedTuple):
    """The options of a starter config.

    model (str): a factory of this package, with or without "span_".
    lang (str): language code.
    encoder (str): "cnn" for spaCy's HashEmbedCNN, or a transformer: "minilm", a folder,
        or a name on the Hugging Face hub.
    gpu (bool): whether to train on a GPU.
    window (str): see `SpanSettings`.
    labels (Sequence[str]): the labels; if empty, they are read from the data.
    spans_key (str): the span group with the gold annotation.
    steps (Optional[int]): batches to train on; None for the encoder's default.
    sentencizer (bool): whether to add a sentencizer if `window` is "sentence". Not
        needed if each document is a single sentence.
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
    def plan(self) -> Plan:
        """How the encoder is trained."""
        plan = CNN_PLAN if self.encoder == CNN else TRANSFORMER_PLAN
        return plan._replace(steps=self.steps or plan.steps)

    def heading(self, file: str) -> str:
        """RETURNS (str): what the config is for, and the command that trains it."""
        gpu = " --gpu-id 0" if self.gpu else ""
        return (
            f"{self.model} on {self.encoder}, for {self.lang}. To train it:\n"
            f"python -m spacy train {file} --output training --paths.train "
            f"train.spacy --paths.dev dev.spacy{gpu}"
        )


def build_config(wishes: Wishes) -> Config:
    """Build a training config.

    wishes (Wishes): the options.
    RETURNS (Config): complete, not interpolated; the paths are null.
    RAISES (ValueError): SP076 for an unknown model, SP002 for an unknown window.
    """
    require(one_of(WINDOW_MODES), window=wishes.window)
    nlp = spacy.blank(wishes.lang)  # this also loads the factories
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
    """RETURNS (str): the factory of a model, which is named with or without "span_".

    RAISES (ValueError): SP076 for an unknown model.
    """
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
    """RETURNS (Dict[str, Any]): the settings that differ from spaCy's [training]."""
    plan = wishes.plan
    weights = {"f": 1.0, "p": 0.0, "r": 0.0}
    scores: Dict[str, Optional[float]] = {
        f"spans_{wishes.spans_key}_{score}": weight for score, weight in weights.items()
    }
    if sentences:
        scores.update(dict.fromkeys(SENTENCE_SCORES))
    return {
        "dropout": 0.1,
        "patience": plan.patience,
        "max_steps": plan.steps,
        "eval_frequency": plan.eval_frequency,
        "annotating_components": sentences,
        "before_to_disk": CARD,
        "batcher": {
            "@batchers": "spacy.batch_by_words.v1",
            "size": WORDS_ON_GPU if wishes.gpu else plan.words,
            "tolerance": 0.2,
            "discard_oversize": False,
            "get_length": None,
        },
        "optimizer": _optimizer(wishes),
        "score_weights": scores,
    }


def _optimizer(wishes: Wishes) -> Dict[str, Any]:
    """RETURNS (Dict[str, Any]): Adam for the CNN, else AdamW with warm-up."""
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
    steps = wishes.plan.steps
    warm_up = {
        "@schedules": "warmup_linear.v1",
        "warmup_steps": max(1, round(WARM_UP * steps)),
        "total_steps": steps,  # no variable: the block is also resolved on its own
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

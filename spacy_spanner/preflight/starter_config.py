"""Build a complete training config for any model of this package on any encoder."""

from copy import deepcopy
from shlex import quote
from typing import Any, Dict, List, NamedTuple, Optional, Sequence

import spacy
import torch
from spacy.language import Language
from spacy.util import registry
from thinc.api import Config

from ..encoders.pretrained import has_bfloat16
from ..errors import Errors
from ..evaluation.auto_threshold import MIN_GOLD
from ..pipeline.config_checks import plan_evaluations
from ..pipeline.factories import codec_types
from ..settings import AUTO, DEFAULT_SPANS_KEY, one_of, require
from ..spans.windows import WINDOW_MODES
from .languages import adapted_encoder

CNN = "cnn"
PREFIX = "span_"
OUTPUT = "training"
CHECKPOINT = f"{OUTPUT}/checkpoint"
# Called in this order: the card says which thresholds were chosen.
BEFORE_TO_DISK = {
    "@callbacks": "spacy_spanner.callbacks.v1",
    "callbacks": {
        "threshold": {
            "@callbacks": "spacy_spanner.auto_threshold.v1",
            "limit": 0,
            "min_gold": MIN_GOLD,
        },
        "card": {"@callbacks": "spacy_spanner.model_card.v1"},
    },
}


class Plan(NamedTuple):
    """How long and in which batches an encoder is trained.

    steps (int): number of batches to train on.
    patience (int): steps without improvement before training stops; 0 to train all
        steps.
    words (int): words per batch on the CPU.
    """

    steps: int
    patience: int
    words: int


CNN_PLAN = Plan(steps=20_000, patience=1600, words=400)
TRANSFORMER_PLAN = Plan(steps=4_000, patience=0, words=160)
WORDS_ON_GPU = 2000
# Scores of the sentencizer; without a weight of null they would count as much as the
# scores of the spans.
SENTENCE_SCORES = ("sents_f", "sents_p", "sents_r")
WARM_UP = 0.1  # share of the steps
# The highest rates. Heads learn far less with the usual 1e-3, and so do small encoders
# with the usual 5e-5.
HEAD_RATE = 4e-3
ENCODER_RATE = 5e-5
SMALL_ENCODER_RATES = {"minilm": 2e-4}


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
    steps (Optional[int]): batches to train on, up to a few more so that evaluations
        divide them evenly; None for the encoder's default.
    sentencizer (bool): whether to add a sentencizer if `window` is "sentence". Not
        needed if each document is a single sentence.
    checkpoint (bool): whether to save checkpoints, so that the run can be resumed.
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
    checkpoint: bool = False

    @property
    def plan(self) -> Plan:
        """How the encoder is trained."""
        plan = CNN_PLAN if self.encoder == CNN else TRANSFORMER_PLAN
        return plan._replace(steps=plan_evaluations(self.steps or plan.steps)[0])

    def commands(self, file: str) -> List[str]:
        """RETURNS (List[str]): the commands that train the config, each with what it is
        for in the line above.
        """
        gpu = " --gpu-id 0" if self.gpu else ""
        data = "--paths.train train.spacy --paths.dev dev.spacy"
        lines = [
            "To check your data:",
            f"python -m spacy spanner debug-data {quote(file)} {data}",
            "To train:",
            f"python -m spacy train {quote(file)} --output {OUTPUT} {data}{gpu}",
        ]
        if self.checkpoint:
            again = (
                f"python -m spacy spanner resume {CHECKPOINT} --output {OUTPUT}{gpu}"
            )
            lines += ["To resume an interrupted training:", again]
        return lines

    def heading(self, file: str) -> str:
        """RETURNS (str): what the config is for, and the commands that train it."""
        about = f"{self.model} on {self.encoder}, for {self.lang}."
        return "\n".join([about, *self.commands(file)])


def build_config(wishes: Wishes) -> Config:
    """Build a training config.

    wishes (Wishes): the options.
    RETURNS (Config): complete, not interpolated; the paths are null.
    RAISES (ValueError): SP076 for an unknown model, SP002 for an unknown window, SP084
        for a tokenizer that is not installed.
    """
    require(one_of(WINDOW_MODES), window=wishes.window)
    nlp = blank_pipeline(wishes.lang)  # this also loads the factories
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
    if wishes.checkpoint:
        config["paths"]["checkpoint"] = CHECKPOINT
        config["training"]["before_update"] = {
            "@callbacks": "spacy_spanner.checkpoint.v1",
            "path": "${paths.checkpoint}",
            "every": 1,
        }
    if wishes.labels:
        labels = {"labels": list(wishes.labels)}
        config["initialize"]["components"] = {factory: labels}
    return config


def blank_pipeline(lang: str) -> Language:
    """RETURNS (Language): a blank pipeline.

    RAISES (ValueError): SP084 if the tokenizer needs a package that is not installed.
    """
    try:
        return spacy.blank(lang)
    except ImportError as error:
        if "[E048]" in str(error):  # unknown language
            raise
        raise ValueError(Errors.SP084.format(lang=lang, problem=error)) from error


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


def _gpu_has_bfloat16() -> bool:
    """RETURNS (bool): False if the GPU of this machine would only emulate it."""
    return not torch.cuda.is_available() or has_bfloat16(torch.device("cuda"))


def _span_component(nlp: Language, factory: str, wishes: Wishes) -> Dict[str, Any]:
    block = component_block(nlp, factory)
    block.update(spans_key="${vars.spans_key}", window=wishes.window)
    block.update(seed="${system.seed}", threshold=AUTO)
    if wishes.encoder != CNN:
        encoder = {
            "@architectures": "spacy_spanner.Transformer.v1",
            "name": wishes.encoder,
            "mixed_precision": wishes.gpu and _gpu_has_bfloat16(),
        }
        block["model"]["tok2vec"] = filled(encoder)
    block["model"]["tok2vec"] = adapted_encoder(block["model"]["tok2vec"], nlp)
    return block


def _training(wishes: Wishes, sentences: List[str]) -> Dict[str, Any]:
    """RETURNS (Dict[str, Any]): the settings that differ from spaCy's [training]."""
    plan = wishes.plan
    frequency = plan_evaluations(plan.steps)[1]
    weights = {"f": 1.0, "p": 0.0, "r": 0.0}
    scores: Dict[str, Optional[float]] = {
        f"spans_{wishes.spans_key}_{score}": weight for score, weight in weights.items()
    }
    if sentences:
        scores.update(dict.fromkeys(SENTENCE_SCORES))
    return {
        "dropout": 0.1,
        "patience": plan.patience + -plan.patience % frequency,
        "max_steps": plan.steps,
        "eval_frequency": frequency,
        "annotating_components": sentences,
        "before_to_disk": deepcopy(BEFORE_TO_DISK),
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
    encoder_rate = SMALL_ENCODER_RATES.get(wishes.encoder, ENCODER_RATE)
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
        "encoder": {**warm_up, "initial_rate": encoder_rate},
        "head": {**warm_up, "initial_rate": HEAD_RATE},
    }

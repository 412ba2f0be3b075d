"""spaCy's own training loop, called in one place."""

from typing import Any, Callable, Dict, Iterable, Iterator, Optional, Tuple

from spacy.language import Language
from spacy.schemas import ConfigSchemaTraining
from spacy.training.loop import (
    create_evaluation_callback,
    create_train_batches,
    train_while_improving,
)
from spacy.util import fix_random_seed, registry, resolve_dot_names

Batch = Any
Info = Dict[str, Any]
Evaluate = Callable[[], Tuple[float, Dict[str, Any]]]
# A batch, what spaCy tells its loggers after it, and whether the pipeline is the best
# so far; None if it was not evaluated.
Step = Tuple[Batch, Info, Optional[bool]]


def training_settings(nlp: Language) -> Dict[str, Any]:
    """Set the seed and resolve `[training]`, in the order of spaCy's `train`.

    nlp (Language): an initialized pipeline with its config.
    RETURNS (Dict[str, Any]): the block.
    """
    config = nlp.config.interpolate()
    if config["training"]["seed"] is not None:
        fix_random_seed(config["training"]["seed"])
    return registry.resolve(config["training"], schema=ConfigSchemaTraining)


def data_of(
    nlp: Language, training: Dict[str, Any]
) -> Tuple[Iterator[Tuple[int, Batch]], Evaluate]:
    """Find what a pipeline learns from and is measured on.

    training (Dict[str, Any]): the block of the config, resolved.
    RETURNS (Tuple[Iterator, Callable]): epochs and batches; and spaCy's evaluation.
    """
    names = [training["train_corpus"], training["dev_corpus"]]
    train_corpus, dev_corpus = resolve_dot_names(nlp.config.interpolate(), names)
    batches = create_train_batches(
        nlp, train_corpus, training["batcher"], training["max_epochs"]
    )
    return batches, create_evaluation_callback(
        nlp, dev_corpus, training["score_weights"]
    )


def run_steps(
    nlp: Language,
    training: Dict[str, Any],
    batches: Iterable[Tuple[int, Batch]],
    evaluate: Evaluate,
) -> Iterator[Step]:
    """Train until the end that the settings name.

    training (Dict[str, Any]): the block of the config, resolved.
    batches (Iterable[Tuple[int, Batch]]): with the epoch of each.
    evaluate (Evaluate): called after steps that `eval_frequency` divides.
    YIELDS (Step): one for each batch.
    """
    yield from train_while_improving(
        nlp,
        training["optimizer"],
        batches,
        evaluate,
        dropout=training["dropout"],
        accumulate_gradient=training["accumulate_gradient"],
        patience=training["patience"],
        max_steps=training["max_steps"],
        eval_frequency=training["eval_frequency"],
        exclude=training["frozen_components"],
        annotating_components=training["annotating_components"],
        before_update=training["before_update"],
    )

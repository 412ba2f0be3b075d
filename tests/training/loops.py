"""A training step by step, as in spaCy's loop."""

from typing import Any, Dict

from spacy.language import Language
from thinc.api import Model, fix_random_seed

from spacy_spanner.training.optimizer import make_adamw
from spacy_spanner.training.owners import Key, Owner, owners_of

from ..helpers import NESTED, blank_pipeline, make_examples
from ..runs import NAME


def owners_in(nlp: Language) -> Dict[Key, Owner]:
    """Find where all tensors of a pipeline belong."""
    models = [getattr(pipe, "model", None) for _, pipe in nlp.components]
    found = [owners_of(m, nlp.components) for m in models if isinstance(m, Model)]
    return {key: owner for owners in found for key, owner in owners.items()}


class UnboundProxy:
    """A proxy outside of its context, such as those of web frameworks."""

    @property  # type: ignore[misc]
    def __class__(self) -> type:
        raise RuntimeError("working outside of a context")


class Loop:
    """Calls callback, update and evaluation as spaCy's training loop does."""

    def __init__(self, eval_frequency: int = 2) -> None:
        self.nlp = blank_pipeline(NAME, spans_key="ents")
        weights = {"one": 0.75, "two": 0.25, "three": None}
        self.nlp.config["training"].update(
            optimizer={"@optimizers": "spacy_spanner.AdamW.v1"},
            eval_frequency=eval_frequency,
            score_weights={**weights, "spans_ents_f": None},
        )
        self.examples = make_examples(self.nlp, NESTED)
        fix_random_seed(0)
        self.nlp.initialize(lambda: self.examples)
        self.optimizer = make_adamw()
        self.step = 0

    def run(self, callback: Any, steps: int) -> None:
        for _ in range(steps):
            callback(self.nlp, {"step": self.step, "epoch": self.step // 4})
            self.nlp.update(self.examples, sgd=self.optimizer)
            self.optimizer.step_schedules()
            scores = {"one": float(self.step), "two": 4.0, "three": {"ORG": 1.0}}
            self.nlp.meta["performance"] = scores
            self.step += 1

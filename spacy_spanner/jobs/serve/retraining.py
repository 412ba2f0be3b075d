"""Train a copy of the pipeline on submitted tasks, and let the server use it.

The copy learns in a thread of its own, while the server answers with the pipeline that
it has. The new pipeline is stored first, and then replaces the old one between two
batches.
"""

import logging
import random
import warnings
from dataclasses import dataclass
from pathlib import Path
from threading import Event, Lock, Thread
from typing import Any, Callable, Dict, Iterator, List, Optional, Set

from spacy.language import Language
from spacy.tokens import Doc
from spacy.training import Example
from spacy.util import load_model, minibatch
from thinc.api import Optimizer

from ...errors import Warnings
from ...evaluation.predicting import find_source
from ...files import new_folder
from ..annotate.annotator import SpanAnnotator, describe
from .submissions import AnnotatedTasks, SubmittedTasks

LOG = logging.getLogger("uvicorn.error")
MODEL_FOLDER, TASKS_FOLDER = "model-last", "tasks"


@dataclass(frozen=True)
class TrainingPlan:
    """How to train on submitted tasks.

    after (int): annotations to wait for.
    output (Path): folder for tasks and pipelines.
    epochs (int): passes over all tasks.
    batch (int): documents in a batch.
    drop (float): dropout.
    seed (int): of the order of documents.
    """

    after: int
    output: Path
    epochs: int = 10
    batch: int = 16
    drop: float = 0.1
    seed: int = 0


class Retraining:
    """Collects tasks, and trains when there are enough.

    plan (TrainingPlan): how to train.
    current (SpanAnnotator): the pipeline to start from; its copies have its settings.
        Its name and version are in `name`.
    use (Callable): called with each new pipeline.
    """

    def __init__(
        self,
        plan: TrainingPlan,
        current: SpanAnnotator,
        use: Callable[[SpanAnnotator], None],
    ) -> None:
        self.plan = plan
        self.current = current
        self.use = use
        self.tasks = SubmittedTasks(plan.output / TASKS_FOLDER)
        self.name = name_of(current.nlp)
        self.rounds = 0
        self.problem = ""
        self._lock = Lock()
        self._stop = Event()
        self._thread: Optional[Thread] = None

    @property
    def is_training(self) -> bool:
        """Whether a training is going on."""
        return self._thread is not None and self._thread.is_alive()

    def state(self) -> Dict[str, Any]:
        """RETURNS (Dict[str, Any]): for `GET /health`."""
        return {
            "tasks": len(self.tasks),
            "new_annotations": self.tasks.fresh,
            "is_training": self.is_training,
            "rounds": self.rounds,
            "problem": self.problem or None,
        }

    def begin_if_due(self) -> None:
        """Train if enough annotations have come since the last training."""
        if self.tasks.fresh >= self.plan.after:
            self.begin()

    def begin(self) -> None:
        """Train, unless a training is going on."""
        with self._lock:
            if self.is_training or self._stop.is_set() or not len(self.tasks):
                return
            self._thread = Thread(target=self._run, name="training", daemon=True)
            self._thread.start()

    def close(self) -> None:
        """Stop a training after its step; what was submitted is stored anyway."""
        self._stop.set()
        with self._lock:
            thread = self._thread
        if thread is not None:
            thread.join()  # without the lock, which the thread needs to end

    def _run(self) -> None:
        while True:
            self.tasks.count()
            try:
                self._train()
                self.problem = ""
            except Exception as error:  # the server goes on with the pipeline it has
                self.problem = describe(error)
                warnings.warn(Warnings.SW212.format(problem=self.problem))
            with self._lock:
                # Those that came meanwhile may be enough again; those that come from
                # here on begin a training of their own.
                if self._stop.is_set() or self.tasks.fresh < self.plan.after:
                    self._thread = None
                    return

    def _train(self) -> None:
        nlp = load_model(self.current.model)
        key = self.current.key
        source = find_source(nlp, key)
        found = self.tasks.annotated(nlp, source.key)
        _warn_of_lost(found, source.key)
        if not found.docs:
            return
        LOG.info("Training on %d tasks", len(found.docs))
        optimizer = learn(nlp, source.name, found.docs, self.plan, self._stop)
        if optimizer is None:
            return
        nlp.meta["version"] = next_version(nlp.meta["version"])
        folder = self.plan.output / MODEL_FOLDER
        with (
            new_folder(folder, force=True) as draft,
            nlp.use_params(optimizer.averages),
        ):
            nlp.to_disk(draft)
        self._use(folder)

    def _use(self, folder: Path) -> None:
        """Load the stored pipeline with the settings of the current one."""
        old = self.current
        fresh = SpanAnnotator(
            str(folder),
            spans_key=old.spans_key,
            batch_size=old.batch_size,
            gpu_id=old.gpu_id,
            threads=old.threads,
            memory_zone=old.memory_zone,
        )
        _ = fresh.nlp  # loads it
        self.use(fresh)
        self.current, self.name = fresh, name_of(fresh.nlp)
        self.rounds += 1
        LOG.info("Using the pipeline of training %d: %s", self.rounds, folder)


def name_of(nlp: Language) -> str:
    """RETURNS (str): name and version of a pipeline, as packages have them."""
    meta = nlp.meta
    return f"{meta['lang']}_{meta['name']}-{meta['version']}"


def next_version(version: str) -> str:
    """Count the trainings in the version, so that a pipeline that is served again does
    not use a version twice.

    >>> next_version("1.2.0"), next_version("1.2.0+1"), next_version("1.2.0+fast")
    ('1.2.0+1', '1.2.0+2', '1.2.0+fast.1')
    """
    base, _, local = version.partition("+")
    parts = local.split(".") if local else []
    count = int(parts.pop()) if parts and parts[-1].isdecimal() else 0
    return f"{base}+{'.'.join([*parts, str(count + 1)])}"


def _warn_of_lost(found: AnnotatedTasks, key: str) -> None:
    lost = found.lost.n_lost
    if lost:
        kept = sum(len(doc.spans[key]) for doc in found.docs)
        examples = "; ".join(repr(one.text) for one in found.lost.examples)
        message = Warnings.SW211.format(lost=lost, total=lost + kept, examples=examples)
        warnings.warn(message)


def learn(
    nlp: Language, name: Optional[str], docs: List[Doc], plan: TrainingPlan, stop: Event
) -> Optional[Optimizer]:
    """Train one component of a pipeline, and an encoder that only this one uses.

    nlp (Language): the pipeline.
    name (Optional[str]): the component.
    docs (List[Doc]): annotated documents.
    plan (TrainingPlan): how to train.
    stop (Event): ends the training after a step.
    RETURNS (Optional[Optimizer]): the optimizer, which may have averages of the
        weights; None if the training did not come to its end.
    """
    optimizer = nlp.resume_training()
    learners = learning_components(nlp, name)
    others = [one for one in nlp.pipe_names if one not in learners]
    rng = random.Random(plan.seed)
    for batch in _batches(docs, plan, rng):
        if stop.is_set():
            return None
        examples = [Example(nlp.make_doc(doc.text), doc) for doc in batch]
        nlp.update(
            examples, drop=plan.drop, sgd=optimizer, exclude=others, annotates=others
        )
    return optimizer


def _batches(
    docs: List[Doc], plan: TrainingPlan, rng: random.Random
) -> Iterator[List[Doc]]:
    for _ in range(plan.epochs):
        order = list(docs)
        rng.shuffle(order)
        yield from minibatch(order, plan.batch)


def learning_components(nlp: Language, name: Optional[str]) -> Set[str]:
    """RETURNS (Set[str]): the component, and the encoders that only it listens to.
    Other components would suffer if a shared encoder changed.
    """
    learners = {name} if name is not None else set()
    for other, pipe in nlp.pipeline:
        listening = getattr(pipe, "listening_components", None)
        if listening and set(listening) <= learners:
            learners.add(other)
    return {one for one in learners if one is not None}

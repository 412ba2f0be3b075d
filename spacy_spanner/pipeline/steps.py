"""One step of training: from examples to new weights."""

from typing import Any, Callable, Dict, Iterable, List, Optional, Tuple

from spacy.training import Example, validate_examples
from thinc.api import Optimizer, set_dropout_rate

from ..layers.span_model import learn
from ..layers.torch_head import HeadGold, HeadWork
from .label_changes import adapt_model
from .system import memory_explained

# Reads what examples teach.
Read = Callable[[List[Example]], Tuple[HeadWork, HeadGold]]


def learn_from(
    pipe: Any,
    examples: Iterable[Example],
    read: Read,
    drop: float,
    sgd: Any,
    losses: Optional[Dict[str, float]],
) -> Dict[str, float]:
    """Learn from a batch; see `SpanRecognizer.update`.

    pipe (SpanRecognizer): the component.
    read (Callable): reads what the examples teach.
    """
    losses = {} if losses is None else losses
    losses.setdefault(pipe.name, 0.0)
    examples = list(examples)
    validate_examples(examples, "SpanRecognizer.update")
    adapt_model(pipe.model, pipe.cfg, pipe.settings.seed)
    work, gold = read(examples)
    # All processes that learn from shares of a batch must come here, if empty too.
    gold = gold._replace(n_windows=pipe.total_of(gold.n_windows))
    docs = [example.predicted for example in examples]
    if not any(len(doc) for doc in docs):
        return losses
    pipe.freed.before_step(work.plan.n_padded)
    set_dropout_rate(pipe.model, drop)
    with memory_explained(pipe.name, docs, work):
        losses[pipe.name] += learn(pipe.model, docs, work, gold)
    if sgd not in (None, False):
        pipe.finish_update(_keeping(sgd))
    return losses


def _keeping(sgd: Any) -> Any:
    """Let a function keep the gradients that it gets: `nlp.rehearse` collects those of
    all components before it updates their weights, and layers set them to zero.

    sgd (Any): an optimizer, or a function in place of one.
    RETURNS (Any): an optimizer as it is.
    """
    if isinstance(sgd, Optimizer) or not hasattr(sgd, "__closure__"):
        return sgd
    return lambda key, weights, gradient: sgd(key, weights, gradient.copy())

"""One step of training: from examples to new weights."""

import sys
from traceback import walk_stack
from typing import Any, Callable, Dict, Iterable, List, Optional, Tuple

from spacy.language import Language
from spacy.training import Example, validate_examples
from thinc.api import Optimizer, set_dropout_rate

from ..layers.head_work import HeadGold, HeadWork
from ..layers.span_model import learn
from .label_changes import adapt_model
from .system import memory_explained

# The code of spaCy's method, which is recognised on the call stack.
REHEARSE = Language.rehearse.__code__
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
        pipe.finish_update(_updating(sgd))
    return losses


def _updating(sgd: Any) -> Any:
    """Find the optimizer that a step should use.

    `nlp.rehearse` passes components a function that collects gradients, and updates
    with them later, but only with those of the component that came last, and outside of
    `Model.finish_update`. So its optimizer updates each component at once.

    sgd (Any): an optimizer, or a function in place of one.
    RETURNS (Any): the optimizer of the `nlp.rehearse` that made the function; all else
        as it is.
    """
    if isinstance(sgd, Optimizer) or sgd in (None, False):
        return sgd
    for frame, _ in walk_stack(sys._getframe(1)):
        if frame.f_code is REHEARSE and frame.f_locals.get("get_grads") is sgd:
            return frame.f_locals["sgd"]
    return sgd

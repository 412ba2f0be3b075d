"""Measure in which precision a pipeline predicts fastest at nearly the same F1."""

import time
from contextlib import suppress
from pathlib import Path
from typing import Any, Dict, List, NamedTuple, Optional, Sequence

import torch
from spacy.language import Language
from spacy.training import Example

from ..encoders.fast.processor import (
    BFLOAT16,
    FLOAT32,
    INT8,
    describe_processor,
    is_fast,
)
from ..errors import Errors
from ..pipeline.annotations import annotated_spans
from ..pipeline.precision import META_KEY, encoders_of, set_precision
from .card import write_card_to_notes
from .predicting import Track, find_source, predict, read_corpus, untracked
from .scorer import score_spans

MAX_F1_LOSS = 0.3
WARM_UP_DOCS = 8
STATUS, REFERENCES = Path("/proc/self/status"), Path("/proc/self/clear_refs")


class Trial(NamedTuple):
    """What was measured in one precision.

    words_per_second (float): the highest of all rounds.
    f, ece (Optional[float]): F1 and expected calibration error; None without spans.
    memory_mb (Optional[float]): the highest resident size of the process while it
        predicted; None on systems other than Linux.
    """

    precision: str
    words_per_second: float
    f: Optional[float]
    ece: Optional[float]
    memory_mb: Optional[float]


def optimize(
    nlp: Language,
    data: Path,
    *,
    key: Optional[str] = None,
    max_f1_loss: float = MAX_F1_LOSS,
    rounds: int = 2,
    track: Track = untracked,
) -> Dict[str, Any]:
    """Choose the precision of the encoders of a pipeline, and describe the choice in
    its meta and in the notes of its model card.

    nlp (Language): the pipeline; its precision, config and meta are changed.
    data (Path): annotated documents that the pipeline was not trained on.
    key (Optional[str]): the group; see `predicting.find_source`.
    max_f1_loss (float): how much lower than in float32 F1 may be, in percentage points.
    rounds (int): how often to measure the speed; precisions take turns.
    RETURNS (Dict[str, Any]): what is stored in `nlp.meta["precision"]`.
    RAISES (ValueError): SP240 without an encoder of this package, SP241 without gold
        spans, SP071 to SP073 as `predicting` does.
    """
    source = find_source(nlp, key)
    encoder = next(encoders_of(nlp), None)
    if encoder is None:
        raise ValueError(Errors.SP240.format(pipeline=", ".join(nlp.pipe_names)))
    examples = read_corpus(data, nlp, source.key)
    if not any(annotated_spans(eg.reference, source.key) for eg in examples):
        docs = len(examples)
        raise ValueError(Errors.SP241.format(path=data, key=source.key, docs=docs))
    device = next(encoder.module.parameters()).device.type
    usable = [one for one in (FLOAT32, BFLOAT16, INT8) if is_fast(one, device)]
    before = encoder.chosen
    try:
        trials = _try_all(nlp, examples, source.key, usable, rounds, track)
    except BaseException:
        set_precision(nlp, before.precision, emulate=before.emulate)
        raise
    chosen = choose(trials, max_f1_loss)
    set_precision(nlp, chosen.precision)
    found = {
        "chosen": chosen.precision,
        "max_f1_loss": max_f1_loss,
        "documents": len(examples),
        "words": sum(len(eg.predicted) for eg in examples),
        "processor": describe_processor() if device == "cpu" else device,
        "threads": torch.get_num_threads(),
        "torch": torch.__version__,
        "trials": [trial._asdict() for trial in trials],
    }
    nlp.meta[META_KEY] = found
    write_card_to_notes(nlp)
    return found


def choose(trials: Sequence[Trial], max_f1_loss: float) -> Trial:
    """RETURNS (Trial): the fastest whose F1 is at most that much lower than the first.

    trials (Sequence[Trial]): that in float32 first.
    max_f1_loss (float): in percentage points.
    """
    least = (trials[0].f or 0.0) - max_f1_loss / 100
    # F1 of equal spans is computed alike; a tiny loss of a sum is none.
    allowed = [one for one in trials if (one.f or 0.0) >= least - 1e-9]
    return max(allowed, key=lambda one: one.words_per_second)


def _try_all(
    nlp: Language,
    examples: List[Example],
    key: str,
    precisions: Sequence[str],
    rounds: int,
    track: Track,
) -> List[Trial]:
    """RETURNS (List[Trial]): one for each precision, in their order."""
    turns = [one for _ in range(rounds) for one in precisions]
    trials: Dict[str, Trial] = {}
    for precision in track(turns, total=len(turns), what="Measuring"):
        trial = measure(nlp, examples, key, precision)
        known = trials.get(precision, trial)
        speed = max(trial.words_per_second, known.words_per_second)
        trials[precision] = known._replace(words_per_second=speed)
    return list(trials.values())


def measure(nlp: Language, examples: List[Example], key: str, precision: str) -> Trial:
    """RETURNS (Trial): the speed and the scores of a pipeline in a precision, which
    stays set.
    """
    set_precision(nlp, precision)
    predict(nlp, examples[:WARM_UP_DOCS])  # converts the weights
    forget_peak()
    start = clock()
    found = predict(nlp, examples)
    seconds = clock() - start
    memory = peak_memory_mb()
    words = sum(len(eg.predicted) for eg in examples)
    scores = score_spans(found, spans_key=key)
    f, ece = (scores[f"spans_{key}_{name}"] for name in ("f", "ece"))
    return Trial(precision, words / max(seconds, 1e-9), f, ece, memory)


def clock() -> float:
    """RETURNS (float): seconds; of the processor if torch uses a single thread, because
    other programs affect them little.
    """
    return time.process_time() if torch.get_num_threads() == 1 else time.perf_counter()


def forget_peak() -> None:
    """Let `peak_memory_mb` begin at the current size of the process."""
    if REFERENCES.exists():
        # Some containers do not allow it; then the peak is that of all work so far.
        with suppress(OSError):
            REFERENCES.write_text("5", encoding="ascii")


def peak_memory_mb() -> Optional[float]:
    """RETURNS (Optional[float]): the highest resident size of the process in MB; None
    on systems other than Linux.
    """
    if not STATUS.exists():
        return None
    lines = STATUS.read_text(encoding="ascii", errors="replace").splitlines()
    sizes = [float(line.split()[1]) for line in lines if line.startswith("VmHWM")]
    return sizes[0] / 1024 if sizes else None

"""The performance targets that the results are compared with."""

from typing import Any, Dict, Iterator, List, NamedTuple

Rows = List[Dict[str, Any]]

# The encoders as the page names them.
ENCODERS = {"cnn": "CNN", "minilm": "MiniLM"}

# Words per second relative to the encoder alone in the same pipeline (prediction), and
# relative to a plain torch loop with the encoder alone (training).
PREDICTION = {
    "span_biaffine": 0.85,
    "span_locate_label": 0.7,
    "span_diffusion": 0.4,
    "span_offset": 0.6,
}
TRAINING = {
    "span_biaffine": 0.8,
    "span_locate_label": 0.65,
    "span_diffusion": 0.6,
    "span_offset": 0.6,
}
LATENCY = 1.5  # times the encoder alone
IMPORT_SECONDS, ADD_PIPE_SECONDS = 0.3, 1.0
DOCUMENT_TOKENS, DOCUMENT_MB = 100_000, 1_500.0
TRAINING_MB = 2_500.0  # of a process that trains for several epochs and evaluates
GROWTH_MB = 20.0  # left to the allocator


class Target(NamedTuple):
    """A measured value and its limit.

    at_least (bool): whether larger is better.
    """

    name: str
    system: str
    value: float
    limit: float
    at_least: bool

    @property
    def met(self) -> bool:
        """Whether the value is within the limit."""
        if self.at_least:
            return self.value >= self.limit
        return self.value <= self.limit


def find_targets(parts: Dict[str, Rows], trained: Rows) -> Iterator[Target]:
    """Compare the measured values with the targets.

    parts (Dict[str, Rows]): rows by the name of the part.
    trained (Rows): rows of complete training runs with MiniLM.
    YIELDS (Target): in the order of the page.
    """
    yield from _speed(parts.get("speed_minilm_sentences_8", []))
    yield from _against_spancat(parts.get("speed_cnn_sentences_8", []))
    for row in _models(parts.get("latency_minilm", [])):
        name = "MiniLM: time for one sentence relative to the encoder"
        yield Target(name, row["system"], row["to_encoder"], LATENCY, False)
    yield from _startup(parts.get("startup", []))
    for encoder in ENCODERS:
        name = f"{ENCODERS[encoder]}: memory for {DOCUMENT_TOKENS:,} tokens, MB"
        for row in _models(parts.get(f"memory_{encoder}", [])):
            if row["tokens"] == DOCUMENT_TOKENS:
                yield Target(name, row["system"], row["memory_mb"], DOCUMENT_MB, False)
    yield from _whole_trainings(trained)
    for row in _models(parts.get("growth", [])):
        name = f"memory growth over {row['documents']:,} documents, MB"
        yield Target(name, row["system"], row["growth_mb"], GROWTH_MB, False)


def _models(rows: Rows) -> Rows:
    """RETURNS (Rows): the rows of the models of this package."""
    return [row for row in rows if row["system"] in PREDICTION]


def _speed(rows: Rows) -> Iterator[Target]:
    for row in _models(rows):
        system = row["system"]
        value = row["prediction_to_encoder"]
        name = "MiniLM: prediction speed relative to the encoder"
        yield Target(name, system, value, PREDICTION[system], True)
    for row in _models(rows):
        system = row["system"]
        name = "MiniLM: training speed relative to a plain torch loop"
        yield Target(name, system, row["training_ratio"], TRAINING[system], True)


def _against_spancat(rows: Rows) -> Iterator[Target]:
    by_system = {row["system"]: row for row in rows}
    rival = by_system.get("spancat")
    if rival is None:
        return
    for kind in ("prediction", "training"):
        for row in _models(rows):
            name = f"CNN: {kind} speed relative to spancat"
            yield Target(name, row["system"], row[kind] / rival[kind], 1.0, True)


def _whole_trainings(rows: Rows) -> Iterator[Target]:
    for system in PREDICTION:
        peaks = [row["memory_mb"] for row in rows if row["model"] == system]
        if peaks:
            name = "MiniLM: peak memory of a training run, MB"
            yield Target(name, system, max(peaks), TRAINING_MB, False)


def _startup(rows: Rows) -> Iterator[Target]:
    for row in _models(rows):
        name = "import time on top of spaCy's, s"
        yield Target(name, row["system"], row["package"], IMPORT_SECONDS, False)
    for row in _models(rows):
        name = "time of add_pipe, s"
        yield Target(name, row["system"], row["add_pipe"], ADD_PIPE_SECONDS, False)

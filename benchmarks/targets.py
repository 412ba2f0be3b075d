"""What the results are held against."""

from typing import Any, Dict, Iterator, List, NamedTuple

Rows = List[Dict[str, Any]]

# Words per second in prediction, of those of the encoder alone in the same pipeline;
# and in training, of those of a plain loop of torch with the encoder alone.
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
LATENCY = 1.5  # of the encoder alone
IMPORT_SECONDS, ADD_PIPE_SECONDS = 0.3, 1.0
DOCUMENT_TOKENS, DOCUMENT_MB = 100_000, 1_500.0
TRAINING_MB = 2_500.0  # of a process that trains for epochs, and evaluates
GROWTH_MB = 20.0  # what an allocator may still do


class Target(NamedTuple):
    """A number and its limit.

    at_least (bool): whether larger is better.
    """

    name: str
    system: str
    value: float
    limit: float
    at_least: bool

    @property
    def met(self) -> bool:
        """Whether the number is good enough."""
        if self.at_least:
            return self.value >= self.limit
        return self.value <= self.limit


def find_targets(parts: Dict[str, Rows], trained: Rows) -> Iterator[Target]:
    """Look up what there is a target for, as far as it was measured.

    parts (Dict[str, Rows]): rows by the name of the part.
    trained (Rows): of whole trainings with MiniLM.
    YIELDS (Target): in the order of the page.
    """
    yield from _speed(parts.get("speed_minilm_sentences_8", []))
    yield from _against_spancat(parts.get("speed_cnn_sentences_8", []))
    for row in _models(parts.get("latency_minilm", [])):
        name = "MiniLM: time for a sentence, of the encoder's"
        yield Target(name, row["system"], row["to_encoder"], LATENCY, False)
    yield from _startup(parts.get("startup", []))
    for encoder in ("cnn", "minilm"):
        name = f"{encoder}: MB for {DOCUMENT_TOKENS:,} tokens"
        for row in _models(parts.get(f"memory_{encoder}", [])):
            if row["tokens"] == DOCUMENT_TOKENS:
                yield Target(name, row["system"], row["memory_mb"], DOCUMENT_MB, False)
    yield from _whole_trainings(trained)
    for row in _models(parts.get("growth", [])):
        name = f"MB that {row['documents']:,} documents add"
        yield Target(name, row["system"], row["growth_mb"], GROWTH_MB, False)


def _models(rows: Rows) -> Rows:
    """RETURNS (Rows): those of the models of this package."""
    return [row for row in rows if row["system"] in PREDICTION]


def _speed(rows: Rows) -> Iterator[Target]:
    for row in _models(rows):
        system = row["system"]
        value = row["prediction_to_encoder"]
        name = "MiniLM: prediction, of the encoder's speed"
        yield Target(name, system, value, PREDICTION[system], True)
    for row in _models(rows):
        system = row["system"]
        name = "MiniLM: training, of a plain loop's speed"
        yield Target(name, system, row["training_ratio"], TRAINING[system], True)


def _against_spancat(rows: Rows) -> Iterator[Target]:
    by_system = {row["system"]: row for row in rows}
    rival = by_system.get("spancat")
    if rival is None:
        return
    for kind in ("prediction", "training"):
        for row in _models(rows):
            name = f"CNN: {kind}, of spancat's speed"
            yield Target(name, row["system"], row[kind] / rival[kind], 1.0, True)


def _whole_trainings(rows: Rows) -> Iterator[Target]:
    for system in PREDICTION:
        peaks = [row["memory_mb"] for row in rows if row["model"] == system]
        if peaks:
            name = "minilm: MB in a whole training"
            yield Target(name, system, max(peaks), TRAINING_MB, False)


def _startup(rows: Rows) -> Iterator[Target]:
    for row in _models(rows):
        name = "seconds of import on top of spaCy's"
        yield Target(name, row["system"], row["package"], IMPORT_SECONDS, False)
    for row in _models(rows):
        name = "seconds of add_pipe"
        yield Target(name, row["system"], row["add_pipe"], ADD_PIPE_SECONDS, False)

"""Words per second and memory of training and prediction, as ratios.

python benchmarks/speed.py DATA --models span_biaffine,spancat

The systems take turns, each time in a process of its own; the median of the rounds
counts. "encoder" is the bare tok2vec of the others: the limit that none can exceed.
"""

import random
import time
from collections import deque
from pathlib import Path
from statistics import median
from typing import Any, Dict, Iterable, List, Optional

import typer
from common import (
    DATASETS,
    ENCODERS,
    build_pipeline,
    in_fresh_process,
    peak_memory_mb,
    read_corpus,
    start_training,
    to_examples,
    train_epoch,
    write_json,
)
from spacy.language import Language
from spacy.tokens import Doc
from spacy.training import Example
from thinc.api import Optimizer
from wasabi import table

BASELINE = "encoder"
PASSES = 3


def measure(
    system: str, *, dataset: str, folder: Path, encoder: str, batch_size: int, pipe: int
) -> Dict[str, float]:
    """Train one epoch, then predict the test part.

    RETURNS (Dict[str, float]): words per second and peak memory of both.
    """
    nlp = build_pipeline(system, encoder)
    corpus = read_corpus(dataset, folder, nlp)
    examples = to_examples(corpus.train)
    optimizer = start_training(nlp, examples, seed=0)
    training = training_speed(nlp, examples, optimizer, batch_size)
    training_memory = peak_memory_mb()
    prediction = prediction_speed(nlp, corpus.test, pipe)
    return {
        "training": training,
        "prediction": prediction,
        "training_mb": training_memory,
        "peak_mb": peak_memory_mb(),
    }


def exhaust(stream: Iterable[Any]) -> None:
    """Run a stream to its end, and keep nothing."""
    deque(stream, maxlen=0)


def training_speed(
    nlp: Language, examples: List[Example], optimizer: Optimizer, batch_size: int
) -> float:
    """RETURNS (float): words per second over an epoch; a few steps before warm up."""
    rng = random.Random(0)
    warm_up = examples[: 5 * batch_size]
    step = train_epoch if nlp.pipe_names != ["tok2vec"] else train_encoder
    exhaust(step(nlp, warm_up, optimizer, batch_size=batch_size, rng=rng))
    start = time.perf_counter()
    words = sum(step(nlp, examples, optimizer, batch_size=batch_size, rng=rng))
    return words / (time.perf_counter() - start)


def train_encoder(
    nlp: Language,
    examples: List[Example],
    optimizer: Optimizer,
    *,
    batch_size: int,
    rng: random.Random,
) -> Any:
    """Forward, backward and update of the bare encoder; its output is the gradient.

    YIELDS (int): after each step, the words of its batch.
    """
    model = nlp.get_pipe("tok2vec").model
    order = list(examples)
    rng.shuffle(order)
    for first in range(0, len(order), batch_size):
        docs = [example.predicted for example in order[first : first + batch_size]]
        vectors, backprop = model.begin_update(docs)
        backprop(vectors)
        model.finish_update(optimizer)
        yield sum(map(len, docs))


def prediction_speed(nlp: Language, docs: List[Doc], batch_size: int) -> float:
    """RETURNS (float): words per second of `nlp.pipe`, the best of several passes."""
    n_words = sum(map(len, docs))
    speeds = []
    for _ in range(PASSES):
        bare = [Doc(nlp.vocab, words=[token.text for token in doc]) for doc in docs]
        start = time.perf_counter()
        exhaust(nlp.pipe(bare, batch_size=batch_size))
        speeds.append(n_words / (time.perf_counter() - start))
    return max(speeds)


def summarize(rounds: Dict[str, List[Dict[str, float]]]) -> List[Dict[str, Any]]:
    """RETURNS (List[Dict[str, Any]]): medians, and ratios to the bare encoder."""
    medians = {
        system: {key: median(r[key] for r in runs) for key in runs[0]}
        for system, runs in rounds.items()
    }
    base = medians[BASELINE]
    return [
        {
            "system": system,
            **numbers,
            "training_ratio": numbers["training"] / base["training"],
            "prediction_ratio": numbers["prediction"] / base["prediction"],
        }
        for system, numbers in medians.items()
    ]


def print_table(results: List[Dict[str, Any]]) -> None:
    """Print one line per system."""
    header = ("system", "train w/s", "ratio", "MB", "predict w/s", "ratio", "peak MB")
    rows = [
        (
            r["system"],
            f"{r['training']:,.0f}",
            f"{r['training_ratio']:.2f}",
            f"{r['training_mb']:.0f}",
            f"{r['prediction']:,.0f}",
            f"{r['prediction_ratio']:.2f}",
            f"{r['peak_mb']:.0f}",
        )
        for r in results
    ]
    print(table(rows, header=header, divider=True, aligns=("l", *"rrrrrr")))


def main(
    data: Path = typer.Argument(..., help="Folder with the datasets"),
    dataset: str = typer.Option("genia", help=f"One of {', '.join(DATASETS)}"),
    models: str = typer.Option("span_biaffine,spancat", help="Names with commas"),
    encoder: str = typer.Option("cnn", help=f"One of {', '.join(ENCODERS)}"),
    batch_size: int = typer.Option(8, help="Sentences in a training step"),
    pipe_batch_size: int = typer.Option(256, help="Sentences in a prediction batch"),
    rounds: int = typer.Option(3, help="How often the systems take turns"),
    output: Optional[Path] = typer.Option(None, help="JSON file to write"),
) -> None:
    """Compare the speed of models with that of the encoder that they share."""
    systems = [BASELINE, *models.split(",")]
    measured: Dict[str, List[Dict[str, float]]] = {system: [] for system in systems}
    options = {"dataset": dataset, "folder": data, "encoder": encoder}
    sizes = {"batch_size": batch_size, "pipe": pipe_batch_size}
    for _ in range(rounds):
        for system in systems:
            measured[system].append(
                in_fresh_process(measure, system, **options, **sizes)
            )
    results = summarize(measured)
    print_table(results)
    if output is not None:
        write_json(output, results)


if __name__ == "__main__":
    typer.run(main)

"""Words per second and memory of training and prediction, as ratios.

python benchmarks/speed.py DATA --models span_biaffine,spancat

The systems take turns, each time in a process of its own; the median of the rounds
counts. "encoder" is the bare tok2vec of the others. With `--encoder minilm` there are
also "transformers", a plain loop of torch, and "spacy-transformers" with a listener.
Ratios are to the plain loop where there is one, and else to the bare encoder.
"""

import time
from pathlib import Path
from statistics import median
from typing import Any, Dict, List, Optional, Sequence

import spacy
import typer
from common import (
    DATASETS,
    ENCODERS,
    in_fresh_process,
    peak_memory_mb,
    read_corpus,
    write_json,
)
from runners import BASELINES, Runner, exhaust, make_runner
from spacy.tokens import Doc
from wasabi import table

PASSES = 3
Measures = Dict[str, Optional[float]]


def measure(
    system: str,
    *,
    dataset: str,
    folder: Path,
    encoder: str,
    batch_size: int,
    pipe: int,
    sentences: Optional[int],
) -> Measures:
    """Train one epoch, then predict the test part.

    sentences (Optional[int]): how many of both parts, all if None.

    RETURNS (Measures): words per second and peak memory of both.
    """
    runner = make_runner(system, encoder, batch_size, pipe)
    corpus = read_corpus(dataset, folder, spacy.blank("en"))
    training = training_speed(runner, corpus.train[:sentences], batch_size)
    training_memory = peak_memory_mb()
    return {
        "training": training,
        "prediction": prediction_speed(runner, corpus.test[:sentences]),
        "training_mb": None if training is None else training_memory,
        "peak_mb": peak_memory_mb(),
    }


def training_speed(runner: Runner, docs: List[Doc], batch_size: int) -> Optional[float]:
    """RETURNS (Optional[float]): words per second over an epoch, after a few steps of
    warm-up; None for systems that are not trained.
    """
    if not runner.start(docs):
        return None
    exhaust(runner.train(docs[: 5 * batch_size]))
    start = time.perf_counter()
    words = sum(runner.train(docs))
    return words / (time.perf_counter() - start)


def prediction_speed(runner: Runner, docs: List[Doc]) -> float:
    """RETURNS (float): words per second, the best of several passes."""
    n_words = sum(map(len, docs))
    speeds = []
    for _ in range(PASSES):
        bare = [Doc(doc.vocab, words=[token.text for token in doc]) for doc in docs]
        start = time.perf_counter()
        runner.predict(bare)
        speeds.append(n_words / (time.perf_counter() - start))
    return max(speeds)


def summarize(rounds: Dict[str, List[Measures]]) -> List[Dict[str, Any]]:
    """RETURNS (List[Dict[str, Any]]): medians, and ratios to the first system."""
    medians = {
        system: {key: _median([run[key] for run in runs]) for key in runs[0]}
        for system, runs in rounds.items()
    }
    base = next(iter(medians.values()))
    return [
        {
            "system": system,
            **numbers,
            "training_ratio": _ratio(numbers["training"], base["training"]),
            "prediction_ratio": _ratio(numbers["prediction"], base["prediction"]),
        }
        for system, numbers in medians.items()
    ]


def _median(values: Sequence[Optional[float]]) -> Optional[float]:
    known = [value for value in values if value is not None]
    return median(known) if known else None


def _ratio(value: Optional[float], base: Optional[float]) -> Optional[float]:
    return None if value is None or base is None else value / base


COLUMNS = {
    "training": ("train w/s", "{:,.0f}"),
    "training_ratio": ("ratio", "{:.2f}"),
    "training_mb": ("MB", "{:.0f}"),
    "prediction": ("predict w/s", "{:,.0f}"),
    "prediction_ratio": ("ratio", "{:.2f}"),
    "peak_mb": ("peak MB", "{:.0f}"),
}


def print_table(results: List[Dict[str, Any]]) -> None:
    """Print one line per system."""
    rows = [
        (
            result["system"],
            *(
                "-" if result[key] is None else form.format(result[key])
                for key, (_, form) in COLUMNS.items()
            ),
        )
        for result in results
    ]
    header = ("system", *(title for title, _ in COLUMNS.values()))
    print(table(rows, header=header, divider=True, aligns=("l", *"rrrrrr")))


def main(
    data: Path = typer.Argument(..., help="Folder with the datasets"),
    dataset: str = typer.Option("genia", help=f"One of {', '.join(DATASETS)}"),
    models: str = typer.Option("span_biaffine,spancat", help="Names with commas"),
    encoder: str = typer.Option("cnn", help=f"One of {', '.join(ENCODERS)}"),
    batch_size: int = typer.Option(8, help="Sentences in a training step"),
    pipe_batch_size: int = typer.Option(256, help="Sentences in a prediction batch"),
    sentences: Optional[int] = typer.Option(
        None, help="Of each part; all if not given"
    ),
    rounds: int = typer.Option(3, help="How often the systems take turns"),
    output: Optional[Path] = typer.Option(None, help="JSON file to write"),
) -> None:
    """Compare the speed of models with that of the encoder that they share."""
    systems = [*BASELINES[encoder], *filter(None, models.split(","))]
    measured: Dict[str, List[Measures]] = {system: [] for system in systems}
    options = {"dataset": dataset, "folder": data, "encoder": encoder}
    sizes = {"batch_size": batch_size, "pipe": pipe_batch_size, "sentences": sentences}
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

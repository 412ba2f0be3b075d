"""Measure peak memory by document length and number of labels.

python benchmarks/memory.py DATA --encoder cnn --labels 4,18,60 --tokens 128,512,5000

Each system is trained for some steps with batches of eight sentences in one process and
saved. A second process that has done nothing else loads it and predicts documents
without sentence boundaries, the shortest first. The labels are assigned to the entities
of the corpus in turn. Requires Linux.
"""

import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Dict, Iterator, List, Optional, Sequence

import spacy
import typer
from common import read_corpus
from measuring import (
    forget_peak,
    in_fresh_process,
    peak_memory_mb,
    resident_mb,
    write_json,
)
from options import DATA, DATASET, ENCODER, OUTPUT, SYSTEMS
from runners import BARE, PipelineRunner, exhaust
from spacy.tokens import Doc
from texts import choose_texts, long_words, relabel
from wasabi import table

HEADER = ("system", "labels", "train MB", "loaded MB", "tokens", "MB above", "seconds")
# Enough to learn that most spans are no entities: a model that predicts nearly every
# span needs memory for these predictions.
TRAINING_WORDS = 16_000
BATCH_SIZE = 8
# spancat keeps the vectors of all spans of a document at once: several copies of four
# pooled vectors per span. Longer documents would need tens of GB.
SPANCAT_LIMITS = {"cnn": 50_000, "minilm": 5_000}


def measure_training(
    system: str, *, dataset: str, data: Path, encoder: str, n_labels: int, folder: Path
) -> float:
    """Train for some steps and save the pipeline.

    folder (Path): folder for the pipeline.
    RETURNS (float): the peak resident size of the process in MB.
    """
    corpus = read_corpus(dataset, data, spacy.blank("en"))
    docs = choose_texts(corpus.train, "sentences", TRAINING_WORDS)
    relabel(docs, n_labels)
    runner = PipelineRunner(system, encoder, BATCH_SIZE, 1)
    runner.start(docs)
    exhaust(runner.train(docs))
    peak = peak_memory_mb()
    runner.nlp.to_disk(folder)
    return peak


def measure_reading(
    folder: Path, words: List[str], lengths: Sequence[int]
) -> Iterator[Dict[str, Any]]:
    """Load a pipeline and predict documents of increasing length.

    words (List[str]): a text of the largest length.
    lengths (Sequence[int]): tokens of the documents, ascending.
    YIELDS (Dict[str, Any]): seconds, and memory on top of the loaded pipeline.
    """
    nlp = spacy.load(folder)
    forget_peak()
    loaded = resident_mb()
    for n_tokens in lengths:
        doc = Doc(nlp.vocab, words=words[:n_tokens])
        start = time.perf_counter()
        nlp(doc)
        yield {
            "loaded_mb": loaded,
            "tokens": n_tokens,
            "seconds": time.perf_counter() - start,
            "memory_mb": peak_memory_mb() - loaded,
        }


def list_readings(*args: Any) -> List[Dict[str, Any]]:
    """RETURNS (List[Dict[str, Any]]): see `measure_reading`; a list can be pickled."""
    return list(measure_reading(*args))


def measure(
    system: str, *, n_labels: int, words: List[str], lengths: List[int], **setup: Any
) -> List[Dict[str, Any]]:
    """Measure training and prediction.

    **setup: dataset, data and encoder.
    RETURNS (List[Dict[str, Any]]): a row for each length.
    """
    limit = SPANCAT_LIMITS[setup["encoder"]] if system == "spancat" else max(lengths)
    wanted = sorted(length for length in lengths if length <= limit)
    with TemporaryDirectory() as folder:
        path = Path(folder)
        training = in_fresh_process(
            measure_training, system, n_labels=n_labels, folder=path, **setup
        )
        rows = in_fresh_process(list_readings, path, words, wanted)
    about = {"system": system, "labels": n_labels, "training_mb": training}
    return [{**about, **row} for row in rows]


def to_row(result: Dict[str, Any]) -> List[str]:
    """RETURNS (List[str]): the cells of a table row."""
    return [
        result["system"],
        str(result["labels"]),
        f"{result['training_mb']:,.0f}",
        f"{result['loaded_mb']:,.0f}",
        f"{result['tokens']:,}",
        f"{result['memory_mb']:,.0f}",
        f"{result['seconds']:.2f}",
    ]


def main(
    data: Path = DATA,
    dataset: str = DATASET,
    models: str = SYSTEMS,
    encoder: str = ENCODER,
    labels: str = typer.Option("4", help="Comma-separated numbers of labels"),
    tokens: str = typer.Option(
        "128,512,5000,50000,100000", help="Comma-separated document lengths"
    ),
    output: Optional[Path] = OUTPUT,
) -> None:
    """Measure how memory grows with document length and number of labels."""
    lengths = list(map(int, tokens.split(",")))
    corpus = read_corpus(dataset, data, spacy.blank("en"))
    setup = {"dataset": dataset, "data": data, "encoder": encoder}
    setup.update(words=long_words(corpus.test, max(lengths)), lengths=lengths)
    results: List[Dict[str, Any]] = []
    for index, n_labels in enumerate(map(int, labels.split(","))):
        # The encoder alone does not depend on the labels.
        for system in [*([] if index else [BARE]), *filter(None, models.split(","))]:
            rows = measure(system, n_labels=n_labels, **setup)
            print("\n".join(" ".join(to_row(row)) for row in rows), flush=True)
            results += rows
    print(table([to_row(row) for row in results], header=HEADER, divider=True))
    if output is not None:
        write_json(output, results, setup={"dataset": dataset, "encoder": encoder})


if __name__ == "__main__":
    typer.run(main)

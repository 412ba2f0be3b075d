"""Measure the time that a single sentence takes.

python benchmarks/latency.py DATA --encoder minilm

All systems run in one process and take turns on the same documents, one document at a
time. Medians are reported.
"""

import gc
import time
from pathlib import Path
from statistics import median
from typing import Any, Dict, List, Optional

import spacy
import typer
from common import read_corpus
from measuring import write_json
from options import DATA, DATASET, ENCODER, OUTPUT, SYSTEMS
from runners import BARE, BASELINES, Runner, exhaust, make_runner
from spacy.tokens import Doc
from texts import bare, choose_texts, long_words
from wasabi import table

TRAINING_WORDS = 2_000  # enough for models to find something
WARM_UP = 5


def measure(
    runners: Dict[str, Runner], docs: List[Doc], rounds: int
) -> Dict[str, List[float]]:
    """Let the systems take turns on single documents.

    docs (List[Doc]): one document per round; fewer documents are repeated.
    RETURNS (Dict[str, List[float]]): wall clock times in milliseconds.
    """
    taken: Dict[str, List[float]] = {name: [] for name in runners}
    gc.collect()
    gc.disable()  # a collection would slow down a single system
    for turn in range(-WARM_UP, rounds):
        for name, runner in runners.items():
            doc = bare(docs[turn % len(docs)])
            start = time.perf_counter()
            runner.read(doc)
            if turn >= 0:
                taken[name].append(1_000 * (time.perf_counter() - start))
    gc.enable()
    return taken


def summarize(taken: Dict[str, List[float]]) -> List[Dict[str, Any]]:
    """RETURNS (List[Dict[str, Any]]): a row for each system, with the ratio to the
    encoder alone.
    """
    base = median(taken[BARE])
    return [
        {"system": name, "ms": median(times), "to_encoder": median(times) / base}
        for name, times in taken.items()
    ]


def cut(docs: List[Doc], n_tokens: int) -> List[Doc]:
    """RETURNS (List[Doc]): consecutive documents of that many words each."""
    words = long_words(docs, sum(map(len, docs)))
    starts = range(0, len(words) - n_tokens + 1, n_tokens)
    return [Doc(docs[0].vocab, words=words[i : i + n_tokens]) for i in starts]


def main(
    data: Path = DATA,
    dataset: str = DATASET,
    models: str = SYSTEMS,
    encoder: str = ENCODER,
    tokens: int = typer.Option(25, help="Length of the sentence in tokens"),
    rounds: int = typer.Option(100, help="Number of sentences per system"),
    output: Optional[Path] = OUTPUT,
) -> None:
    """Compare the time for a single sentence with that of the encoder alone."""
    corpus = read_corpus(dataset, data, spacy.blank("en"))
    train = choose_texts(corpus.train, "sentences", TRAINING_WORDS)
    systems = [*BASELINES[encoder], *filter(None, models.split(","))]
    runners = {name: make_runner(name, encoder, 8, 1) for name in systems}
    for runner in runners.values():
        if runner.start(train):
            exhaust(runner.train(train))
    results = summarize(measure(runners, cut(corpus.test, tokens), rounds))
    rows = [(r["system"], f"{r['ms']:.1f}", f"{r['to_encoder']:.2f}") for r in results]
    header = ("system", "ms", "to encoder")
    print(table(rows, header=header, divider=True, aligns=("l", "r", "r")))
    if output is not None:
        setup = {"dataset": dataset, "encoder": encoder, "tokens": tokens}
        write_json(output, results, setup=setup)


if __name__ == "__main__":
    typer.run(main)

"""Check whether memory grows while threads predict documents of many lengths.

python benchmarks/long_life.py DATA --documents 100000 --pool 8

Each model is trained briefly and saved. A new process loads it, as a server does, and
predicts texts of random words of the test split. Some words are new in every text. The
threads work in rounds of a thousand texts, each in a memory zone. Memory after the
first tenth of the documents is compared with that after all later rounds. Requires
Linux.
"""

import math
import random
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Dict, List, Optional, Sequence

import spacy
import torch
import typer
from common import read_corpus
from measuring import in_fresh_process, resident_mb, write_json
from options import DATA, DATASET, ENCODER, OUTPUT
from runners import PipelineRunner, exhaust
from spacy.language import Language
from texts import choose_texts, long_words
from wasabi import table

TRAINING_WORDS = 16_000
AT_ONCE = 1_000  # texts of a round
SHORTEST = 3  # words
ALPHABET = "abcdefghijklmnopqrstuvwxyz"
HEADER = ("system", "documents", "loaded", "after 10 %", "highest", "last", "growth %")


def make_text(seed: int, words: Sequence[str], longest: int, new_words: float) -> str:
    """Make up a text. All lengths on a logarithmic scale are equally likely.

    words (Sequence[str]): words to choose from.
    longest (int): the largest number of words.
    new_words (float): share of words that no other text has.
    """
    rng = random.Random(seed)
    length = round(SHORTEST * math.exp(rng.random() * math.log(longest / SHORTEST)))
    chosen = rng.choices(words, k=length)
    for place in range(length):
        if rng.random() < new_words:
            chosen[place] = "".join(rng.choices(ALPHABET, k=10))
    return " ".join(chosen)


def predict_many(
    folder: Path,
    words: Sequence[str],
    *,
    n_documents: int,
    pool: int,
    zones: bool,
    **lengths: Any,
) -> List[Dict[str, Any]]:
    """Load a pipeline, and predict texts that are discarded afterwards.

    pool (int): number of threads.
    zones (bool): whether each round is a memory zone.
    **lengths: see `make_text`.
    RETURNS (List[Dict[str, Any]]): the resident size at the start and after each round.
    """
    torch.set_num_threads(1)
    nlp = spacy.load(folder)
    predict = partial(_predict, nlp, words=words, **lengths)
    sizes = [{"documents": 0, "resident_mb": resident_mb()}]
    with ThreadPoolExecutor(pool) as threads:
        for first in range(0, n_documents, AT_ONCE):
            after = min(first + AT_ONCE, n_documents)
            # No thread uses the pipeline while a zone begins or ends.
            with nlp.memory_zone() if zones else nullcontext():
                exhaust(threads.map(predict, range(first, after)))
            sizes.append({"documents": after, "resident_mb": resident_mb()})
            print(after, round(resident_mb()), flush=True)
    return sizes


def _predict(nlp: Language, seed: int, **made: Any) -> None:
    nlp(make_text(seed, **made))


def measure(
    system: str, *, dataset: str, data: Path, encoder: str, **work: Any
) -> Dict[str, Any]:
    """Train a system, save it, and let another process predict.

    **work: see `predict_many`.
    RETURNS (Dict[str, Any]): the row of the table, and all sizes.
    """
    corpus = read_corpus(dataset, data, spacy.blank("en"))
    words = long_words(corpus.test, sum(map(len, corpus.test)))
    with TemporaryDirectory() as folder:
        path = Path(folder)
        training = {"dataset": dataset, "data": data, "encoder": encoder}
        in_fresh_process(train_and_save, system, path, **training)
        sizes = in_fresh_process(predict_many, path, words, **work)
    loaded, *later = [size["resident_mb"] for size in sizes]
    early, *after = later[max(len(later) // 10 - 1, 0) :]
    highest = max(after, default=early)
    return {
        "system": system,
        "documents": sizes[-1]["documents"],
        "loaded_mb": loaded,
        "early_mb": early,
        "highest_mb": highest,
        "last_mb": later[-1],
        "growth_percent": 100 * (highest / early - 1),
        "sizes": sizes,
    }


def train_and_save(
    system: str, folder: Path, *, dataset: str, data: Path, encoder: str
) -> None:
    """Train for one short epoch."""
    corpus = read_corpus(dataset, data, spacy.blank("en"))
    docs = choose_texts(corpus.train, "sentences", TRAINING_WORDS)
    runner = PipelineRunner(system, encoder, 8, 256)
    runner.start(docs)
    exhaust(runner.train(docs))
    runner.nlp.to_disk(folder)


def to_row(result: Dict[str, Any]) -> List[str]:
    """RETURNS (List[str]): the cells of a table row."""
    names = ("documents", "loaded_mb", "early_mb", "highest_mb", "last_mb")
    numbers = [f"{result[name]:,.0f}" for name in names]
    return [result["system"], *numbers, f"{result['growth_percent']:+.1f}"]


def main(
    data: Path = DATA,
    dataset: str = DATASET,
    models: str = typer.Option("span_biaffine", help="Comma-separated systems"),
    encoder: str = ENCODER,
    documents: int = typer.Option(100_000, help="Number of texts to predict"),
    pool: int = typer.Option(8, help="Number of threads that predict"),
    longest: int = typer.Option(200, help="Words of the longest text"),
    new_words: float = typer.Option(0.02, help="Share of words in no other text"),
    zones: bool = typer.Option(True, help="Predict each round in a memory zone"),
    output: Optional[Path] = OUTPUT,
) -> None:
    """Predict many texts with every model, each in its own process."""
    setup: Dict[str, Any] = {"dataset": dataset, "encoder": encoder, "pool": pool}
    setup.update(n_documents=documents, zones=zones)
    setup.update(longest=longest, new_words=new_words)
    results = []
    for system in models.split(","):
        results.append(measure(system, data=data, **setup))
        print(" ".join(to_row(results[-1])), flush=True)
    rows = [to_row(result) for result in results]
    print(table(rows, header=HEADER, divider=True, aligns=("l", *"rrrrrr")))
    if output is not None:
        write_json(output, results, setup=setup)


if __name__ == "__main__":
    typer.run(main)

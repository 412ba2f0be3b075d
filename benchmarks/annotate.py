"""Compare the speed of `spanner annotate` with one and two single-threaded workers.

python benchmarks/annotate.py training/mine/model-best corpus/demo/train.spacy

Each measurement is a separate run over copies of the same texts. The time is measured
from the first finished part to the last. It excludes loading the pipeline and starting
Ray, which are negligible on a corpus that takes hours. Words per second and their ratio
depend on the load of the machine. The processor time per word does not: it gives the
ratio that two idle cores would reach.
"""

import json
import os
import tempfile
import time
from contextlib import closing
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any, Dict, List, Optional

import typer
from measuring import write_json
from options import OUTPUT
from spacy.tokens import DocBin
from spacy.vocab import Vocab
from wasabi import table

from spacy_spanner.jobs.annotate.annotator import SpanAnnotator
from spacy_spanner.jobs.annotate.on_ray import RayOptions, run_on_ray
from spacy_spanner.jobs.annotate.pool import run_pool
from spacy_spanner.jobs.annotate.run import Request, annotate_parts, prepared

PARTS = 40


def measure(system: str, *, model: str, corpus: str, workers: int) -> Dict[str, float]:
    """Annotate a corpus.

    system (str): "local" or "ray".
    RETURNS (Dict[str, float]): words per second, and microseconds of processor time per
        word.
    """
    annotator = SpanAnnotator(str(Path(model).absolute()), threads=1)
    # Ray lowers the priority of its workers; the pool does not.
    os.environ.setdefault("RAY_worker_niceness", "0")
    engine: Any = partial(run_pool, n_process=workers)
    if system == "ray":
        engine = partial(run_on_ray, options=RayOptions(least=workers, most=workers))
    size = Path(corpus).stat().st_size // PARTS
    with tempfile.TemporaryDirectory() as folder:
        request = Request(annotator, [corpus], Path(folder), part_size=size)
        with prepared(request) as run, closing(annotate_parts(run, engine)) as reports:
            # Once each worker has finished a part, all have loaded the pipeline.
            for _ in range(workers):
                next(reports)
            start = time.perf_counter()
            rest = list(reports)
            seconds = time.perf_counter() - start
    words = sum(report.words for report in rest)
    processor = sum(report.seconds for report in rest)
    return {"speed": words / seconds, "cost": 1e6 * processor / words}


def write_corpus(path: Path, data: Path, copies: int) -> None:
    """Write several copies of the texts of a `.spacy` file as JSON Lines."""
    texts = [doc.text for doc in DocBin().from_disk(data).get_docs(Vocab())]
    with path.open("w", encoding="utf8") as file:
        for _ in range(copies):
            file.writelines(json.dumps({"text": text}) + "\n" for text in texts)


def summarize(system: str, rounds: Dict[int, List[Dict[str, float]]]) -> Dict[str, Any]:
    """RETURNS (Dict[str, Any]): medians over rounds, ratios of two workers to one."""

    def middle(workers: int, name: str) -> float:
        return median(run[name] for run in rounds[workers])

    return {
        "system": system,
        "one": middle(1, "speed"),
        "two": middle(2, "speed"),
        "ratio": middle(2, "speed") / middle(1, "speed"),
        "cost_of_one": middle(1, "cost"),
        "cost_of_two": middle(2, "cost"),
        "free_ratio": 2 * middle(1, "cost") / middle(2, "cost"),
    }


COLUMNS = {
    "one": ("1 worker w/s", "{:,.0f}"),
    "two": ("2 workers w/s", "{:,.0f}"),
    "ratio": ("ratio", "{:.2f}"),
    "cost_of_one": ("µs per word", "{:.1f}"),
    "cost_of_two": ("with 2", "{:.1f}"),
    "free_ratio": ("ratio if idle", "{:.2f}"),
}


def main(
    model: str = typer.Argument(..., help="Trained pipeline"),
    data: Path = typer.Argument(..., help="A .spacy file with texts"),
    systems: str = typer.Option("local,ray", help="Comma-separated engines"),
    copies: int = typer.Option(100, help="Number of copies of each text"),
    rounds: int = typer.Option(3, help="Number of rounds"),
    output: Optional[Path] = OUTPUT,
) -> None:
    """Compare two workers with one worker."""
    names = systems.split(",")
    measured: Dict[str, Dict[int, List[Dict[str, float]]]] = {
        name: {1: [], 2: []} for name in names
    }
    with tempfile.TemporaryDirectory() as folder:
        corpus = Path(folder) / "corpus.jsonl"
        write_corpus(corpus, data, copies)
        options = {"model": model, "corpus": str(corpus)}
        for _ in range(rounds):
            for name in names:
                for workers in (1, 2):
                    found = measure(name, workers=workers, **options)
                    measured[name][workers].append(found)
    results = [summarize(name, runs) for name, runs in measured.items()]
    rows = [
        (row["system"], *(form.format(row[key]) for key, (_, form) in COLUMNS.items()))
        for row in results
    ]
    header = ("engine", *(title for title, _ in COLUMNS.values()))
    print(table(rows, header=header, divider=True, aligns=("l", *"rrrrrr")))
    if output is not None:
        write_json(output, results)


if __name__ == "__main__":
    typer.run(main)

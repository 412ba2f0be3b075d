"""Words per second of `spanner annotate`: two single-threaded workers against one.

python benchmarks/annotate.py training/mine/model-best corpus/demo/train.spacy

Each measurement is a run of its own over copies of the same texts. What counts is the
time from the first finished part to the last, so that loading the pipeline and starting
Ray do not: on a corpus that takes hours they are nothing. Both are only as good as the
machine is free. The processor time of a word is not: from it comes the ratio that two
free cores would give.
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
    RETURNS (Dict[str, float]): words per second, and microseconds of processor time for
        a word.
    """
    annotator = SpanAnnotator(str(Path(model).absolute()), threads=1)
    # Ray makes its workers nicer than other processes, those of the pool are not.
    os.environ.setdefault("RAY_worker_niceness", "0")
    engine: Any = partial(run_pool, n_process=workers)
    if system == "ray":
        engine = partial(run_on_ray, options=RayOptions(least=workers, most=workers))
    size = Path(corpus).stat().st_size // PARTS
    with tempfile.TemporaryDirectory() as folder:
        request = Request(annotator, [corpus], Path(folder), part_size=size)
        with prepared(request) as run, closing(annotate_parts(run, engine)) as reports:
            # Every worker has loaded the pipeline when each has finished a part.
            for _ in range(workers):
                next(reports)
            start = time.perf_counter()
            rest = list(reports)
            seconds = time.perf_counter() - start
    words = sum(report.words for report in rest)
    processor = sum(report.seconds for report in rest)
    return {"speed": words / seconds, "cost": 1e6 * processor / words}


def write_corpus(path: Path, data: Path, copies: int) -> None:
    """Write the texts of a `.spacy` file, each several times, as JSON Lines."""
    texts = [doc.text for doc in DocBin().from_disk(data).get_docs(Vocab())]
    with path.open("w", encoding="utf8") as file:
        for _ in range(copies):
            file.writelines(json.dumps({"text": text}) + "\n" for text in texts)


def summarize(system: str, rounds: Dict[int, List[Dict[str, float]]]) -> Dict[str, Any]:
    """RETURNS (Dict[str, Any]): medians over rounds, and ratios of two to one."""

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
    "cost_of_one": ("µs a word", "{:.1f}"),
    "cost_of_two": ("with 2", "{:.1f}"),
    "free_ratio": ("ratio if free", "{:.2f}"),
}


def main(
    model: str = typer.Argument(..., help="Trained pipeline"),
    data: Path = typer.Argument(..., help="A .spacy file with texts"),
    systems: str = typer.Option("local,ray", help="Engines with commas"),
    copies: int = typer.Option(100, help="How often every text is annotated"),
    rounds: int = typer.Option(3, help="How often the systems take turns"),
    output: Optional[Path] = OUTPUT,
) -> None:
    """Compare two workers with one."""
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

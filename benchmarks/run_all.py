"""Run all benchmarks and write a page with the results.

python benchmarks/run_all.py DATA --output benchmarks/RESULTS.md

Every part is a script in this folder and writes a JSON file to `--parts`. A part whose
file exists is skipped, so that an interrupted run can be continued. To measure again,
delete the file or use `--again`. `--accuracy FOLDER` includes earlier results of
`accuracy.py`; `--train` runs it, which takes hours. `--quick` tries everything on a few
sentences; its numbers are meaningless, so they are written to a separate folder.
"""

import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Dict, List, NamedTuple, Optional

import typer
from options import DATA
from results_page import make_page, read_parts

HERE = Path(__file__).parent


class Part(NamedTuple):
    """A script with its options.

    name (str): name of the JSON file.
    script (str): name of the script in this folder.
    options (Dict[str, object]): options of the real run.
    quick (Dict[str, object]): options that differ in a smoke test.
    needs_data (bool): whether the first argument is the folder with the datasets.
    """

    name: str
    script: str
    options: Dict[str, object]
    quick: Dict[str, object]
    needs_data: bool = True

    def command(self, data: Path, output: Path, quick: bool) -> List[str]:
        """RETURNS (List[str]): the command line."""
        chosen = {**self.options, **(self.quick if quick else {}), "output": output}
        words = [sys.executable, HERE / f"{self.script}.py"]
        words += [data] if self.needs_data else []
        for name, value in chosen.items():
            words += [f"--{name.replace('_', '-')}", value]
        return list(map(str, words))


def speed(encoder: str, name: str, words: int, **options: object) -> Part:
    """RETURNS (Part): a measurement of `speed.py`; more words take longer."""
    options = {"encoder": encoder, "words": words, **options}
    options.setdefault("rounds", 1)
    quick = {"words": 300, "rounds": 1, "models": "span_biaffine"}
    return Part(f"speed_{encoder}_{name}", "speed", options, quick)


def latency(encoder: str) -> Part:
    """RETURNS (Part): a measurement of `latency.py`."""
    options = {"encoder": encoder}
    return Part(f"latency_{encoder}", "latency", options, {"rounds": 2})


def memory(name: str, encoder: str, labels: str, tokens: str) -> Part:
    """RETURNS (Part): a measurement of `memory.py`."""
    options = {"encoder": encoder, "labels": labels, "tokens": tokens}
    return Part(f"memory_{name}", "memory", options, {"labels": 4, "tokens": "128,512"})


def accuracy(encoder: str, epochs: int) -> Part:
    """RETURNS (Part): a measurement of `accuracy.py`."""
    options = {"encoder": encoder, "epochs": epochs, "seeds": "0,1"}
    quick = {"epochs": 1, "seeds": 0}
    return Part(f"accuracy_{encoder}", "accuracy", options, quick)


LENGTHS = "128,512,5000"
LARGE_BATCH = {"batch_size": 32, "pipe_batch_size": 32}
DOCUMENTS = {"texts": "documents", "batch_size": 1}
PARTS = [
    Part("startup", "startup", {"rounds": 5}, {"rounds": 1}, needs_data=False),
    latency("cnn"),
    latency("minilm"),
    speed("minilm", "sentences_8", 3_000, rounds=3),
    speed("minilm", "sentences_32", 3_000, **LARGE_BATCH),
    speed("minilm", "short_8", 1_500, texts="short"),
    speed("minilm", "documents_1", 3_000, **DOCUMENTS),
    speed("cnn", "sentences_8", 10_000, rounds=3),
    speed("cnn", "sentences_32", 10_000, **LARGE_BATCH),
    speed("cnn", "short_8", 5_000, texts="short"),
    speed("cnn", "documents_1", 10_000, **DOCUMENTS),
    memory("cnn", "cnn", "4", f"{LENGTHS},50000,100000"),
    memory("minilm", "minilm", "4", f"{LENGTHS},50000"),
    memory("labels", "cnn", "4,18,60", "5000"),
    Part("growth", "growth", {"documents": 50_000}, {"documents": 1_000}),
]
TRAININGS = [accuracy("cnn", 20), accuracy("minilm", 8)]


def run_part(part: Part, data: Path, folder: Path, *, quick: bool, again: bool) -> bool:
    """Run one part unless its result exists.

    RETURNS (bool): whether the result exists now.
    """
    output = folder / f"{part.name}.json"
    if output.exists() and not again:
        print(f"{part.name}: skipped, result exists", flush=True)
        return True
    start = time.perf_counter()
    # The result file only appears when the part is complete.
    partial = output.with_suffix(".partial")
    done = subprocess.run(part.command(data, partial, quick))
    if done.returncode:
        print(f"{part.name}: failed", flush=True)
        return False
    partial.replace(output)
    print(f"{part.name}: {time.perf_counter() - start:.0f} s", flush=True)
    return True


def main(
    data: Path = DATA,
    output: Optional[Path] = typer.Option(None, help="Page to write"),
    parts: Optional[Path] = typer.Option(None, help="Folder for the JSON files"),
    accuracy: Optional[Path] = typer.Option(
        None, help="Folder with results of accuracy.py"
    ),
    train: bool = typer.Option(False, help="Also run accuracy.py"),
    only: str = typer.Option("", help="Comma-separated prefixes of part names"),
    again: bool = typer.Option(False, help="Also run parts whose results exist"),
    quick: bool = typer.Option(False, help="Smoke test on a few sentences"),
    threads: int = typer.Option(1, help="Threads of torch and of the tokenizer"),
) -> None:
    """Run all parts without a result and write the page."""
    folder = parts or HERE / ("results_quick" if quick else "results")
    folder.mkdir(parents=True, exist_ok=True)
    path = output or (folder if quick else HERE) / "RESULTS.md"
    for variable in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "RAYON_NUM_THREADS"):
        os.environ[variable] = str(threads)
    wanted = tuple(filter(None, only.split(",")))
    chosen = [
        part
        for part in [*PARTS, *(TRAININGS if train else [])]
        if not wanted or part.name.startswith(wanted)
    ]
    finished = [
        run_part(part, data, folder, quick=quick, again=again) for part in chosen
    ]
    page = make_page(read_parts(folder), read_parts(accuracy), quick=quick)
    path.write_text(page, encoding="utf8")
    if not all(finished):
        raise typer.Exit(1)


if __name__ == "__main__":
    typer.run(main)

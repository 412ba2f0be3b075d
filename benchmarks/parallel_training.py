"""Compare the training speed of one and several single-threaded processes.

python benchmarks/parallel_training.py CONFIG TRAIN DEV
"""

import os
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median
from typing import Any, Dict, List, NamedTuple, Optional

import srsly
import step_times
import typer
from options import OUTPUT
from wasabi import table


class Speed(NamedTuple):
    """Words per second, and per second of processor time of the first process.

    Other programs on the machine affect processor time less. It does not include the
    time that processes wait for each other.
    """

    wall: float
    cpu: float


def train(config: Path, paths: List[str], n_proc: int, steps: int) -> Speed:
    """Train for some steps.

    RETURNS (Speed): measured from the end of the first step to the end of the
        second-last one, without evaluations.
    """
    with tempfile.TemporaryDirectory() as folder:
        times = Path(folder) / "times.json"
        words = ["spanner", "train-parallel", str(config), "--n-proc", str(n_proc)]
        words += [*paths, "--training.max_steps", str(steps)]
        words += ["--code", step_times.__file__]
        words += ["--training.eval_frequency", str(steps)]
        words += ["--training.logger.@loggers", "benchmark.times.v1"]
        env = {**os.environ, "OMP_NUM_THREADS": "1", step_times.TIMES: str(times)}
        done = subprocess.run(
            [sys.executable, "-m", "spacy", *words],
            env=env,
            capture_output=True,
            text=True,
        )
        if done.returncode:
            raise SystemExit(done.stdout + done.stderr)
        rows = srsly.read_json(times)
    first, last = rows[0], rows[-2]
    words_done = (len(rows) - 2) / (len(rows) - 1) * (rows[-1][2] - first[2])
    return Speed(words_done / (last[0] - first[0]), words_done / (last[1] - first[1]))


def main(
    config: Path = typer.Argument(..., help="Training config with the ConsoleLogger"),
    train_path: Path = typer.Argument(..., help="Training data"),
    dev_path: Path = typer.Argument(..., help="Development data"),
    processes: str = typer.Option("1,2", help="Comma-separated numbers of processes"),
    steps: int = typer.Option(40, help="Steps per run"),
    batch: int = typer.Option(0, help="Words per batch, instead of the config's"),
    rounds: int = typer.Option(3, help="Rounds to take the median of"),
    output: Optional[Path] = OUTPUT,
) -> None:
    """Compare different numbers of processes, taking turns."""
    paths = ["--paths.train", str(train_path), "--paths.dev", str(dev_path)]
    paths += ["--training.batcher.size", str(batch)] if batch else []
    numbers = [int(number) for number in processes.split(",")]
    found: Dict[int, List[Speed]] = {number: [] for number in numbers}
    for _ in range(rounds):
        for number in numbers:
            found[number].append(train(config, paths, number, steps))
    results: List[Dict[str, Any]] = []
    for number, speeds in found.items():
        row: Dict[str, Any] = {"processes": number, "rounds": speeds}
        for kind in Speed._fields:
            row[kind] = median(getattr(speed, kind) for speed in speeds)
            row[f"{kind}_ratio"] = row[kind] / (results or [row])[0][kind]
        results.append(row)
    rows = [
        (
            str(r["processes"]),
            f"{r['wall']:,.0f}",
            f"{r['wall_ratio']:.2f}",
            f"{r['cpu']:,.0f}",
            f"{r['cpu_ratio']:.2f}",
        )
        for r in results
    ]
    header = ("processes", "words/s", "ratio", "words/CPU s", "ratio")
    print(table(rows, header=header, divider=True))
    if output is not None:
        srsly.write_json(output, {"results": results})


if __name__ == "__main__":
    typer.run(main)

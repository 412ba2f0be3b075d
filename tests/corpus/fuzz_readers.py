"""Fuzz the readers of corpora, guided by the lines that each input reaches.

From the root of a checkout, in an environment with `atheris` beside those of the tests:

    python -m tests.corpus.fuzz_readers --seconds 60 conll jsonl

Without names, all formats are tried. The kept cases, which the tests replay, get what
broke a reader, and the shortest input for each error that a reader was seen to give.
"""

import argparse
import importlib
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any, Dict

HERE = "tests.corpus.fuzz_readers"
# What libFuzzer prints at the end.
RUNS = re.compile(r"stat::number_of_executed_units:\s*(\d+)")
OPTIONS = ("-max_len=2000", "-timeout=10", "-rss_limit_mb=2000", "-print_final_stats=1")
ARTIFACTS = ("crash-*", "timeout-*", "oom-*")
# For a person to replace, with the code of the error that shall come.
BROKEN = "a failure"


def fuzz(format: str, folder: Path, seconds: int) -> None:
    """Fuzz one reader. This ends the process, with 0 if the time is over."""
    import atheris  # not among the dependencies of the tests

    with atheris.instrument_imports(include=["spacy_spanner.corpus"]):
        damage = importlib.import_module("tests.corpus.damage")
    place = folder / "file"
    place.mkdir()

    def read(data: bytes) -> None:
        damage.read_any(place, format, data)

    options = [*OPTIONS, f"-max_total_time={seconds}", f"-artifact_prefix={folder}/"]
    atheris.Setup([sys.argv[0], *options, str(folder / "inputs")], read)
    atheris.Fuzz()


def run_one(format: str, seconds: int, damage: Any, kept: Dict) -> str:
    """Fuzz one reader in a process of its own, and add the cases that are new.

    kept (Dict): the kept cases by format and outcome.
    RETURNS (str): how many inputs were tried, and whether one broke the reader.
    """
    with tempfile.TemporaryDirectory() as name:
        folder, inputs = Path(name), Path(name, "inputs")
        inputs.mkdir()
        known = [case.data for case in kept.values() if case.format == format]
        for n, data in enumerate([*damage.FILES[format], *known]):
            (inputs / str(n)).write_bytes(data)
        command = [sys.executable, "-m", HERE, format, "--seconds", str(seconds)]
        done = subprocess.run(
            [*command, "--inside", name], capture_output=True, text=True
        )
        runs = RUNS.search(done.stderr)
        broken = [path for kind in ARTIFACTS for path in folder.glob(kind)]
        for path in broken:
            case = damage.Case(format, path.read_bytes(), BROKEN)
            kept[format, path.name] = case
        if not broken:
            if done.returncode or not runs:
                raise RuntimeError(done.stderr[-2000:])
            keep_shortest(format, folder, damage, kept)
    said = done.stderr[-3000:] if broken else "none broke the reader"
    return f"{format}: {int(runs[1]) if runs else 0:,} inputs, {said}"


def keep_shortest(format: str, folder: Path, damage: Any, kept: Dict) -> None:
    """Keep the shortest input for each outcome that no kept case has."""
    paths = sorted(
        (folder / "inputs").iterdir(), key=lambda path: (path.stat().st_size, path.name)
    )
    for path in paths:
        case = damage.Case(format, path.read_bytes(), "")
        gives = damage.read_any(folder / "file", format, case.data)
        kept.setdefault((format, gives), case._replace(gives=gives))


def main() -> None:
    """Fuzz the formats of the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("formats", nargs="*")
    parser.add_argument("--seconds", type=int, default=60)
    parser.add_argument("--inside", type=Path, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.inside:
        fuzz(args.formats[0], args.inside, args.seconds)
    damage: Any = importlib.import_module("tests.corpus.damage")
    kept = {(case.format, case.gives): case for case in damage.kept_cases()}
    for format in args.formats or damage.FORMATS:
        print(run_one(format, args.seconds, damage, kept), flush=True)
        lines = sorted({case.line() for case in kept.values()})
        damage.KEPT.write_text("\n".join(lines) + "\n", encoding="utf8")


if __name__ == "__main__":
    main()

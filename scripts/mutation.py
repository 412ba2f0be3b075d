"""Mutation testing: change the core a little, and see whether a test fails.

    nice -n 19 python scripts/mutation.py results --sample 40

First, the quick tests run once, to learn which of them reach which line. Then each
mutant runs only the tests that reach it, in a process of its own. Code in functions is
changed, but not defaults, fields of classes and constants of modules; no file changes.
The folder `results` gets a line for each mutant, and a run that was stopped goes on.
`--again` tries the survivors again, for example after tests were added.
"""

import argparse
import json
import random
import time
from collections import defaultdict
from functools import partial
from itertools import chain, zip_longest
from pathlib import Path
from typing import Dict, Iterator, List, NamedTuple, Tuple

from forked_tests import PASSED, ROOT, Recorder, Session, change_functions
from mutants import Mutant, mutants_of


class Part(NamedTuple):
    """Files of the package to change, and the tests that cover them."""

    files: Tuple[str, ...]
    tests: Tuple[str, ...]


def model(name: str, *files: str) -> Part:
    """RETURNS (Part): the codec of a model, and files that it uses."""
    paths = (f"models/{name}/{file}.py" for file in ("codec", *files))
    return Part(tuple(paths), (f"tests/models/{name}",))


CORE = {
    "spans": Part(("spans/*.py",), ("tests/spans",)),
    "biaffine": model("biaffine", "smoothing"),
    "diffusion": model(
        "diffusion", "loss", "noise", "outputs", "proposals", "sampling", "targets"
    ),
    "locate_label": model(
        "locate_label", "assignment", "boundaries", "range_maxima", "soft_nms"
    ),
    "offset": model("offset", "decoding", "offsets"),
    "gold": Part(
        ("pipeline/gold.py", "pipeline/annotations.py"),
        (
            "tests/pipeline/gold",
            "tests/pipeline/selection",
            "tests/pipeline/component/test_written_spans.py",
        ),
    ),
    "selection": Part(
        ("pipeline/prediction.py", "models/bound.py", "models/codec.py"),
        (
            "tests/pipeline/test_choice_of_spans.py",
            "tests/pipeline/selection",
            "tests/models",
        ),
    ),
    "scorers": Part(
        ("evaluation/counts.py", "evaluation/matching.py", "evaluation/scorer.py"),
        (
            "tests/evaluation/scorer",
            "tests/evaluation/test_counts.py",
            "tests/evaluation/test_matching.py",
        ),
    ),
}
SURVIVED, KILLED = "survived", "killed"
RESULTS = "results.jsonl"
# Seconds of each test by its name, and the lines that it reaches.
Reached = Dict[str, Dict]


def files_of(part: Part) -> List[str]:
    """RETURNS (List[str]): the files to change, relative to the root."""
    package = ROOT / "spacy_spanner"
    paths = chain.from_iterable(sorted(package.glob(name)) for name in part.files)
    return [str(path.relative_to(ROOT)) for path in paths if path.name != "__init__.py"]


def read_reached(session: Session, part: Part, path: Path) -> Reached:
    """RETURNS (Reached): which test reaches which line, recorded if it is not known."""

    def work() -> None:
        recorder = Recorder(files_of(part))
        recorder.run(session)
        path.write_text(json.dumps(recorder.tests), encoding="utf8")

    if not path.exists() and session.in_a_fork(work, 3600) != PASSED:
        said = session.log.read_text(encoding="utf8")
        raise RuntimeError(f"The tests fail without any change: {said[-3000:]}")
    return json.loads(path.read_text(encoding="utf8"))


def tests_of(mutant: Mutant, reached: Reached, budget: float) -> Dict[str, float]:
    """RETURNS (Dict[str, float]): the tests that reach a mutant and their seconds, the
    quick ones first, up to `budget` seconds.
    """
    lines = set(range(mutant.line, mutant.end + 1))
    own = {name: row["lines"].get(mutant.file, ()) for name, row in reached.items()}
    found = [name for name in own if lines.intersection(own[name])]
    chosen: Dict[str, float] = {}
    for name in sorted(found, key=lambda name: reached[name]["seconds"]):
        seconds = reached[name]["seconds"]
        if chosen and sum(chosen.values()) + seconds > budget:
            break
        chosen[name] = seconds
    return chosen


def try_mutant(session: Session, mutant: Mutant, tests: Dict[str, float]) -> Dict:
    """RETURNS (Dict): the mutant, what became of it, and the test that killed it."""

    def work() -> None:
        change_functions(mutant)
        session.run(list(tests))

    start = time.monotonic()
    code = session.in_a_fork(work, int(10 + 3 * sum(tests.values())))
    by = "an error outside of the tests" if code > 0 else "the time limit"
    if session.failed.exists():
        by = session.failed.read_text(encoding="utf8")
    return {
        **mutant._asdict(),
        "name": mutant.name,
        "result": SURVIVED if code == PASSED else KILLED,
        "by": "" if code == PASSED else by,
        "tests": len(tests),
        "took": round(time.monotonic() - start, 1),
    }


def sample(files: List[str], n: int, seed: int) -> Iterator[Mutant]:
    """YIELDS (Mutant): of each file as many, of the files in turn."""
    drawn = []
    for file in files:
        mutants = mutants_of(ROOT, file)
        random.Random(f"{seed} {file}").shuffle(mutants)
        drawn.append(mutants[:n] if n else mutants)
    for mutant in chain.from_iterable(zip_longest(*drawn)):
        if mutant is not None:
            yield mutant


def read_results(path: Path) -> Dict[str, Dict]:
    """RETURNS (Dict[str, Dict]): the last result of each mutant, by its name."""
    if not path.exists():
        return {}
    rows = map(json.loads, path.read_text(encoding="utf8").splitlines())
    return {row["name"]: row for row in rows}


def table(rows: List[Dict]) -> str:
    """RETURNS (str): mutants and survivors of each file, in Markdown."""
    by_file: Dict[str, List[str]] = defaultdict(list)
    for row in sorted(rows, key=lambda row: row["file"]):
        by_file[f"`{row['file'].removeprefix('spacy_spanner/')}`"] += [row["result"]]
    by_file["all"] = [row["result"] for row in rows]
    lines = ["| file | mutants | killed | survived | share |"]
    lines.append("| --- | --: | --: | --: | --: |")
    for name, results in by_file.items():
        n, killed = len(results), results.count(KILLED)
        share = 100 * killed / max(1, n)
        lines.append(f"| {name} | {n} | {killed} | {n - killed} | {share:.1f} % |")
    return "\n".join(lines)


def run(session: Session, name: str, args: argparse.Namespace) -> None:
    """Try the mutants of a part that have no result yet, or those that survived."""
    reached = read_reached(session, CORE[name], args.results / f"{name}.json")
    path = args.results / RESULTS
    known = read_results(path)
    for mutant in sample(files_of(CORE[name]), args.sample, args.seed):
        row = known.get(mutant.name)
        if row is None if not args.again else row and row["result"] == SURVIVED:
            tests = tests_of(mutant, reached, args.budget)
            row = try_mutant(session, mutant, tests)
            with path.open("a", encoding="utf8") as output:
                output.write(json.dumps(row) + "\n")
            print(f"{row['took']:5} {row['result']} {mutant.name}", flush=True)


def main() -> None:
    """Try the parts of the core in turn."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("results", type=Path, help="folder of the results")
    parser.add_argument("parts", nargs="*", help=f"of {', '.join(CORE)}")
    parser.add_argument("--sample", type=int, default=40, help="mutants a file; 0: all")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--budget", type=float, default=20, help="seconds a mutant")
    parser.add_argument("--again", action="store_true", help="only the survivors")
    parser.add_argument("--table", action="store_true", help="only print the results")
    args = parser.parse_args()
    args.results = args.results.resolve()
    args.results.mkdir(parents=True, exist_ok=True)
    for name in () if args.table else args.parts or CORE:
        session = Session(partial(run, name=name, args=args), args.results)
        session.start(list(CORE[name].tests))
    print(table(list(read_results(args.results / RESULTS).values())))


if __name__ == "__main__":
    main()

"""Corpora of short texts, runs over them, and what they have written."""

import json
from contextlib import closing
from pathlib import Path
from typing import Any, Dict, List, Sequence

import pytest

from spacy_spanner.jobs.annotate.annotator import SpanAnnotator
from spacy_spanner.jobs.annotate.messages import Report
from spacy_spanner.jobs.annotate.pool import run_here
from spacy_spanner.jobs.annotate.run import Engine, Request, annotate_parts, prepared

from ...helpers import NESTED
from .trouble import DEADLY, ONCE, POISON

TROUBLE = Path(__file__).parent / "trouble.py"
TEXTS = [text for text, _ in NESTED if text]
# So small that a corpus of a few hundred texts has some parts.
PART_SIZE = 500
Row = Dict[str, Any]


def numbered(count: int, special: Dict[int, str] = {}) -> List[str]:  # noqa: B006
    """Make texts that differ, with words for the troublemaker at some places."""
    texts = [f"n{number} {TEXTS[number % len(TEXTS)]}" for number in range(count)]
    for number, word in special.items():
        texts[number] += f" {word}"
    return texts


def write_rows(path: Path, texts: Sequence[str]) -> Path:
    """Write JSON Lines with an id for each text."""
    path.parent.mkdir(parents=True, exist_ok=True)
    rows = [{"text": text, "key": f"k{n}"} for n, text in enumerate(texts)]
    lines = [json.dumps(row) + "\n" for row in rows]
    path.write_text("".join(lines), encoding="utf8")
    return path


def annotator(model: Path, **settings: Any) -> SpanAnnotator:
    return SpanAnnotator(str(model), code=str(TROUBLE), threads=1, **settings)


def request(model: Path, inputs: Path, output: Path, **settings: Any) -> Request:
    settings = {"part_size": PART_SIZE, **settings}
    return Request(annotator(model), [str(inputs)], output, **settings)


def annotate(
    asked: Request, engine: Engine = run_here, *, limit: int = -1, force: bool = False
) -> List[Report]:
    """Run, and stop after some parts if there is a limit."""
    done: List[Report] = []
    with (
        prepared(asked, force=force) as run,
        closing(annotate_parts(run, engine)) as reports,
    ):
        for report in reports:
            done.append(report)
            if len(done) == limit:
                break
    return done


def lines(path: Path) -> List[Row]:
    """Read JSON Lines."""
    return [json.loads(line) for line in path.read_text("utf8").splitlines()]


def results(output: Path) -> List[Row]:
    """Read the documents of all parts, in the order of the parts."""
    return [row for path in sorted(output.glob("part-*.jsonl")) for row in lines(path)]


def assert_same_results(output: Path, other: Path) -> None:
    """Compare documents by id, spans exactly and scores to 1e-5.

    A document that was read alone has the score of one in a batch, but for rounding.
    """
    rows, others = results(output), results(other)
    by_id = {row["id"]: row for row in others}
    assert len(rows) == len(others) == len(by_id)
    for row in rows:
        expected = by_id[row["id"]]
        for span, twin in zip(row["spans"], expected["spans"]):
            assert span["score"] == pytest.approx(twin["score"], abs=1e-5)
            twin["score"] = span["score"]
        assert row == expected


def assert_deaths_cost_nothing(
    model: Path, folder: Path, engine: Engine, *, deaths: Path
) -> None:
    """Let one worker die once, and one document kill whoever reads it.

    deaths (Path): the folder in which workers note the deaths that happen once.
    """
    texts = numbered(60, {7: ONCE, 23: DEADLY, 40: POISON})
    corpus = write_rows(folder / "two" / "a.jsonl", texts)
    annotate(request(model, corpus, folder / "out2"), engine)
    assert len(list(deaths.iterdir())) == 1
    # Nobody dies of the first text again; the second would be the end of this process.
    texts[23] = texts[23].replace(DEADLY, POISON)
    corpus = write_rows(folder / "one" / "a.jsonl", texts)
    annotate(request(model, corpus, folder / "out1"))
    assert_same_results(folder / "out2", folder / "out1")
    assert len(results(folder / "out2")) == 58
    deadly, poisoned = lines(folder / "out2" / "errors.jsonl")
    assert (deadly["id"], poisoned["id"]) == ("a.jsonl:24", "a.jsonl:41")
    assert "SW120" in deadly["reason"]
    assert "ArithmeticError" in poisoned["reason"]


def contents(output: Path) -> Dict[str, bytes]:
    """Read what users see of a folder."""
    return {path.name: path.read_bytes() for path in output.glob("[!.]*")}

"""The command is ended in every way, and goes on; its memory does not grow."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import List

import pytest

from ...helpers import hear_interruptions
from .helpers import TROUBLE, lines, numbered, results, write_rows
from .trouble import HURRY, POISON, SLOW

PART_MB = 0.001


def command(model: Path, path: Path, output: Path) -> List[str]:
    words = ["annotate", model, path, "-o", output, "--code", TROUBLE]
    words += ["--part-mb", PART_MB, "--tolerance", 1]
    return [sys.executable, "-m", "spacy", "spanner", *map(str, words)]


def wait_for_parts(output: Path, count: int) -> None:
    for _ in range(1200):
        if len(list(output.glob("part-*"))) >= count:
            return
        time.sleep(0.1)
    raise TimeoutError


# Enough for the run to last until it is stopped, on a machine with other work too.
N_DOCS = 90


@pytest.mark.slow
@pytest.mark.parametrize(
    "how, n_process",
    [
        (signal.SIGINT, 2),
        (signal.SIGTERM, 1),
        (signal.SIGKILL, 1),
        (signal.SIGKILL, 2),
    ],
)
def test_annotate_goes_on_after_any_end(
    model: Path,
    tmp_path: Path,
    how: signal.Signals,
    n_process: int,
) -> None:
    texts = numbered(N_DOCS, {7: POISON, **dict.fromkeys(range(20, 90), SLOW)})
    path = write_rows(tmp_path / "a.jsonl", texts)
    words = [*command(model, path, tmp_path / "out"), "-n", str(n_process)]
    process = subprocess.Popen(
        words,
        start_new_session=True,
        stdout=subprocess.PIPE,
        preexec_fn=hear_interruptions,
    )
    wait_for_parts(tmp_path / "out", 2)
    # As a terminal does it: Ctrl-C reaches all processes of the group.
    send = os.killpg if how == signal.SIGINT else os.kill
    send(process.pid, how)
    printed, _ = process.communicate(timeout=120)
    stopped = len(list((tmp_path / "out").glob("part-*")))
    if how == signal.SIGKILL:
        assert process.returncode == -signal.SIGKILL
    else:
        assert process.returncode == 130
        assert b"Run the same command again" in printed
    env = {**os.environ, HURRY: "1"}
    done = subprocess.run(words, capture_output=True, text=True, timeout=240, env=env)
    assert done.returncode == 0, done.stderr
    assert "parts already finished" in done.stdout
    ids = [row["id"] for row in results(tmp_path / "out")]
    assert ids == [f"a.jsonl:{n}" for n in range(1, N_DOCS + 1) if n != 8]
    assert [row["id"] for row in lines(tmp_path / "out" / "errors.jsonl")] == [
        "a.jsonl:8"
    ]
    assert 2 <= stopped < len(list((tmp_path / "out").glob("part-*")))


MEMORY = """
import json, resource, sys
from spacy_spanner.cli.annotate import annotate
from tests.cli.test_annotate import choices
from pathlib import Path
model, path, output = sys.argv[1:]
annotate(choices(model=model, inputs=[path], output=Path(output)))
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024)
"""


@pytest.mark.slow
def test_memory_does_not_grow_with_the_corpus(tmp_path: Path) -> None:
    import spacy

    nlp = spacy.blank("en")
    ruler = nlp.add_pipe("span_ruler", config={"spans_key": "ents"})
    ruler.add_patterns([{"label": "GPE", "pattern": "Boston"}])  # type: ignore[attr-defined]
    nlp.to_disk(tmp_path / "model")
    peaks = []
    for count in (5_000, 50_000):
        # Ten words that no other document has, which a vocabulary would keep.
        texts = (
            " ".join(f"w{n}x{word}" for word in range(10)) + " Boston"
            for n in range(count)
        )
        path = tmp_path / f"{count}.jsonl"
        with path.open("w", encoding="utf8") as file:
            file.writelines(json.dumps({"text": text}) + "\n" for text in texts)
        words = [tmp_path / "model", path, tmp_path / f"out-{count}"]
        done = subprocess.run(
            [sys.executable, "-c", MEMORY, *map(str, words)],
            capture_output=True,
            text=True,
            cwd=Path(__file__).parents[3],
        )
        assert done.returncode == 0, done.stderr
        peaks.append(int(done.stdout.split()[-1]))
        n_lines = sum(
            file.read_bytes().count(b"\n")
            for file in (tmp_path / f"out-{count}").glob("part-*")
        )
        assert n_lines == count
    assert peaks[1] - peaks[0] < 50, peaks

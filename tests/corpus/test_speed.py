"""A million tokens: fast enough, and in memory that does not grow with the file."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

MILLION = 1_000_000
WORDS_A_SENTENCE = 25
CODE = """
import json, resource, sys, time
from pathlib import Path
import spacy
from spacy_spanner.corpus.conversion import convert_corpus

source, target = map(Path, sys.argv[1:])
nlp = spacy.blank("en")
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
started = time.process_time()
summary = convert_corpus(source, target, nlp, shard_tokens=100_000)
seconds = time.process_time() - started
after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
print(json.dumps([summary.tokens, summary.spans, seconds, (after - before) / 1024]))
"""


def write_corpus(path: Path, n_tokens: int) -> None:
    """Sentences with two flat and one nested entity, of 40,000 different words."""
    with path.open("w", encoding="utf8") as file:
        for token in range(n_tokens):
            place = token % WORDS_A_SENTENCE
            layers = {3: "B-A\tO", 4: "I-A\tB-B", 5: "I-A\tO", 9: "B-C\tO"}
            word = f"word{token * 7919 % 40_000}"
            file.write(f"{word}\t{layers.get(place, 'O' + chr(9) + 'O')}\n")
            if place == WORDS_A_SENTENCE - 1:
                file.write("\n")


def convert(source: Path, target: Path) -> list:
    command = [sys.executable, "-c", CODE, str(source), str(target)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


@pytest.mark.slow
def test_a_million_tokens_convert_fast_in_bounded_memory(tmp_path: Path) -> None:
    small, large = tmp_path / "small.conll", tmp_path / "large.conll"
    write_corpus(small, MILLION // 4)
    write_corpus(large, MILLION)
    _, _, _, memory = convert(small, tmp_path / "small")
    tokens, spans, seconds, memory_large = convert(large, tmp_path / "large")
    assert tokens == MILLION
    assert spans == 3 * MILLION // WORDS_A_SENTENCE
    assert tokens / seconds >= 100_000
    # Four times the text in the same memory, but for what the allocator keeps.
    assert memory_large < memory + 30

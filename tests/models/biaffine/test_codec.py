"""Settings of the biaffine codec, and what they lose or rescore."""

from typing import Any, List

import numpy as np
import pytest

from spacy_spanner.models.biaffine.codec import BiaffineCodec
from spacy_spanner.spans.table import SpanTable

from .helpers import Rows


def lost(codec: BiaffineCodec, rows: Rows) -> List[List[bool]]:
    return [mask.tolist() for mask in codec.lost(SpanTable.of(rows)).values()]


def test_lost_without_max_width_is_nothing() -> None:
    assert lost(BiaffineCodec(), [(0, 1, 0), (0, 200, 0)]) == [[False] * 2] * 2


def test_lost_with_max_width_is_what_is_wider() -> None:
    too_wide, _ = lost(BiaffineCodec(max_width=3), [(0, 1, 0), (1, 4, 0), (1, 5, 0)])
    assert too_wide == [False, False, True]


def test_lost_of_the_softmax_is_the_second_label_of_a_span() -> None:
    rows: Rows = [(0, 2, 0), (0, 3, 0), (0, 2, 1), (0, 2, 2)]
    assert lost(BiaffineCodec(), rows)[1] == [False, False, True, True]
    assert lost(BiaffineCodec(multilabel=True), rows)[1] == [False] * 4


def test_rescore_leaves_scores_as_they_are() -> None:
    spans = SpanTable.of([(0, 1, 0, 0.25), (0, 2, 0, 0.75)])
    assert BiaffineCodec().rescore(spans, np.asarray([0, 0])).tolist() == [0.25, 0.75]


@pytest.mark.parametrize(
    "name, value",
    [
        ("boundary_smoothing", -0.1),
        ("boundary_smoothing", 1.0),
        ("boundary_smoothing", "0.1"),
        ("boundary_smoothing", True),
        ("boundary_smoothing", None),
        ("smoothing_distance", 0),
        ("smoothing_distance", 1.0),
        ("smoothing_distance", None),
        ("label_smoothing", -0.1),
        ("label_smoothing", 1.0),
        ("label_smoothing", float("nan")),
        ("max_width", 0),
        ("max_width", 2.5),
        ("max_width", True),
    ],
)
def test_codec_rejects_a_setting_out_of_its_limits(name: str, value: Any) -> None:
    with pytest.raises(ValueError, match=f"SP002.*{name}"):
        BiaffineCodec(**{name: value})


@pytest.mark.parametrize(
    "name, value",
    [
        ("boundary_smoothing", 0),
        ("boundary_smoothing", 0.99),
        ("smoothing_distance", 3),
        ("label_smoothing", 0.0),
        ("max_width", 1),
        ("max_width", None),
    ],
)
def test_codec_accepts_a_setting_at_its_limits(name: str, value: Any) -> None:
    assert getattr(BiaffineCodec(**{name: value}), name) == value

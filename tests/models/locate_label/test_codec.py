"""Settings of the codec of the two-stage identifier, and what they lose or rescore."""

from typing import Any, Dict, Optional

import numpy as np
import pytest

from spacy_spanner.models.locate_label.codec import LocateLabelCodec
from spacy_spanner.models.locate_label.module import (
    LocateLabelModule,
    LocateLabelSettings,
)
from spacy_spanner.spans.table import SpanTable


@pytest.mark.parametrize(
    "name, value",
    [
        ("window_sizes", []),
        ("window_sizes", [0, 1]),
        ("window_sizes", 3),
        ("max_seed", 0),
        ("use_filter", 1),
        ("use_regressor", "no"),
        ("filter_threshold", 1.1),
        ("seed_iou", -0.1),
        ("entity_iou", 1.1),
        ("soft_examples", -1.0),
        ("soft_examples", float("inf")),
        ("negatives", -1),
        ("extra_negatives", None),
        ("filter_focus", -1),
        ("class_focus", None),
        ("filter_weight", -1),
        ("regressor_weight", "1"),
        ("class_weight", -0.1),
        ("soft_nms", None),
        ("nms_iou", 2),
        ("nms_decay", -0.1),
    ],
)
def test_codec_rejects_setting(name: str, value: Any) -> None:
    with pytest.raises(ValueError, match=rf"SP002.*'{name}'"):
        LocateLabelCodec(**{name: value})


def test_lost_counts_second_labels() -> None:
    spans = SpanTable.of([(0, 40, 0), (1, 2, 0), (1, 2, 1)])
    (wide, repeated) = LocateLabelCodec().lost(spans).values()
    assert not wide.any()
    assert repeated.tolist() == [False, False, True]


@pytest.mark.parametrize("settings", [{"max_seed": 3}, {"window_sizes": [1, 3]}])
def test_lost_without_regressor_counts_what_is_wider_than_seeds(settings: Dict) -> None:
    spans = SpanTable.of([(6, 9, 0), (6, 10, 0)])
    wide, _ = LocateLabelCodec(use_regressor=False, **settings).lost(spans).values()
    assert wide.tolist() == [False, True]


@pytest.mark.parametrize("all_seeds", [True, False])
def test_lost_without_regressor_is_what_never_is_a_seed(all_seeds: bool) -> None:
    """With the settings of the reason, nothing is lost any more."""
    settings: Dict[str, Any] = {"use_regressor": False, "all_seeds": all_seeds}
    spans = SpanTable.of([(0, width, 0) for width in range(1, 18)])
    (reason, wide), _ = LocateLabelCodec(**settings).lost(spans).items()
    missing = [16, 17] if all_seeds else [8, 10, 12, 14, 16, 17]
    assert spans.end[wide].tolist() == missing
    named = "max_seed" if all_seeds else "window_sizes"
    assert named in reason and "use_regressor = true" in reason
    every = {"max_seed": 17} if all_seeds else {"window_sizes": list(range(1, 18))}
    for better in (every, {"use_regressor": True}):
        wide, _ = LocateLabelCodec(**{**settings, **better}).lost(spans).values()
        assert not wide.any()


@pytest.mark.parametrize(
    "settings, n_seeds",
    [({}, 10 + 9), ({"all_seeds": False}, 10 + 8), ({"max_seed": 2**62}, 55)],
)
def test_windows_count_as_their_tokens_and_seeds(
    settings: Dict[str, Any], n_seeds: int
) -> None:
    sizes = [1, 2] if not settings else [1, 3]
    codec = LocateLabelCodec(window_sizes=sizes, **settings)
    module = LocateLabelModule(8, 2, LocateLabelSettings(lstm_width=0, hidden_width=8))
    # Three networks read 8 numbers, with a byte each, and have 3 for each hidden unit.
    of_seed, of_token = 3 * (8 + 2 + 3 * 8) + 50, 15 * 8
    in_training = 10 * of_token + (10 + 9 if not settings else 10 + 8) * of_seed
    in_prediction = 10 * of_token + n_seeds * 40
    assert codec.cells(module, 2, 10, in_training=True) == in_training // 24
    assert codec.cells(module, 2, 10, in_training=False) == in_prediction // 24


@pytest.mark.parametrize("soft_nms, expected", [(True, 0.72), (False, 0.8)])
def test_rescore_lowers_neighbours_if_asked_to(soft_nms: bool, expected: float) -> None:
    codec = LocateLabelCodec(soft_nms=soft_nms)
    spans = SpanTable.of([(0, 5, 0, 0.9), (0, 4, 1, 0.8)])
    score: Optional[np.ndarray] = codec.rescore(spans, np.zeros(2, dtype=np.int64))
    np.testing.assert_allclose(score, [0.9, expected], rtol=1e-6)

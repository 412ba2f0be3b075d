"""Which spans networks are asked about, and which are reported."""

import logging
from dataclasses import replace

import pytest

from spacy_spanner.models.locate_label.codec import LocateLabelCodec

from .helpers import Answers, Undecided, found


def test_candidates_ask_about_all_spans_up_to_the_largest_seed() -> None:
    # Also size 2, which training leaves out.
    codec = LocateLabelCodec(window_sizes=[1, 3])
    module = Answers({}, {})
    assert found(codec, module, [4]) == [[]]
    assert len(module.asked["filter"]) == 4 + 3 + 2
    assert found(replace(codec, max_seed=2), module, [4]) == [[]]
    assert len(module.asked["filter"]) == 4 + 3
    assert found(replace(codec, max_seed=4), module, [5]) == [[]]
    assert len(module.asked["filter"]) == 5 + 4 + 3 + 2


def test_candidates_without_filter_classify_every_seed() -> None:
    codec = LocateLabelCodec(use_filter=False)
    module = Answers({}, {(0, 1, 2): 1})
    assert found(codec, module, [4]) == [[(1, 3, 1)]]
    assert "filter" not in module.asked
    assert len(module.asked["classify"]) == 10


def test_candidates_without_regressor_move_nothing() -> None:
    codec = LocateLabelCodec(use_regressor=False)
    module = Answers({(0, 0, 0): (0, 1)}, {(0, 0, 0): 0, (0, 0, 1): 1})
    assert found(codec, module, [4]) == [[(0, 1, 0)]]
    assert "regress" not in module.asked


def test_candidates_moved_to_one_span_are_classified_once() -> None:
    offsets = {(0, 0, 0): (1.0, 2.0), (0, 1, 1): (0.0, 1.0), (1, 0, 0): (0.0, 0.0)}
    module = Answers(offsets, {(0, 1, 2): 1})
    assert found(LocateLabelCodec(), module, [3, 3]) == [[(1, 3, 1)], []]
    assert module.asked["classify"] == [(0, 1, 2), (1, 0, 0)]


@pytest.mark.parametrize("threshold, kept", [(0.49, True), (0.51, False)])
def test_candidates_pass_the_filter_at_its_threshold(
    threshold: float, kept: bool
) -> None:
    codec = LocateLabelCodec(filter_threshold=threshold)
    module = Undecided()
    found(codec, module, [1])
    assert module.asked["classify"] == ([(0, 0, 0)] if kept else [])


def test_candidates_report_the_best_label_that_reaches_its_threshold() -> None:
    # The label has e / (e + 2), about 0.58.
    module = Answers({(0, 0, 0): (0, 0)}, {(0, 0, 0): 1}, confidence=1.0)
    assert found(LocateLabelCodec(), module, [1], threshold=0.57) == [[(0, 1, 1)]]
    assert found(LocateLabelCodec(), module, [1], threshold=0.58) == [[]]


def test_candidates_of_windows_without_tokens_are_none() -> None:
    module = Answers({}, {})
    assert found(LocateLabelCodec(), module, [0, 1]) == [[], []]


def test_candidates_tell_the_log_how_many_seeds_are_kept(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with caplog.at_level(logging.DEBUG, logger="spacy"):
        found(LocateLabelCodec(), Answers({(0, 0, 0): (0, 0)}, {}), [2])
    assert caplog.messages == ["The filter kept 1 of 3 seeds."]

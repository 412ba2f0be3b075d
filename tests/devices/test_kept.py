"""What a window counts as for `max_cells` says how much memory it needs."""

from pathlib import Path
from typing import Any, Dict

import pytest

from spacy_spanner.layers.devices import NUMBERS_PER_CELL

from .kept import LENGTHS, Head, count, head_of, rows

GPU_PAGE = Path(__file__).parents[2] / "docs" / "gpu.md"


def reckoned(head: Head, n_tokens: int) -> int:
    """RETURNS (int): bytes that "auto" reckons with."""
    each = getattr(head.module, "numbers_per_cell", NUMBERS_PER_CELL)
    return 4 * int(each) * head.cells(n_tokens)


def test_page_has_what_is_counted() -> None:
    written = [
        [cell.strip() for cell in line.strip("|").split("|")]
        for line in GPU_PAGE.read_text(encoding="utf8").splitlines()
        if line.startswith("| `span_")
    ]
    for row, (name, *sizes) in zip(written, rows(), strict=True):
        assert row[0] == name
        # Another torch may keep a little more or less.
        assert [megabytes(cell) for cell in row[1:]] == pytest.approx(
            [megabytes(size) for size in sizes], rel=0.05, abs=0.1
        )


def megabytes(cell: str) -> float:
    return float(cell.removesuffix(" MB"))


@pytest.mark.parametrize("n_tokens", LENGTHS)
def test_auto_leaves_room_for_the_backward_pass(factory: str, n_tokens: int) -> None:
    """It fills half of the memory."""
    head = head_of(factory)
    found = count(head, n_tokens, n_windows=4)
    assert found.kept <= 4 * reckoned(head, n_tokens) * 1.02
    assert found.peak <= 2 * 4 * reckoned(head, n_tokens)


@pytest.mark.parametrize("n_in", [96, 384])
@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"window_sizes": [1]},
        {"window_sizes": list(range(1, 31))},
        {"hidden_width": 300, "lstm_width": 400},
        {"hidden_width": 20},
        {"lstm_width": 0},
    ],
)
def test_seeds_and_tokens_are_reckoned_with_what_they_keep(
    settings: Dict[str, Any], n_in: int
) -> None:
    head = head_of("span_locate_label", n_in, **settings)
    for n_tokens in (16, *LENGTHS):
        found = count(head, n_tokens, n_in).kept
        assert 0.8 <= found / reckoned(head, n_tokens) <= 1.1


def test_windows_without_seeds_count_their_tokens() -> None:
    head = head_of("span_locate_label", window_sizes=[30])
    assert 0 < head.cells(10) < head.cells(20) < head.cells(29) < head.cells(30)

"""How often host and device wait for each other in a batch of 32 sentences."""

from pathlib import Path
from typing import Any, Dict

import pytest

from .batches import measure

# Up, down, waits and operations. One copy down is that of transformers, which asks
# whether its mask is all ones; the denoiser matches on the host. The encoder makes
# about 50 of the operations of a prediction, and 170 of those of the gradients.
PREDICTION = {
    "span_biaffine": (4, 2, 1, 125),
    "span_locate_label": (4, 2, 1, 195),
    "span_offset": (4, 2, 1, 135),
    "span_diffusion": (4, 2, 1, 445),
}
LEARNING = {
    "span_biaffine": (5, 2, 0, 310),
    "span_locate_label": (5, 2, 1, 560),
    "span_offset": (5, 2, 0, 345),
    "span_diffusion": (6, 3, 0, 650),
}
STEP = (1, 1, 0, 20)  # of the optimizer, whose kernels update many tensors each


def test_costs_of_a_batch(factory: str, tiny_bert: Path) -> None:
    costs = measure(factory, transformer(tiny_bert))
    assert_within(costs.predict, PREDICTION[factory])
    assert_within(costs.learn, LEARNING[factory])
    assert_within(costs.step, STEP)


def test_budgets_are_not_met_by_a_copy_more(
    tiny_bert: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The budgets have no slack that would hide a new copy to the host."""
    from spacy_spanner.layers import torch_head

    read = torch_head.read_group

    def wasteful(*args: Any) -> Any:
        batch = read(*args)
        float(batch.vectors.sum())
        return batch

    monkeypatch.setattr(torch_head, "read_group", wasteful)
    costs = measure("span_biaffine", transformer(tiny_bert))
    with pytest.raises(AssertionError):
        assert_within(costs.learn, LEARNING["span_biaffine"])


def transformer(bert: Path) -> Dict[str, Any]:
    return {"@architectures": "spacy_spanner.Transformer.v1", "name": str(bert)}


def assert_within(found: Any, budget: Any) -> None:
    assert all(one <= most for one, most in zip(found, budget, strict=True)), found

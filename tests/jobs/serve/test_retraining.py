"""What the server stores after it has learned from submitted tasks."""

from pathlib import Path
from typing import Any, Dict, List

import spacy
from thinc.api import fix_random_seed
from torch import Tensor

from spacy_spanner.jobs.serve.starting import Serving

from ...helpers import trained_copy
from ...training.test_optimizer import weights
from .running import annotator_of, client_of, wait_until
from .test_label_studio import NEW, event, region


def weights_after_a_training(folder: Path, optimizer: Dict[str, Any]) -> List[Tensor]:
    """Let a server learn one task. RETURNS (List): the weights that it stores."""
    folder.mkdir()
    nlp = trained_copy("span_biaffine")
    nlp.config["training"]["optimizer"] = optimizer
    annotator = annotator_of(nlp, folder / "model")
    serving = Serving(
        annotator.model,
        label_studio=True,
        output=str(folder / "out"),
        train_after=1,
        epochs=3,
    )
    task = event("ANNOTATION_CREATED", 1, NEW, [region("Quorl Bank", 0, 10, "ORG")])
    fix_random_seed(0)
    with client_of(serving, annotator) as client:
        assert client.post("/webhook", json=task).status_code == 201
        wait_until(lambda: client.get("/health").json()["training"]["rounds"] == 1)
    stored = spacy.load(folder / "out" / "model-last")
    return [*weights(stored.get_pipe("span_biaffine").model).values()]


def test_averages_of_weights_are_stored(tmp_path: Path) -> None:
    adamw = {"@optimizers": "spacy_spanner.AdamW.v1", "encoder": 1e-3, "head": 1e-3}
    plain = weights_after_a_training(tmp_path / "plain", adamw)
    again = weights_after_a_training(tmp_path / "again", adamw)
    averaged = weights_after_a_training(
        tmp_path / "averaged", {**adamw, "use_averages": True}
    )
    for one, other in zip(plain, again, strict=True):
        assert one.equal(other)
    moved = [(one - other).abs().max() for one, other in zip(plain, averaged)]
    assert max(moved) > 1e-4

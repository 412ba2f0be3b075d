"""Settings of an owned transformer that are out of range."""

from pathlib import Path
from typing import Any

import pytest

from spacy_spanner.encoders.transformer import build_transformer

from .helpers import encoder_of


@pytest.mark.parametrize(
    "setting, value",
    [
        ("pooling", "last"),
        ("layers", 0),
        ("context", -1),
        ("context", 0.5),
        ("max_pieces", 2),
        ("batch_pieces", 0),
        ("batch_pieces", "all"),
    ],
)
def test_transformer_setting_out_of_range(setting: str, value: Any) -> None:
    with pytest.raises(ValueError, match=rf"SP002.*'{setting}'.*{value!r}"):
        build_transformer("minilm", **{setting: value})


def test_transformer_layers_above_those_that_exist(tiny_bert: Path) -> None:
    with pytest.raises(ValueError, match=r"SP002.*'layers'.*9"):
        encoder_of(tiny_bert, layers=9)

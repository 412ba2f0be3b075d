"""Stored settings that were changed, or are none."""

import warnings
from pathlib import Path
from typing import Dict

import pytest
import spacy
import srsly

from ..helpers import FACTORIES, SMALL_ENCODER, blank_pipeline, copy_of

NO_SETTINGS = {
    "": "is not JSON",
    '{"labels": ["A"': "is not JSON",
    "[]": "is not a mapping",
    "null": "is not a mapping",
    '{"labels": "GPE"}': "has no list of labels",
    '{"labels": [1, 2, 3]}': "has no list of labels",
    '{"labels": ["A", "B", "A"]}': "contains a label twice",
    "{}": "has no list of labels",
}


def test_settings_file_that_is_none(factory: str) -> None:
    pipe = blank_pipeline(factory).get_pipe(factory)
    message = srsly.msgpack_loads(pipe.to_bytes(exclude=["vocab"]))
    for text, problem in NO_SETTINGS.items():
        with pytest.raises(ValueError, match=rf"SP148.*cfg {problem}"):
            pipe.from_bytes(srsly.msgpack_dumps({**message, "cfg": text}))


def test_stored_setting_out_of_limits_fails_when_loaded(
    factory: str, folder: Path
) -> None:
    cfg = srsly.read_json(folder / factory / "cfg")
    srsly.write_json(folder / factory / "cfg", {**cfg, "overlap": "crossing"})
    with (
        pytest.warns(UserWarning, match=rf"SW146.*{factory}"),
        pytest.raises(ValueError, match=r"SP002.*'overlap'"),
    ):
        spacy.load(folder)


def test_edited_settings_are_loaded_with_a_warning(factory: str, folder: Path) -> None:
    cfg = srsly.read_json(folder / factory / "cfg")
    srsly.write_json(folder / factory / "cfg", {**cfg, "threshold": 0.9})
    with pytest.warns(UserWarning, match=rf"SW146.*{factory}"):
        nlp = spacy.load(folder)
    assert nlp.get_pipe(factory).settings.threshold == 0.9
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        copy_of(nlp)


@pytest.mark.parametrize("name", ["lstm_width", "hidden_width"])
def test_config_of_another_module_is_refused(
    factory: str, folder: Path, name: str
) -> None:
    config = spacy.util.load_config(folder / "config.cfg")
    model = config["components"][factory]["model"]
    if name not in model:
        pytest.skip(f"has no {name}")
    model[name] += 8
    config.to_disk(folder / "config.cfg")
    with pytest.raises(ValueError, match=r"(?s)SP150.*size mismatch"):
        spacy.load(folder)


@pytest.mark.parametrize("factory", FACTORIES[:1])  # nothing here depends on the model
@pytest.mark.parametrize("change", [{"width": 48}, {"depth": 3}, {"embed_size": 64}])
def test_config_of_another_encoder_is_refused(
    factory: str, folder: Path, change: Dict[str, int]
) -> None:
    config = spacy.util.load_config(folder / "config.cfg")
    config["components"][factory]["model"]["tok2vec"] = {**SMALL_ENCODER, **change}
    config.to_disk(folder / "config.cfg")
    with pytest.raises(ValueError, match=r"\w{4} \w{2}"):
        spacy.load(folder)

"""The settings of `span_ensemble` are stored, and loaded if they are sound."""

from pathlib import Path
from typing import Any, Dict

import pytest
import spacy
import srsly

from ..helpers import scored_spans
from .test_ensemble import TEXT, pipeline


def test_settings_are_stored(tmp_path: Path) -> None:
    nlp = pipeline()
    nlp.get_pipe("span_ensemble").cfg["weights"] = [1.0, 3.0]  # type: ignore
    nlp.to_disk(tmp_path / "model")
    loaded = spacy.load(tmp_path / "model")
    again = pipeline().from_bytes(nlp.to_bytes())
    for copy in (loaded, again):
        assert copy.get_pipe("span_ensemble").cfg["weights"] == [1.0, 3.0]  # type: ignore
        assert scored_spans(copy(TEXT)) == scored_spans(nlp(TEXT))
    overrides = {"components": {"span_ensemble": {"threshold": 0.55}}}
    changed = spacy.load(tmp_path / "model", config=overrides)
    assert len(changed(TEXT).spans["ents"]) == 1
    (tmp_path / "model" / "span_ensemble" / "cfg").write_text("{", encoding="utf8")
    with pytest.raises(ValueError, match="SP148"):
        spacy.load(tmp_path / "model")


@pytest.mark.parametrize("text", ["", "[]", "5", "null", '{"made_with": 5}', "\xe9"])
def test_damaged_settings_are_reported(text: str, tmp_path: Path) -> None:
    ensemble: Any = pipeline().get_pipe("span_ensemble")
    before = dict(ensemble.cfg)
    ensemble.to_disk(tmp_path)
    (tmp_path / "cfg").write_text(text, encoding="latin1")
    with pytest.raises(ValueError, match=r"SP148.*'span_ensemble' \(.*cfg (is|has)"):
        ensemble.from_disk(tmp_path)
    with pytest.raises(ValueError, match=r"SP148.*cfg (is|has)"):
        ensemble.from_bytes(srsly.msgpack_dumps({"cfg": text}))
    assert ensemble.cfg == before


@pytest.mark.parametrize(
    "wrong", [{"weights": [1.0]}, {"threshold": 2}, {"spans_key": "two"}]
)
def test_settings_that_are_refused_do_not_stay(wrong: Dict[str, Any]) -> None:
    ensemble: Any = pipeline().get_pipe("span_ensemble")
    before = dict(ensemble.cfg)
    stored = srsly.json_dumps({**before, **wrong, "made_with": before})
    with pytest.raises(ValueError, match=r"SP002|SP173|SP174"):
        ensemble.from_bytes(srsly.msgpack_dumps({"cfg": stored}))
    assert ensemble.cfg == before
    # Settings that were stored before there was such a setting.
    fewer = {k: v for k, v in before.items() if k not in wrong}
    ensemble.from_bytes(srsly.msgpack_dumps({"cfg": srsly.json_dumps(fewer)}))
    assert ensemble.cfg == before


def test_settings_may_be_excluded(tmp_path: Path) -> None:
    first: Any = pipeline(weights=[1.0, 3.0]).get_pipe("span_ensemble")
    second: Any = pipeline().get_pipe("span_ensemble")
    first.to_disk(tmp_path / "all")
    first.to_disk(tmp_path / "none", exclude=["cfg"])
    second.from_disk(tmp_path / "all", exclude=["cfg"])
    second.from_disk(tmp_path / "none", exclude=["cfg"])
    second.from_bytes(first.to_bytes(), exclude=["cfg"])
    second.from_bytes(first.to_bytes(exclude=["cfg"]), exclude=["cfg"])
    assert second.cfg["weights"] == []
    with pytest.raises(ValueError, match=r"SP148.*cfg is missing"):
        second.from_disk(tmp_path / "none")

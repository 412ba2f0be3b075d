"""Loading a pipeline whose config and stored settings differ."""

import json
import shutil
import sys
import warnings
from pathlib import Path
from typing import Any, Dict, Iterator

import pytest
import spacy
from spacy.cli.package import package
from spacy.language import Language

from ...helpers import (
    FACTORIES,
    NESTED,
    blank_pipeline,
    defaults_of,
    make_examples,
    train,
)

MADE, TUNED, CHOSEN = 0.61, 0.33, 0.72


@pytest.fixture
def nlp(factory: str) -> Language:
    """A pipeline that was made with another threshold than the default."""
    nlp = blank_pipeline(factory, threshold=MADE)
    train(nlp, make_examples(nlp, NESTED), updates=0)
    return nlp


@pytest.fixture
def silent() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        yield


def settings_of(nlp: Language, factory: str) -> Any:
    pipe: Any = nlp.get_pipe(factory)
    assert "made_with" not in pipe.cfg
    return pipe.settings


def override(factory: str, **settings: Any) -> Dict[str, Any]:
    return {"components": {factory: settings}}


def edit_config(folder: Path, factory: str, **settings: Any) -> None:
    config = spacy.util.load_config(folder / "config.cfg")
    config["components"][factory].update(settings)
    config.to_disk(folder / "config.cfg")


def forget_origin(folder: Path) -> None:
    """Store a component as old versions did."""
    cfg = json.loads((folder / "cfg").read_text(encoding="utf8"))
    del cfg["made_with"]
    (folder / "cfg").write_text(json.dumps(cfg), encoding="utf8")
    (folder / "digests").unlink()


@pytest.mark.usefixtures("silent")
def test_edited_config_wins(nlp: Language, factory: str, tmp_path: Path) -> None:
    nlp.to_disk(tmp_path)
    edit_config(tmp_path, factory, threshold=CHOSEN, label_thresholds={"GPE": 0.5})
    settings = settings_of(spacy.load(tmp_path), factory)
    assert (settings.threshold, settings.label_thresholds) == (CHOSEN, {"GPE": 0.5})


@pytest.mark.usefixtures("silent")
def test_override_wins_and_is_stored(
    nlp: Language, factory: str, tmp_path: Path
) -> None:
    nlp.get_pipe(factory).cfg["threshold"] = TUNED
    nlp.to_disk(tmp_path / "one")
    given = override(factory, threshold=CHOSEN, overlap="flat")
    loaded = spacy.load(tmp_path / "one", config=given)
    dotted = {f"components.{factory}.threshold": CHOSEN}
    assert settings_of(loaded, factory).overlap == "flat"
    again = spacy.load(tmp_path / "one", config=dotted)
    for one in (loaded, again):
        one.to_disk(tmp_path / "two")
        reloaded = spacy.load(tmp_path / "two")
        assert settings_of(reloaded, factory).threshold == CHOSEN


@pytest.mark.usefixtures("silent")
def test_tuned_settings_stay(nlp: Language, factory: str, tmp_path: Path) -> None:
    nlp.get_pipe(factory).cfg.update(threshold=TUNED, label_thresholds={"ORG": 0.5})
    for folder in (tmp_path / "one", tmp_path / "two"):
        nlp.to_disk(folder)
        nlp = spacy.load(folder, config=override(factory, overlap="any"))
        settings = settings_of(nlp, factory)
        assert settings.threshold == TUNED
        assert settings.label_thresholds == {"ORG": 0.5}
        assert settings.overlap == "any"


@pytest.mark.usefixtures("silent")
def test_mapping_changed_in_place_counts_as_tuned(
    nlp: Language, factory: str, tmp_path: Path
) -> None:
    nlp.get_pipe(factory).cfg["label_thresholds"]["ORG"] = 0.5
    nlp.to_disk(tmp_path)
    loaded = spacy.load(tmp_path)
    assert settings_of(loaded, factory).label_thresholds == {"ORG": 0.5}


def test_override_with_the_default_names_both(
    nlp: Language, factory: str, tmp_path: Path
) -> None:
    nlp.to_disk(tmp_path)
    default = defaults_of(factory)["threshold"]
    expected = rf"SW008.*'{factory}'.*threshold = {default} \(stored: {MADE}\)"
    with pytest.warns(UserWarning, match=expected):
        loaded = spacy.load(tmp_path, config=override(factory, threshold=default))
    assert settings_of(loaded, factory).threshold == MADE
    loaded.to_disk(tmp_path)
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        assert settings_of(spacy.load(tmp_path), factory).threshold == MADE


def test_new_component_takes_over_stored_settings(
    nlp: Language, factory: str, tmp_path: Path
) -> None:
    nlp.get_pipe(factory).to_disk(tmp_path)
    new = blank_pipeline(factory, max_window=100, stride=20)
    with pytest.warns(UserWarning, match="SW008"):
        new.get_pipe(factory).from_disk(tmp_path)
    settings = settings_of(new, factory)
    assert (settings.threshold, settings.max_window) == (MADE, 100)


@pytest.mark.usefixtures("silent")
def test_bytes_with_another_config(nlp: Language, factory: str) -> None:
    config = nlp.config.copy()
    config["components"][factory]["threshold"] = CHOSEN
    nlp.get_pipe(factory).cfg["threshold"] = TUNED
    for given, expected in ((nlp.config, TUNED), (config, CHOSEN)):
        loaded = spacy.blank("en").from_config(given).from_bytes(nlp.to_bytes())
        assert settings_of(loaded, factory).threshold == expected


@pytest.mark.usefixtures("silent")
def test_sourced_component(nlp: Language, factory: str, tmp_path: Path) -> None:
    nlp.get_pipe(factory).cfg["threshold"] = TUNED
    nlp.to_disk(tmp_path / "one")
    other = spacy.blank("en")
    other.add_pipe(factory, name="entities", source=spacy.load(tmp_path / "one"))
    other.to_disk(tmp_path / "two")
    assert settings_of(spacy.load(tmp_path / "two"), "entities").threshold == TUNED
    changed = override("entities", threshold=CHOSEN)
    loaded = spacy.load(tmp_path / "two", config=changed)
    assert settings_of(loaded, "entities").threshold == CHOSEN


@pytest.mark.parametrize("factory", FACTORIES[:1])
def test_package(
    nlp: Language, factory: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    nlp.get_pipe(factory).cfg["threshold"] = TUNED
    nlp.to_disk(tmp_path / "model")
    (tmp_path / "packages").mkdir()
    package(
        tmp_path / "model",
        tmp_path / "packages",
        name="overridden",
        create_sdist=False,
        silent=True,
    )
    folder = tmp_path / "packages" / "en_overridden-0.0.0"
    shutil.copy(folder / "meta.json", folder / "en_overridden")  # as setup.py does
    monkeypatch.syspath_prepend(folder)
    import en_overridden  # type: ignore[import-not-found]

    changed = override(factory, threshold=CHOSEN)
    assert settings_of(en_overridden.load(), factory).threshold == TUNED
    assert settings_of(en_overridden.load(config=changed), factory).threshold == CHOSEN
    del sys.modules["en_overridden"]


def test_override_out_of_limits_fails(
    nlp: Language, factory: str, tmp_path: Path
) -> None:
    nlp.to_disk(tmp_path)
    with pytest.raises(ValueError, match=r"SP002.*'overlap'"):
        spacy.load(tmp_path, config=override(factory, overlap="crossing"))


def test_old_pipeline_keeps_stored_settings_and_names_both(
    nlp: Language, factory: str, tmp_path: Path
) -> None:
    nlp.get_pipe(factory).cfg["threshold"] = TUNED
    nlp.to_disk(tmp_path)
    forget_origin(tmp_path / factory)
    expected = rf"SW008.*threshold = {MADE} \(stored: {TUNED}\)"
    with pytest.warns(UserWarning, match=expected) as caught:
        loaded = spacy.load(tmp_path)
    assert len(caught) == 1
    assert settings_of(loaded, factory).threshold == TUNED


@pytest.mark.usefixtures("silent")
def test_old_pipeline_with_equal_settings_loads_silently(
    nlp: Language, factory: str, tmp_path: Path
) -> None:
    nlp.to_disk(tmp_path)
    forget_origin(tmp_path / factory)
    assert settings_of(spacy.load(tmp_path), factory).threshold == MADE

"""Settings are read from `cfg`, and made again only when it has changed."""

from typing import Any, Dict

import pytest

from spacy_spanner.models.biaffine.codec import BiaffineCodec
from spacy_spanner.models.locate_label.codec import LocateLabelCodec
from spacy_spanner.pipeline.state import SettingsReader


def test_settings_are_made_once_while_cfg_stays() -> None:
    reader, cfg = (
        SettingsReader(BiaffineCodec, 0.3),
        {"labels": ["A"], "threshold": 0.4},
    )
    first = reader.read(cfg)
    assert first.settings.threshold == 0.4
    assert first.codec == BiaffineCodec()
    assert reader.read(cfg) is first


@pytest.mark.parametrize(
    "change",
    [
        {"threshold": 0.6},
        {"boundary_smoothing": 0.0},
        {"label_thresholds": {"A": 0.2}},
    ],
)
def test_changed_settings_hold_at_once(change: Dict[str, Any]) -> None:
    reader, cfg = (
        SettingsReader(BiaffineCodec, 0.3),
        {"labels": ["A"], "threshold": 0.4},
    )
    reader.read(cfg)
    cfg.update(change)
    settings, codec = reader.read(cfg)
    ((name, value),) = change.items()
    assert getattr(settings, name, getattr(codec, name, None)) == value


def test_changes_inside_of_values_are_noticed() -> None:
    reader = SettingsReader(LocateLabelCodec, 0.3)
    cfg: Dict[str, Any] = {"window_sizes": [1, 2], "label_thresholds": {}}
    reader.read(cfg)
    cfg["window_sizes"].append(7)
    cfg["label_thresholds"]["A"] = 0.25
    settings, codec = reader.read(cfg)
    assert settings.label_thresholds == {"A": 0.25}
    assert codec.window_sizes == [1, 2, 7]  # type: ignore[attr-defined]


def test_auto_is_the_chosen_number_or_the_constant() -> None:
    reader, cfg = SettingsReader(BiaffineCodec, 0.3), {"threshold": "auto"}
    assert reader.read(cfg).settings.threshold == 0.3
    cfg["chosen_threshold"] = 0.42  # type: ignore[assignment]
    assert reader.read(cfg).settings.threshold == 0.42
    cfg["threshold"] = 0.6  # type: ignore[assignment]
    assert reader.read(cfg).settings.threshold == 0.6
    assert cfg == {"threshold": 0.6, "chosen_threshold": 0.42}


def test_wrong_settings_fail_again_and_again() -> None:
    reader, cfg = SettingsReader(BiaffineCodec, 0.3), {"threshold": 0.5}
    reader.read(cfg)
    cfg["threshold"] = 1.5
    for _ in range(2):
        with pytest.raises(ValueError, match=r"SP002.*threshold"):
            reader.read(cfg)
    cfg["threshold"] = True  # equals 1, and is no number
    with pytest.raises(ValueError, match=r"SP002.*threshold"):
        reader.read(cfg)

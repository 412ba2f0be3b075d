"""Scores and speed for all values of two settings that can be changed after training,
such as the steps and the spans of a diffusion model.
"""

from typing import Any, Dict, List, NamedTuple, Sequence

import numpy as np
from confection import try_load_json
from spacy.language import Language
from spacy.training import Example

from ..errors import Errors
from .model_costs import measure_run
from .predicting import Track, untracked


class Axis(NamedTuple):
    """A setting and its values."""

    setting: str
    values: Sequence[Any]


def parse_axis(text: str) -> Axis:
    """Parse a setting and its values from the command line.

    text (str): for example "steps=1,5,10".
    RETURNS (Axis): the setting; values are parsed as JSON if possible.
    RAISES (ValueError): SP081 without a setting or a value.
    """
    setting, _, listed = text.partition("=")
    values = [part.strip() for part in listed.split(",")]
    if not setting.strip() or not all(values):
        raise ValueError(Errors.SP081.format(text=text))
    return Axis(setting.strip(), [try_load_json(value) for value in values])


def settings_grid(
    nlp: Language,
    name: str,
    examples: Sequence[Example],
    *,
    rows: Axis,
    columns: Axis,
    track: Track = untracked,
) -> Dict[str, Any]:
    """Predict with every pair of values.

    nlp (Language): the trained pipeline; its settings are restored at the end.
    name (str): the component.
    examples (Sequence[Example]): annotated documents.
    rows, columns (Axis): the settings.
    RETURNS (Dict[str, Any]): the axes, and tables (lists of rows) of `f`, None without
        spans to score, and `words_per_second`.
    RAISES (ValueError): SP080 if the component does not have a setting.
    """
    pipe: Any = nlp.get_pipe(name)
    _require_setting(name, pipe, rows.setting)
    _require_setting(name, pipe, columns.setting)
    saved = dict(pipe.cfg)
    pairs = [(row, column) for row in rows.values for column in columns.values]
    cells: List[Dict[str, Any]] = []
    try:
        for row, column in track(pairs, total=len(pairs), what="Predicting"):
            pipe.cfg.update({rows.setting: row, columns.setting: column})
            cells.append(measure_run(nlp, examples, saved["spans_key"]))
    finally:
        pipe.cfg.update(saved)
    shape = len(rows.values), len(columns.values)
    tables = {
        key: np.asarray([cell[key] for cell in cells], object).reshape(shape).tolist()
        for key in ("f", "words_per_second")
    }
    return {"rows": rows._asdict(), "columns": columns._asdict(), **tables}


def _require_setting(name: str, pipe: Any, setting: str) -> None:
    if setting not in pipe.cfg:
        settings = ", ".join(pipe.cfg)
        raise ValueError(
            Errors.SP080.format(component=name, setting=setting, settings=settings)
        )

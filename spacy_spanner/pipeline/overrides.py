"""Settings of a loaded component: those that were stored, or those of its config?

`cfg` holds the settings that were in use when a component was stored, `config.cfg`
those that it was made with. They differ if somebody has changed `cfg`. So `cfg` counts,
unless somebody has changed the config since. To notice that, the settings that a
component was made with are stored beside those in use.
"""

import json
import warnings
from copy import deepcopy
from typing import Any, Dict, Mapping

from spacy.language import Language

from ..errors import Warnings

MADE_WITH = "made_with"

Settings = Mapping[str, Any]


def with_origin(cfg: Settings, made_with: Settings) -> Dict[str, Any]:
    """RETURNS (Dict[str, Any]): what is stored: `cfg`, and what it was made from."""
    return {**cfg, MADE_WITH: made_with}


def record_settings(nlp: Language, name: str, settings: Settings) -> None:
    """Write settings that were chosen for a component to its config, too. A later
    override can then be noticed even if it repeats what the config said before.

    nlp (Language): the pipeline.
    name (str): the component, of this package or another one.
    settings (Mapping[str, Any]): the entries of its `cfg` that were changed.
    """
    nlp.get_pipe_config(name).update(deepcopy(dict(settings)))
    made_with = getattr(nlp.get_pipe(name), MADE_WITH, {})
    made_with.update(deepcopy(dict(settings)))


def merge_stored(
    stored: Settings, made_with: Settings, defaults: Settings, component: str
) -> Dict[str, Any]:
    """Choose between the settings that a component was made with and stored ones.

    A setting that was stored is kept if the config still says what it said then. If the
    config says something else, it wins: it was edited, or `spacy.load` got an override.
    Only if it says the default, the stored setting is kept, with a warning: a component
    that is made in order to load another has defaults that nobody has chosen.

    stored (Mapping[str, Any]): see `with_origin`. Old versions did not store what a
        component was made with, so that nobody can tell why it differs from `cfg`.
    made_with (Mapping[str, Any]): the settings of the component that is being loaded.
    defaults (Mapping[str, Any]): the defaults of its factory.
    component (str): its name, for the warning.
    RETURNS (Dict[str, Any]): the entries of `cfg`.
    """
    cfg = {name: value for name, value in stored.items() if name != MADE_WITH}
    before = stored.get(MADE_WITH, {})
    ignored = []
    for name, value in as_stored(made_with).items():
        if name not in cfg or value == cfg[name]:
            continue
        if name in before and value == before[name]:
            continue
        if name in before and value != defaults.get(name):
            cfg[name] = value
        else:
            ignored.append(f"{name} = {value!r} (stored: {cfg[name]!r})")
    if ignored:
        message = Warnings.SW008.format(component=component, ignored=", ".join(ignored))
        warnings.warn(message)
    return cfg


def as_stored(settings: Settings) -> Dict[str, Any]:
    """RETURNS (Dict[str, Any]): settings as they come back from the disk."""
    found: Dict[str, Any] = json.loads(json.dumps(dict(settings)))
    return found

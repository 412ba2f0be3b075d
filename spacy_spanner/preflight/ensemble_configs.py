"""Configs of pipelines in which several models share an encoder, and are joined."""

from typing import Any, Dict, Iterator, List, Tuple

from thinc.api import Config

from ..pipeline.ensemble import FACTORY
from ..pipeline.ensemble_settings import EnsembleSettings
from ..pipeline.factories import SCORER
from ..settings import AUTO, defaults_of
from .config_text import Comments, config_text
from .marked_values import Tree
from .recipes import Recipe, plan_config
from .starter_config import PREFIX

ENCODER = "tok2vec"
LISTENER = {"@architectures": "spacy.Tok2VecListener.v1", "upstream": ENCODER}
COPIED = {"@augmenters": "spacy_spanner.copy_spans.v1", "source": "${vars.spans_key}"}
COMMENTS: Comments = {
    "components": {"": "One encoder for all models, which is trained by all of them."},
    f"components.{FACTORY}": {"weights": "Fitted by `spanner tune`, as are others"},
    "corpora.train.augmenter": {"": "Each model reads its gold where it writes spans."},
}


def ensemble_configs(table: Tree, source: str) -> Iterator[Tuple[str, str]]:
    """Make the configs of the block `ensembles` of the table.

    table (Tree): see `read_table`.
    source (str): the last line of the headings.
    YIELDS (Tuple[str, str]): path and text of each config.
    """
    for encoder, about in table["ensembles"].items():
        config, comments = plan_ensemble(table, encoder)
        heading = f"{about['heading'].strip()}\n{source}"
        yield f"ensemble_{encoder}.cfg", config_text(config, heading, comments)


def plan_ensemble(table: Tree, encoder: str) -> Tuple[Config, Comments]:
    """RETURNS (Tuple[Config, Comments]): the config of an ensemble on an encoder, not
    interpolated, and the reasons of its values.
    """
    about, layer = table["ensembles"][encoder], table["encoders"][encoder]
    names = [PREFIX + model for model in about["members"]]
    layers = [table["shared"], layer, about["settings"]]
    plans = [
        plan_config(Recipe("", name, [*layers, own_group(name)]), table["columns"])
        for name in names
    ]
    config, comments = plans[0]
    # The encoder of the first model moves out, and all listen to it.
    model = config["components"][names[0]]["model"][ENCODER]
    parts: Dict[str, Any] = {**config["components"]}
    del parts[names[0]]
    parts[ENCODER] = {"factory": "tok2vec", "model": model}
    for name, (plan, _) in zip(names, plans):
        parts[name] = plan["components"][name]
        parts[name]["model"][ENCODER] = {**LISTENER, "width": about["width"]}
    parts[FACTORY] = ensemble_block(names)
    config["components"] = parts
    config["nlp"]["pipeline"] = list(parts)
    for split in ("train", "dev"):
        config["corpora"][split]["augmenter"] = {**COPIED, "targets": names}
    return config, {**comments, **COMMENTS}


def own_group(name: str) -> Tree:
    """RETURNS (Tree): the settings of a member, which reports unlikely spans, too."""
    return {"spans_key": name, "threshold": 0.05, "overlap": "any"}


def ensemble_block(members: List[str]) -> Dict[str, Any]:
    """RETURNS (Dict[str, Any]): the block of the ensemble."""
    settings = defaults_of(EnsembleSettings)
    settings.update(members=members, spans_key="${vars.spans_key}", threshold=AUTO)
    block = {"factory": FACTORY, **settings, "scorer": dict(SCORER)}
    return {key: block[key] for key in sorted(block, key=lambda one: one == "scorer")}

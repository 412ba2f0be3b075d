"""Choices of the project's workflow, checked before work begins."""

import warnings
from pathlib import Path
from typing import Any, Dict, Iterator, Mapping, Optional, Sequence, Tuple

import spacy
from spacy.util import is_package

from ..encoders.sources import find_pretrained
from ..errors import Errors, Warnings
from .recipes import JOINED, Recipe, find_paper, papers_of
from .starter_config import find_factory

PARTS = ("train", JOINED)
OWN_ENCODER = "spacy_spanner.Transformer.v1"
ENCODERS = (OWN_ENCODER, "spacy-transformers.TransformerModel.")
# What the pipelines in [paths] provide.
PROVIDED = {"vectors": "word vectors", "tagger": "part-of-speech tags"}


def find_papers(models: Sequence[str], dataset: str) -> Dict[str, Recipe]:
    """Find the recipes that the papers have for a dataset.

    models (Sequence[str]): models, with or without "span_".
    dataset (str): name of the dataset.
    RETURNS (Dict[str, Recipe]): by model; those without recipe are left out with a
        warning (SW080).
    RAISES (ValueError): SP085 if no model has one, SP076 for an unknown model.
    """
    spacy.blank("en")  # loads the factories
    recipes = {model: papers_of(find_factory(model)) for model in models}
    if not any(dataset in known for known in recipes.values()):
        find_paper(find_factory(models[0]), dataset)
    for model, known in recipes.items():
        if dataset not in known:
            existing = ", ".join(sorted(known))
            message = Warnings.SW080.format(
                model=model, dataset=dataset, existing=existing
            )
            warnings.warn(message, stacklevel=2)
    return {m: known[dataset] for m, known in recipes.items() if dataset in known}


def encoder_settings(config: Mapping[str, Any], name: str, file: str) -> Dict[str, Any]:
    """Replace the pretrained encoders of a config.

    config (Mapping[str, Any]): the config.
    name (str): the other encoder: "minilm", a folder, or a name on the hub.
    file (str): name of the config, for errors.
    RETURNS (Dict[str, Any]): settings to override, by dotted name. If the other encoder
        has fewer layers than are averaged, they are all averaged.
    RAISES (ValueError): SP088 if there is no pretrained encoder, SP015 if the other one
        cannot be loaded.
    """
    encoders = dict(find_architectures(config["components"], "components"))
    replaced = {
        place: block
        for place, block in encoders.items()
        if block["@architectures"].startswith(ENCODERS)
    }
    if not replaced:
        existing = sorted({block["@architectures"] for block in encoders.values()})
        shown = ", ".join(existing) or "none"
        raise ValueError(Errors.SP088.format(config=file, name=name, existing=shown))
    n_layers = find_pretrained(name).config.num_hidden_layers
    settings: Dict[str, Any] = {}
    for place, block in replaced.items():
        settings[f"{place}.name"] = name
        if block["@architectures"] == OWN_ENCODER:
            settings[f"{place}.revision"] = None
            settings[f"{place}.layers"] = min(block.get("layers", 1), n_layers)
    return settings


def find_architectures(
    block: Mapping[str, Any], place: str
) -> Iterator[Tuple[str, Dict[str, Any]]]:
    """YIELDS (Tuple[str, Dict[str, Any]]): the blocks of architectures in a block that
    contain no others, and their places.
    """
    inner = {key: value for key, value in block.items() if isinstance(value, dict)}
    found = [
        one
        for key, value in inner.items()
        for one in find_architectures(value, f"{place}.{key}")
    ]
    yield from found
    if not found and "@architectures" in block:
        yield place, dict(block)


def pipeline_settings(
    config: Mapping[str, Any], given: Mapping[str, str], file: str
) -> Dict[str, Any]:
    """Set the pipelines that provide word vectors and tags, where a config needs them.

    config (Mapping[str, Any]): the config.
    given (Mapping[str, str]): folders or names of pipelines, for "vectors" and
        "tagger"; empty to keep that of the config.
    file (str): name of the config, for errors.
    RETURNS (Dict[str, Any]): settings to override, by dotted name.
    RAISES (ValueError): SP089 for a pipeline that does not exist.
    """
    settings = {}
    for name, what in PROVIDED.items():
        if name not in config["paths"]:
            continue
        value = given.get(name) or config["paths"][name]
        if value is None or not (is_package(value) or Path(value).is_dir()):
            problem = "is neither a folder nor an installed package"
            raise ValueError(
                Errors.SP089.format(
                    config=file, what=what, name=name, value=value, problem=problem
                )
            )
        settings[f"paths.{name}"] = value
    return settings


def choose_parts(dataset: str, parts: str, recipe: Optional[Recipe]) -> str:
    """Choose the parts of a dataset to train on.

    parts (str): those that were asked for; empty for those of the recipe.
    recipe (Optional[Recipe]): the recipe of a paper, if it is one.
    RETURNS (str): "train" or "train+dev".
    RAISES (ValueError): SP090 for other parts.
    """
    chosen = parts or (recipe.about("parts", PARTS[0]) if recipe else PARTS[0])
    if chosen not in PARTS:
        raise ValueError(Errors.SP090.format(dataset=dataset, parts=chosen))
    return chosen


def find_part(corpus: Path, dataset: str, parts: str) -> Path:
    """RETURNS (Path): the `.spacy` file of the parts to train on.

    corpus (Path): folder of the converted dataset.
    RAISES (ValueError): SP091 if it does not exist.
    """
    path = corpus / f"{parts}.spacy"
    if not path.is_file():
        raise ValueError(Errors.SP091.format(dataset=dataset, parts=parts, path=path))
    return path

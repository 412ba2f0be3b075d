"""The trainings that the variables of the workflow ask for, and their results."""

import re
from hashlib import md5
from pathlib import Path
from typing import Any, Dict, List, NamedTuple, Optional

import srsly
import typer
from datasets import ROOT
from spacy.util import load_config

from spacy_spanner.errors import Errors
from spacy_spanner.preflight.choices import (
    choose_parts,
    encoder_settings,
    find_architectures,
    find_papers,
    pipeline_settings,
)
from spacy_spanner.preflight.recipes import JOINED, RECIPES, Recipe
from spacy_spanner.settings import one_of, require

ABOUT = "run.json"
PAPER = "paper"

# The options that several scripts take.
MODELS = typer.Option(..., help="Names of models, separated by spaces")
RECIPE = typer.Option("tuned", help="tuned, or paper")
ENCODER = typer.Option("cnn", help="Encoder of the tuned configs")
ENCODER_NAME = typer.Option("", help="Encoder to use instead of that of the configs")
CONFIG = typer.Option("", help="Path of a config to train instead")
PARTS = typer.Option("", help="train or train+dev; default: what the recipe says")
VECTORS = typer.Option("", help="Pipeline with word vectors, where a config needs them")
TAGGER = typer.Option("", help="Pipeline with a tagger, where a config needs it")


class Choices(NamedTuple):
    """The variables of the workflow that say what to train.

    models (str): names, separated by spaces.
    recipe (str): "tuned" or "paper".
    encoder (str): encoder of the tuned configs.
    encoder_name (str): encoder to use instead of that of the configs; empty to keep it.
    config (str): path of a config to train instead of those of the models; or empty.
    train_parts (str): parts to train on; empty for what the recipe says.
    vectors, tagger (str): pipelines that provide them; empty for those of the configs.
    """

    models: str
    recipe: str
    encoder: str
    encoder_name: str
    config: str
    train_parts: str
    vectors: str
    tagger: str


class Run(NamedTuple):
    """A training.

    config (Path): its config.
    model (str): name of the model; empty if the config was chosen by its path.
    name (str): name of its results.
    parts (str): the parts of the dataset that it learns from.
    settings (Dict[str, Any]): settings of the config to override.
    about (Dict[str, str]): what its results are of, for reports.
    """

    config: Path
    model: str
    name: str
    parts: str
    settings: Dict[str, Any]
    about: Dict[str, str]


def config_path(model: str, encoder: str) -> Path:
    """RETURNS (Path): the config of a model on an encoder.

    RAISES (SystemExit): if there is none; the message lists those that exist.
    """
    path = ROOT / "configs" / f"{model}_{encoder}.cfg"
    if not path.exists():
        existing = ", ".join(sorted(found.name for found in path.parent.glob("*.cfg")))
        raise SystemExit(f"There is no config {path.name}. There are: {existing}")
    return path


def plan_runs(dataset: str, choices: Choices) -> List[Run]:
    """Plan the trainings, and check what can be checked before.

    RAISES (ValueError): an error that names what does not fit, and what to do.
    """
    require(one_of(RECIPES), recipe=choices.recipe)
    models, is_paper = choices.models.split(), choices.recipe == PAPER
    if choices.config and is_paper:
        first, second = "--vars.recipe paper", f"--vars.config {choices.config}"
        why = "a recipe has configs of its own"
        raise ValueError(Errors.SP030.format(first=first, second=second, why=why))
    if choices.config:
        return [_plan_run(dataset, Path(choices.config), "", choices)]
    if is_paper:
        papers = find_papers(models, dataset)
        return [
            _plan_run(dataset, ROOT / "configs" / recipe.path, model, choices, recipe)
            for model, recipe in papers.items()
        ]
    paths = {model: config_path(model, choices.encoder) for model in models}
    return [_plan_run(dataset, paths[model], model, choices) for model in paths]


def _plan_run(
    dataset: str,
    path: Path,
    model: str,
    choices: Choices,
    recipe: Optional[Recipe] = None,
) -> Run:
    """RETURNS (Run): the training of a config.

    recipe (Optional[Recipe]): the recipe of a paper that the config is made from.
    """
    parts = choose_parts(dataset, choices.train_parts, recipe)
    config, name = load_config(path), choices.encoder_name
    given = {"vectors": choices.vectors, "tagger": choices.tagger}
    settings = pipeline_settings(config, given, path.name)
    if name:
        settings.update(encoder_settings(config, name, path.name))
    encoder = name or encoder_of(config)
    shown = [parts] if recipe or parts == JOINED else []
    shown += [short_name(encoder)] if recipe or name else []
    run = "_".join([path.stem, *shown])
    about = {"recipe": choices.recipe, "train parts": parts, "encoder": encoder}
    return Run(path, model, run, parts, settings, about)


def encoder_of(config: Dict[str, Any]) -> str:
    """RETURNS (str): the encoder of a config, for names and reports."""
    found = find_architectures(config["components"], "components")
    names = [block.get("name") or block["@architectures"] for _, block in found]
    return next((name for name in names if "Listener" not in name), "none")


def short_name(encoder: str) -> str:
    """RETURNS (str): a part of a file name that tells encoders apart."""
    path = Path(encoder)
    if path.is_dir():  # names of folders are not unique
        digest = md5(
            str(path.resolve()).encode("utf8"), usedforsecurity=False
        ).hexdigest()
        return f"{path.name}-{digest[:6]}"
    return re.sub(r"[^\w.-]", "-", encoder)


def group_of(recipe: str, encoder: str) -> str:
    """RETURNS (str): the folder of the results of runs that are reported together."""
    return PAPER if recipe == PAPER else encoder


def read_about(folder: Path) -> Dict[str, str]:
    """RETURNS (Dict[str, str]): what a trained pipeline is; empty if unknown."""
    path = folder / ABOUT
    about: Dict[str, str] = srsly.read_json(path) if path.is_file() else {}
    return about


def pipeline_of(folder: Path) -> Path:
    """RETURNS (Path): the result of a training: the best pipeline on the dev part or,
    where this part was learned, too, the last one.
    """
    joined = read_about(folder).get("train parts") == JOINED
    return folder / ("model-last" if joined else "model-best")

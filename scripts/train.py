"""Train the models of the workflow one after another."""

from pathlib import Path
from typing import Any, Dict, List

import spacy
import typer
from datasets import ROOT, get_dataset
from spacy.cli.train import train
from spacy.tokens import DocBin
from spacy.training.corpus import walk_corpus
from spacy.util import load_config
from wasabi import msg

from spacy_spanner.pipeline.config_checks import plan_evaluations
from spacy_spanner.preflight.languages import ENGLISH_ENCODERS


def config_path(model: str, encoder: str) -> Path:
    """RETURNS (Path): the config of a model on an encoder.

    RAISES (SystemExit): if there is none; the message lists those that exist.
    """
    path = ROOT / "configs" / f"{model}_{encoder}.cfg"
    if not path.exists():
        existing = ", ".join(sorted(found.name for found in path.parent.glob("*.cfg")))
        raise SystemExit(f"There is no config {path.name}. There are: {existing}")
    return path


def overrides(path: Path, dataset: str, corpus: Path, seed: int) -> Dict[str, Any]:
    """Adapt a config to a dataset.

    path (Path): the config.
    dataset (str): name of the dataset.
    corpus (Path): folder with its .spacy files.
    seed (int): seed of the training.
    RETURNS (Dict[str, Any]): the settings that depend on the dataset: paths, language,
        and a pipeline without sentencizer if each document is a sentence.
    """
    found = get_dataset(dataset)
    lang = found.lang
    tokenizer = spacy.blank(lang).config["nlp"]["tokenizer"]
    settings = {
        "paths.train": str(corpus / "train.spacy"),
        "paths.dev": str(corpus / "dev.spacy"),
        "system.seed": seed,
        "nlp.lang": lang,
        "nlp.tokenizer.@tokenizers": tokenizer["@tokenizers"],
    }
    return {**settings, **(without_sentencizer(path) if found.sentences else {})}


def without_sentencizer(path: Path) -> Dict[str, List[str]]:
    """RETURNS (Dict[str, List[str]]): lists of components without the sentencizer."""
    config = load_config(path)
    names = {
        "nlp.pipeline": config["nlp"]["pipeline"],
        "training.annotating_components": config["training"]["annotating_components"],
    }
    sentencizers = {
        name
        for name, block in config["components"].items()
        if block.get("factory") == "sentencizer"
    }
    return {
        setting: [name for name in components if name not in sentencizers]
        for setting, components in names.items()
    }


def budget(path: Path, steps: int) -> Dict[str, Any]:
    """Limit the training of a config.

    path (Path): the config.
    steps (int): number of batches to train on.
    RETURNS (Dict[str, Any]): settings that end training and schedules after these
        steps (a few more if ten evaluations do not divide them evenly).
    """
    steps, frequency = plan_evaluations(steps)
    found: Dict[str, Any] = {
        "training.max_steps": steps,
        "training.max_epochs": 0,
        "training.eval_frequency": frequency,
    }
    optimizer = load_config(path)["training"]["optimizer"]
    for part in ("encoder", "head"):
        schedule = optimizer.get(part)
        if isinstance(schedule, dict) and "total_steps" in schedule:
            found[f"training.optimizer.{part}.total_steps"] = steps
            found[f"training.optimizer.{part}.warmup_steps"] = max(1, steps // 10)
    return found


def enough_steps(path: Path, corpus: Path, passes: int) -> Dict[str, Any]:
    """Train longer on a corpus that is larger than the one the config is made for.

    path (Path): the config.
    corpus (Path): folder with the .spacy files.
    passes (int): minimum number of passes over the data; 0 to keep the config's steps.
    RETURNS (Dict[str, Any]): settings for more steps, or none if they suffice.
    """
    if not passes:
        return {}
    training = load_config(path)["training"]
    files = walk_corpus(corpus / "train.spacy", ".spacy")
    words = sum(len(doc) for file in files for doc in DocBin().from_disk(file).tokens)
    steps = -(-passes * words // training["batcher"]["size"])
    return budget(path, steps) if steps > training["max_steps"] else {}


def warn_of_language(dataset: str, encoder: str) -> None:
    """Warn if an encoder was not pretrained on the language of the dataset."""
    lang = get_dataset(dataset).lang
    if encoder in ENGLISH_ENCODERS and lang != "en":
        msg.warn(
            f"The encoder {encoder} was pretrained on English, but {dataset} is in "
            f"another language ({lang}): expect low scores, or use --vars.encoder cnn"
        )


def main(
    dataset: str = typer.Argument(..., help="Name of the dataset"),
    corpus: Path = typer.Argument(..., help="Folder with its .spacy files"),
    output: Path = typer.Argument(..., help="Folder to write pipelines to"),
    models: str = typer.Option(..., help="Names of models, separated by spaces"),
    encoder: str = typer.Option("cnn", help="Encoder of the configs to train"),
    config: str = typer.Option("", help="Path of a config to train instead"),
    gpu: int = typer.Option(-1, help="GPU, or -1 for the CPU"),
    seed: int = typer.Option(0),
    passes: int = typer.Option(
        0, min=0, help="Minimum number of passes over the train part"
    ),
) -> None:
    """Train every model on DATASET and write the pipelines to OUTPUT."""
    warn_of_language(dataset, encoder)
    paths: List[Path] = [config_path(model, encoder) for model in models.split()]
    if config:
        paths = [Path(config)]
    for path in paths:
        msg.divider(path.stem)
        settings = {
            **overrides(path, dataset, corpus, seed),
            **enough_steps(path, corpus, 0 if config else passes),
        }
        train(path, output / path.stem, use_gpu=gpu, overrides=settings)


if __name__ == "__main__":
    typer.run(main)

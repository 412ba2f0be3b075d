"""Train the models of the workflow, one after the other."""

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

ENGLISH_ENCODERS = ("minilm",)


def config_path(model: str, encoder: str) -> Path:
    """RETURNS (Path): the config of a model on an encoder.

    RAISES (SystemExit): where there is none, with those that exist.
    """
    path = ROOT / "configs" / f"{model}_{encoder}.cfg"
    if not path.exists():
        existing = ", ".join(sorted(found.name for found in path.parent.glob("*.cfg")))
        raise SystemExit(f"There is no config {path.name}. There are: {existing}")
    return path


def overrides(path: Path, dataset: str, corpus: Path, seed: int) -> Dict[str, Any]:
    """Adapt a config to a dataset.

    RETURNS (Dict[str, Any]): settings that depend on the dataset: paths and language;
        and no sentencizer where documents are the sentences of the corpus.
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
    """RETURNS (Dict[str, List[str]]): the components of a config without it."""
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
    """RETURNS (Dict[str, Any]): settings that end training after so many steps, with
    ten looks at the development data; schedules end there too.
    """
    found: Dict[str, Any] = {
        "training.max_steps": steps,
        "training.max_epochs": 0,
        "training.eval_frequency": max(1, steps // 10),
    }
    optimizer = load_config(path)["training"]["optimizer"]
    for part in ("encoder", "head"):
        schedule = optimizer.get(part)
        if isinstance(schedule, dict) and "total_steps" in schedule:
            found[f"training.optimizer.{part}.total_steps"] = steps
            found[f"training.optimizer.{part}.warmup_steps"] = max(1, steps // 10)
    return found


def enough_steps(path: Path, corpus: Path, passes: int) -> Dict[str, Any]:
    """Train longer on a corpus that is larger than the config reckons with.

    path (Path): the config.
    corpus (Path): folder with the .spacy files.
    passes (int): how often each sentence is seen at least; 0 leaves the config alone.
    RETURNS (Dict[str, Any]): settings for more steps, where the config has too few.
    """
    if not passes:
        return {}
    training = load_config(path)["training"]
    files = walk_corpus(corpus / "train.spacy", ".spacy")
    words = sum(len(doc) for file in files for doc in DocBin().from_disk(file).tokens)
    steps = -(-passes * words // training["batcher"]["size"])
    return budget(path, steps) if steps > training["max_steps"] else {}


def warn_of_language(dataset: str, encoder: str) -> None:
    """Say so where an encoder was not made for the language of a dataset."""
    lang = get_dataset(dataset).lang
    if encoder in ENGLISH_ENCODERS and lang != "en":
        msg.warn(
            f"The encoder {encoder} was pretrained on English, and {dataset} is in "
            f"another language ({lang}): expect low scores, or take --vars.encoder cnn"
        )


def main(
    dataset: str = typer.Argument(..., help="Name of the dataset"),
    corpus: Path = typer.Argument(..., help="Folder with its .spacy files"),
    output: Path = typer.Argument(..., help="Folder to write pipelines to"),
    models: str = typer.Option(..., help="Names of models, with spaces between"),
    encoder: str = typer.Option("cnn", help="Which config of each model"),
    config: str = typer.Option("", help="A config to train instead of all that"),
    gpu: int = typer.Option(-1, help="GPU, or -1 for the CPU"),
    seed: int = typer.Option(0),
    passes: int = typer.Option(
        0, min=0, help="Passes over the train part, where a config has fewer"
    ),
) -> None:
    """Train every model on DATASET; the best on its dev part is kept in OUTPUT."""
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

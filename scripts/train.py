"""Train the models of the workflow one after another."""

from pathlib import Path
from typing import Any, Dict, List

import runs
import spacy
import srsly
import typer
from datasets import get_dataset
from spacy.cli.train import train
from spacy.tokens import DocBin
from spacy.util import load_config
from wasabi import msg

from spacy_spanner.cli.shell import plain_errors
from spacy_spanner.pipeline.config_checks import plan_evaluations
from spacy_spanner.preflight.choices import find_part
from spacy_spanner.preflight.languages import ENGLISH_ENCODERS


def overrides(
    path: Path, dataset: str, corpus: Path, seed: int, parts: str = "train"
) -> Dict[str, Any]:
    """Adapt a config to a dataset.

    path (Path): the config.
    dataset (str): name of the dataset.
    corpus (Path): folder with its .spacy files.
    seed (int): seed of the training.
    parts (str): the parts to train on.
    RETURNS (Dict[str, Any]): the settings that depend on the dataset: paths, language,
        and a pipeline without sentencizer if each document is a sentence.
    """
    found = get_dataset(dataset)
    lang = found.lang
    tokenizer = spacy.blank(lang).config["nlp"]["tokenizer"]
    settings = {
        "paths.train": str(corpus / f"{parts}.spacy"),
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
    return {**found, **scaled_schedules(load_config(path), steps)}


def scaled_schedules(config: Dict[str, Any], steps: int) -> Dict[str, int]:
    """RETURNS (Dict[str, int]): settings that make the learning rates of a config end
    after these steps, with the same share of warm-up.
    """
    found = {}
    for part in ("encoder", "head"):
        schedule = config["training"]["optimizer"].get(part)
        if isinstance(schedule, dict) and "total_steps" in schedule:
            share = schedule["warmup_steps"] / schedule["total_steps"]
            found[f"training.optimizer.{part}.total_steps"] = steps
            found[f"training.optimizer.{part}.warmup_steps"] = round(share * steps)
    return found


def enough_steps(path: Path, data: Path, passes: int) -> Dict[str, Any]:
    """Train longer on a corpus that is larger than the one the config is made for.

    path (Path): the config.
    data (Path): the .spacy file to train on.
    passes (int): minimum number of passes over the data; 0 to keep the config's steps.
    RETURNS (Dict[str, Any]): settings for more steps, or none if they suffice.
    """
    if not passes:
        return {}
    training = load_config(path)["training"]
    words = sum(len(doc) for doc in DocBin().from_disk(data).tokens)
    steps = -(-passes * words // training["batcher"]["size"])
    return budget(path, steps) if steps > training["max_steps"] else {}


def paper_steps(path: Path, data: Path, epochs: int) -> Dict[str, Any]:
    """Count the steps of a paper's config in epochs of the data that are there.

    path (Path): the config, whose steps are those of the paper's data.
    data (Path): the .spacy file to train on.
    epochs (int): number of epochs; 0 for that of the config.
    RETURNS (Dict[str, Any]): settings of steps, evaluations and schedules.
    """
    config = load_config(path)
    training = config["training"]
    examples = sum(len(doc) > 0 for doc in DocBin().from_disk(data).tokens)
    batches = -(-examples // training["batcher"]["size"])
    steps = batches * (epochs or training["max_steps"] // training["eval_frequency"])
    counted = {"training.max_steps": steps, "training.eval_frequency": batches}
    return {**counted, **scaled_schedules(config, steps)}


def warn_of_language(dataset: str, encoder: str) -> None:
    """Warn if an encoder was not pretrained on the language of the dataset."""
    lang = get_dataset(dataset).lang
    if encoder in ENGLISH_ENCODERS and lang != "en":
        msg.warn(
            f"The encoder {encoder} was pretrained on English, but {dataset} is in "
            f"another language ({lang}): expect low scores, or use --vars.encoder cnn"
        )


def train_run(
    run: runs.Run, dataset: str, corpus: Path, output: Path, **options: int
) -> None:
    """Train a pipeline, and write next to it what it is.

    corpus (Path): folder with the .spacy files.
    output (Path): folder to write the pipeline to.
    options: `gpu`, `seed`, `passes` and `epochs`; see `main`.
    """
    data = find_part(corpus, dataset, run.parts)
    if run.about["recipe"] == runs.PAPER:
        steps = paper_steps(run.config, data, options["epochs"])
    else:
        steps = enough_steps(run.config, data, options["passes"])
    settings = overrides(run.config, dataset, corpus, options["seed"], run.parts)
    settings.update({**run.settings, **steps})
    train(run.config, output, use_gpu=options["gpu"], overrides=settings)
    srsly.write_json(output / runs.ABOUT, run.about)


def main(
    dataset: str = typer.Argument(..., help="Name of the dataset"),
    corpus: Path = typer.Argument(..., help="Folder with its .spacy files"),
    output: Path = typer.Argument(..., help="Folder to write pipelines to"),
    models: str = runs.MODELS,
    recipe: str = runs.RECIPE,
    encoder: str = runs.ENCODER,
    encoder_name: str = runs.ENCODER_NAME,
    config: str = runs.CONFIG,
    train_parts: str = runs.PARTS,
    vectors: str = runs.VECTORS,
    tagger: str = runs.TAGGER,
    gpu: int = typer.Option(-1, help="GPU, or -1 for the CPU"),
    seed: int = typer.Option(0),
    passes: int = typer.Option(
        0, min=0, help="tuned: minimum number of passes over the train part"
    ),
    epochs: int = typer.Option(
        0, min=0, help="paper: number of epochs; 0 for that of the paper"
    ),
) -> None:
    """Train every model on DATASET and write the pipelines to OUTPUT."""
    choices = runs.Choices(
        *(models, recipe, encoder, encoder_name, config, train_parts, vectors, tagger)
    )
    if recipe != runs.PAPER and not encoder_name:
        warn_of_language(dataset, encoder)
    with plain_errors():
        planned = runs.plan_runs(dataset, choices)
        for run in planned:
            find_part(corpus, dataset, run.parts)
    for run in planned:
        msg.divider(run.name)
        folder = output / runs.group_of(recipe, encoder) / run.name
        passes = 0 if config else passes
        options = {"gpu": gpu, "seed": seed, "passes": passes, "epochs": epochs}
        train_run(run, dataset, corpus, folder, **options)


if __name__ == "__main__":
    typer.run(main)

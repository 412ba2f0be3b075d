"""Check the files of a dataset, and what is asked for, before work begins."""

import hashlib
from pathlib import Path
from typing import Dict, List

import runs
import srsly
import typer
from datasets import ASSETS, ROOT, get_dataset
from wasabi import msg

from spacy_spanner.cli.shell import plain_errors
from spacy_spanner.encoders.sources import find_pretrained

OBTAIN = "docs/datasets.md"


def checksums() -> Dict[Path, str]:
    """RETURNS (Dict[Path, str]): the MD5 of all assets that have one in the project."""
    project = srsly.read_yaml(ROOT / "project.yml")
    return {
        ROOT / asset["dest"]: asset["checksum"]
        for asset in project.get("assets", [])
        if asset.get("checksum")
    }


def is_public(folder: Path) -> bool:
    """RETURNS (bool): whether `project assets` fetches all files of a folder."""
    assets = srsly.read_yaml(ROOT / "project.yml").get("assets", [])
    own = [asset for asset in assets if folder in (ROOT / asset["dest"]).parents]
    return bool(own) and all(asset.get("url") for asset in own)


def wrong_files(folder: Path) -> List[str]:
    """RETURNS (List[str]): files in a folder that differ from their checksum."""
    found = []
    for path, checksum in checksums().items():
        if folder in path.parents and path.is_file():
            seen = hashlib.md5(path.read_bytes(), usedforsecurity=False).hexdigest()
            if seen != checksum:
                found.append(f"{path.name} (MD5 {seen} instead of {checksum})")
    return found


def check_files(dataset: str, genia_train: str = "train") -> None:
    """Exit with code 1 and an explanation if files are missing or have changed."""
    found = get_dataset(dataset, genia_train)
    missing, wrong = found.missing(), wrong_files(found.folder)
    place = found.folder.relative_to(ROOT)
    how = (
        "Fetch them with 'python -m spacy project assets'"
        if is_public(found.folder)
        else f"{OBTAIN} says how to obtain the corpus and where to put its files"
    )
    if ASSETS / "demo" in found.folder.parents:
        how = "Restore them from the repository"
    if missing:
        problem = f"Missing in {place}: {', '.join(missing)}. {how}."
        msg.fail(f"The dataset '{dataset}' is incomplete", problem, exits=1)
    if wrong:
        problem = f"Changed in {place}: {', '.join(wrong)}. Delete them. {how}."
        msg.fail(f"The dataset '{dataset}' has unexpected content", problem, exits=1)
    msg.good(f"The dataset '{dataset}' is complete")


def check_choices(dataset: str, choices: runs.Choices) -> None:
    """Exit with code 1 and an explanation if the trainings that are asked for do not
    exist, or lack an encoder or another pipeline.
    """
    with plain_errors():
        for run in runs.plan_runs(dataset, choices):
            if choices.recipe == runs.PAPER and not choices.encoder_name:
                find_pretrained(run.about["encoder"])


def main(
    dataset: str = typer.Argument(..., help="Name of the dataset"),
    genia_train: str = typer.Option("train", help="Part of GENIA to train on"),
    models: str = runs.MODELS,
    recipe: str = runs.RECIPE,
    encoder: str = runs.ENCODER,
    encoder_name: str = runs.ENCODER_NAME,
    config: str = runs.CONFIG,
    train_parts: str = runs.PARTS,
    vectors: str = runs.VECTORS,
    tagger: str = runs.TAGGER,
) -> None:
    """Exit with code 1 and an explanation if something is missing or does not fit."""
    check_files(dataset, genia_train)
    options = (models, recipe, encoder, encoder_name, config, train_parts)
    check_choices(dataset, runs.Choices(*options, vectors, tagger))


if __name__ == "__main__":
    typer.run(main)

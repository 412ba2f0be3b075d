"""Check that the files of a dataset exist and have the expected content."""

import hashlib
from pathlib import Path
from typing import Dict, List

import srsly
import typer
from datasets import ASSETS, ROOT, get_dataset
from wasabi import msg

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
            seen = hashlib.md5(path.read_bytes()).hexdigest()
            if seen != checksum:
                found.append(f"{path.name} (MD5 {seen} instead of {checksum})")
    return found


def main(
    dataset: str = typer.Argument(..., help="Name of the dataset"),
    genia_train: str = typer.Option("train", help="Part of GENIA to train on"),
) -> None:
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


if __name__ == "__main__":
    typer.run(main)

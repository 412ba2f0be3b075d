"""Check that the files of a dataset are there and right; or stop the workflow."""

import hashlib
from pathlib import Path
from typing import Dict, List

import srsly
import typer
from datasets import ASSETS, ROOT, get_dataset
from wasabi import msg

OBTAIN = "docs/datasets.md"


def checksums() -> Dict[Path, str]:
    """RETURNS (Dict[Path, str]): the MD5 of assets, as far as the project names it."""
    project = srsly.read_yaml(ROOT / "project.yml")
    return {
        ROOT / asset["dest"]: asset["checksum"]
        for asset in project.get("assets", [])
        if asset.get("checksum")
    }


def is_public(folder: Path) -> bool:
    """RETURNS (bool): whether `project assets` fetches all of a folder."""
    assets = srsly.read_yaml(ROOT / "project.yml").get("assets", [])
    own = [asset for asset in assets if folder in (ROOT / asset["dest"]).parents]
    return bool(own) and all(asset.get("url") for asset in own)


def wrong_files(folder: Path) -> List[str]:
    """RETURNS (List[str]): files below a folder whose content is not the expected."""
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
    """Fail with exit code 1 and an explanation when files are missing or wrong."""
    found = get_dataset(dataset, genia_train)
    missing, wrong = found.missing(), wrong_files(found.folder)
    place = found.folder.relative_to(ROOT)
    how = (
        "Fetch them with 'python -m spacy project assets'"
        if is_public(found.folder)
        else f"How to obtain the corpus, and where its files belong, says {OBTAIN}"
    )
    if ASSETS / "demo" in found.folder.parents:
        how = "Restore them from the repository"
    if missing:
        problem = f"Missing in {place}: {', '.join(missing)}. {how}."
        msg.fail(f"The dataset '{dataset}' is not complete", problem, exits=1)
    if wrong:
        problem = f"Not as expected in {place}: {', '.join(wrong)}. Delete them. {how}."
        msg.fail(f"The dataset '{dataset}' is not the expected one", problem, exits=1)
    msg.good(f"The dataset '{dataset}' is complete")


if __name__ == "__main__":
    typer.run(main)

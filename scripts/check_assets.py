"""Check that the files of a dataset are there; the workflow stops here if not."""

import typer
from datasets import SPLITS, get_dataset
from wasabi import msg


def missing_splits(name: str) -> list:
    """RETURNS (list): splits of the dataset without a single file."""
    dataset = get_dataset(name)
    return [split for split in SPLITS if not dataset.files(split)]


def main(dataset: str) -> None:
    """Fail with exit code 1 and an explanation when files of DATASET are missing."""
    missing = missing_splits(dataset)
    if missing:
        folder = get_dataset(dataset).folder
        msg.fail(
            f"The dataset '{dataset}' is not complete",
            f"No files for {', '.join(missing)} in {folder}. Fetch them with "
            "'python -m spacy project assets', or restore them from the repository.",
            exits=1,
        )
    msg.good(f"The dataset '{dataset}' is complete")


if __name__ == "__main__":
    typer.run(main)

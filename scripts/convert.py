"""Turn the annotated text of a dataset into spaCy's binary format."""

from pathlib import Path

import spacy
import typer
from datasets import SPANS_KEY, SPLITS, get_dataset
from spacy.tokens import DocBin
from wasabi import msg


def convert(name: str, output: Path) -> dict:
    """Write one `.spacy` file per split.

    name (str): name of the dataset.
    output (Path): folder to write to.
    RETURNS (dict): by split, the number of documents, sentences and entities.
    """
    dataset = get_dataset(name)
    nlp = spacy.blank(dataset.lang)
    output.mkdir(parents=True, exist_ok=True)
    counts = {}
    for split in SPLITS:
        docs = list(dataset.read(split, nlp))
        DocBin(docs=docs, store_user_data=True).to_disk(output / f"{split}.spacy")
        counts[split] = {
            "documents": len(docs),
            "sentences": sum(1 for doc in docs for _ in doc.sents),
            "entities": sum(len(doc.spans[SPANS_KEY]) for doc in docs),
        }
    return counts


def main(dataset: str, output: Path) -> None:
    """Convert DATASET into the folder OUTPUT."""
    for split, counts in convert(dataset, output).items():
        numbers = ", ".join(f"{number:,} {what}" for what, number in counts.items())
        msg.good(f"{split}: {numbers}")


if __name__ == "__main__":
    typer.run(main)

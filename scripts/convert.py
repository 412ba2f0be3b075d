"""Convert the annotated text of a dataset to spaCy's binary format."""

from pathlib import Path
from typing import Dict, Iterator, List

import spacy
import typer
from datasets import SPANS_KEY, SPLITS, Dataset, get_dataset
from spacy.tokens import Doc
from wasabi import msg

from spacy_spanner.corpus.records import LostSpans
from spacy_spanner.corpus.spacy_files import SpacyWriter
from spacy_spanner.preflight.recipes import JOINED


def convert(dataset: Dataset, output: Path) -> Dict[str, Dict[str, int]]:
    """Write one `.spacy` file per split, one of train and dev joined, and tables of the
    entities that are lost.

    dataset (Dataset): the dataset to convert.
    output (Path): folder to write to.
    RETURNS (Dict[str, Dict[str, int]]): by split, the number of documents, sentences
        and entities, and of entities that could not be represented.
    """
    nlp = spacy.blank(dataset.lang)
    counts = {}
    joined = SpacyWriter(output / f"{JOINED}.spacy")
    for split in SPLITS:
        lost = LostSpans(output / f"{split}.lost.csv")
        writers = [SpacyWriter(output / f"{split}.spacy")]
        writers += [joined] if split in JOINED.split("+") else []
        counts[split] = _write(dataset.read(split, nlp, lost), writers)
        writers[0].close()
        counts[split]["entities lost"] = sum(lost.reasons.values())
        lost.close()
    joined.close()
    return counts


def _write(docs: Iterator[Doc], writers: List[SpacyWriter]) -> Dict[str, int]:
    counts = {"documents": 0, "sentences": 0, "entities": 0}
    for doc in docs:
        if not len(doc):
            continue
        for writer in writers:
            writer.add(doc)
        counts["documents"] += 1
        counts["sentences"] += sum(1 for _ in doc.sents)
        counts["entities"] += len(doc.spans[SPANS_KEY])
    return counts


def main(
    dataset: str = typer.Argument(..., help="Name of the dataset"),
    output: Path = typer.Argument(..., help="Folder to write to"),
    genia_train: str = typer.Option("train", help="Part of GENIA to train on"),
) -> None:
    """Convert DATASET into the folder OUTPUT."""
    try:
        converted = convert(get_dataset(dataset, genia_train), output)
    except ValueError as error:
        msg.fail(str(error), exits=1)
    for split, counts in converted.items():
        numbers = ", ".join(f"{n:,} {what}" for what, n in counts.items() if n)
        msg.good(f"{split}: {numbers}")
        if counts["entities lost"]:
            msg.warn(f"The lost entities are listed in {output / split}.lost.csv")


if __name__ == "__main__":
    typer.run(main)

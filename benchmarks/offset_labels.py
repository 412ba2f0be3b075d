"""Measure how well span_offset predicts each offset, and compare its decodings.

python benchmarks/offset_labels.py DATA --dataset genia
python benchmarks/offset_labels.py DATA --pipeline training/demo/cnn/offset/model-best

Without --pipeline, a pipeline is trained on the train split first. The first table
scores the cells of the grid by their most probable class; the second scores entities.
"""

from pathlib import Path
from typing import Any, Dict, List, Optional, Sequence

import spacy
import typer
from common import (
    ENCODERS,
    SPANS_KEY,
    build_pipeline,
    read_corpus,
    read_settings,
    to_examples,
    train_from_start,
)
from measuring import write_json
from options import DATA, DATASET, OUTPUT
from spacy.language import Language
from spacy.training import Example
from wasabi import table

from spacy_spanner.evaluation.cell_classes import class_scores, count_cells
from spacy_spanner.evaluation.scorer import score_spans
from spacy_spanner.models.offset.decoding import DECODINGS

FACTORY = "span_offset"


def by_class(nlp: Language, examples: Sequence[Example]) -> List[Dict[str, Any]]:
    """RETURNS (List[Dict[str, Any]]): a row for each class, and one for all classes."""
    scores = class_scores(count_cells(nlp, FACTORY, examples))
    return [
        {"class": name, **{x: row[x] for x in "prf"}, "support": row["gold"]}
        for name, row in scores.items()
    ]


def by_decoding(nlp: Language, examples: Sequence[Example]) -> List[Dict[str, Any]]:
    """RETURNS (List[Dict[str, Any]]): scores of the entities by each decoding."""
    pipe: Any = nlp.get_pipe(FACTORY)
    before, rows = pipe.cfg["decoding"], []
    for decoding in DECODINGS:
        pipe.cfg["decoding"] = decoding
        bare = [example.predicted for example in examples]
        for example, doc in zip(examples, list(nlp.pipe(bare))):
            example.predicted = doc
        scores = score_spans(examples, spans_key=SPANS_KEY)
        values = {name: scores[f"spans_{SPANS_KEY}_{name}"] for name in "prf"}
        n_gold = sum(len(example.reference.spans[SPANS_KEY]) for example in examples)
        rows.append({"class": decoding, **values, "support": n_gold})
    pipe.cfg["decoding"] = before
    return rows


def print_rows(title: str, rows: Sequence[Dict[str, Any]]) -> None:
    """Print a table of scores."""
    lines = [
        (
            row["class"],
            *(f"{100 * (row[name] or 0):.1f}" for name in "prf"),
            f"{row['support']:,}",
        )
        for row in rows
    ]
    header = (title, "P", "R", "F1", "support")
    print(table(lines, header=header, divider=True, aligns=("l", *"rrrr")))


def main(
    data: Path = DATA,
    dataset: str = DATASET,
    pipeline: Optional[Path] = typer.Option(None, help="Folder of a trained pipeline"),
    encoder: str = typer.Option("cnn", help=f"To train: one of {', '.join(ENCODERS)}"),
    epochs: int = typer.Option(20, help="To train: epochs"),
    settings: List[str] = typer.Option([], "--set", help="To train: as in accuracy.py"),
    output: Optional[Path] = OUTPUT,
) -> None:
    """Score cells and entities on the test split of a dataset."""
    if pipeline is None:
        nlp = build_pipeline(FACTORY, encoder, read_settings(settings))
        corpus = read_corpus(dataset, data, nlp)
        examples = to_examples(corpus.train)
        train_from_start(nlp, examples, encoder=encoder, epochs=epochs)
    else:
        nlp = spacy.load(pipeline)
        corpus = read_corpus(dataset, data, nlp)
    examples = to_examples(corpus.test)
    cells = by_class(nlp, examples)
    spans = by_decoding(nlp, examples)
    print_rows("cells", cells)
    print_rows("entities", spans)
    if output is not None:
        write_json(output, [*cells, *spans])


if __name__ == "__main__":
    typer.run(main)

"""Measure how well span_offset predicts each offset, and compare its decodings.

python benchmarks/offset_labels.py DATA --dataset genia
python benchmarks/offset_labels.py DATA --pipeline training/demo/cnn/offset/model-best

Without --pipeline, a pipeline is trained on the train split first. The first table
scores the cells of the grid by their most probable class; the second scores entities.
"""

from pathlib import Path
from typing import Any, Dict, List, Optional, Sequence, Tuple

import numpy as np
import spacy
import torch
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
from numpy.typing import NDArray
from options import DATA, DATASET, OUTPUT
from spacy.language import Language
from spacy.training import Example
from torch import nn
from wasabi import table

from spacy_spanner.evaluation.scorer import score_spans
from spacy_spanner.layers.span_model import measure_loss
from spacy_spanner.models.codec import WindowBatch
from spacy_spanner.models.offset.codec import (
    OffsetCodec,
    OffsetTargets,
    score_cells,
)
from spacy_spanner.models.offset.decoding import DECODINGS
from spacy_spanner.models.offset.offsets import label_cells
from spacy_spanner.pipeline.gold import GoldReader, read_batch
from spacy_spanner.pipeline.state import MadeSettings
from spacy_spanner.spans.geometry import enumerate_spans, find_cells

FACTORY = "span_offset"
BATCH_SIZE = 8


class CellCounter:
    """Replaces the codec and counts cells instead of computing a loss."""

    def __init__(self) -> None:
        codec = OffsetCodec()
        self.targets, self.lost = codec.targets, codec.lost
        self.found: List[NDArray[np.int64]] = []

    def loss(
        self, module: nn.Module, batch: WindowBatch, targets: OffsetTargets
    ) -> torch.Tensor:
        """RETURNS (Tensor): 0; records the counts (gold class, predicted class)."""
        classes: Any = module.classes
        cells = enumerate_spans(batch.lengths)
        logits, _ = score_cells(module, batch, cells)
        predicted = logits.argmax(dim=-1).flatten().cpu().numpy()
        gold = np.zeros_like(predicted)
        entries = label_cells(targets.gold, lengths=batch.lengths, classes=classes)
        row = find_cells(cells, entries.window, entries.start, entries.last)
        gold[row * logits.shape[1] + entries.label] = entries.offset
        size = classes.n_classes
        pairs = np.bincount(gold * size + predicted, minlength=size * size)
        self.found.append(pairs.reshape(size, size))
        return logits.new_zeros(())

    @property
    def counts(self) -> NDArray[np.int64]:
        """The sum over all batches. Shape: (gold class, predicted class)"""
        return np.sum(self.found, axis=0)


def count_cells(pipe: Any, examples: Sequence[Example]) -> NDArray[np.int64]:
    """RETURNS (NDArray): number of cells by gold class and predicted class."""
    counter: Any = CellCounter()
    for first in range(0, len(examples), BATCH_SIZE):
        batch = examples[first : first + BATCH_SIZE]
        docs = [example.predicted for example in batch]
        made, reader = MadeSettings(pipe.settings, counter), GoldReader(pipe.name)
        work, gold = read_batch(batch, made, pipe.label_ids, reader, pipe.rng)
        measure_loss(pipe.model, docs, work, gold)
    counts: NDArray[np.int64] = counter.counts
    return counts


def prf(hits: float, n_predicted: float, n_gold: float) -> Tuple[float, float, float]:
    """RETURNS (Tuple[float, float, float]): precision, recall, F1."""
    precision = hits / n_predicted if n_predicted else 0.0
    recall = hits / n_gold if n_gold else 0.0
    total = precision + recall
    return precision, recall, 2 * precision * recall / total if total else 0.0


def by_class(counts: NDArray[np.int64], names: Sequence[str]) -> List[Dict[str, Any]]:
    """RETURNS (List[Dict[str, Any]]): a row for each class, and one for all classes."""
    predicted, gold, hits = counts.sum(axis=0), counts.sum(axis=1), counts.diagonal()
    chosen = {name: slice(row, row + 1) for row, name in enumerate(names, start=1)}
    chosen["all"] = slice(1, None)
    rows = []
    for name, part in chosen.items():
        support = int(gold[part].sum())
        p, r, f = prf(hits[part].sum(), predicted[part].sum(), support)
        rows.append({"class": name, "p": p, "r": r, "f": f, "support": support})
    return rows


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
    pipe: Any = nlp.get_pipe(FACTORY)
    head: Any = pipe.model.get_ref("output_layer").shims[0]
    examples = to_examples(corpus.test)
    cells = by_class(count_cells(pipe, examples), head.module.classes.names)
    spans = by_decoding(nlp, examples)
    print_rows("cells", cells)
    print_rows("entities", spans)
    if output is not None:
        write_json(output, [*cells, *spans])


if __name__ == "__main__":
    typer.run(main)

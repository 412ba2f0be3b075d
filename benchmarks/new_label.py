"""F1 of old labels and of a new one that is learned from few sentences.

python benchmarks/new_label.py DATA --dataset genia --seeds 0,1,2 --texts 16

A pipeline learns all labels but one, and then this one from sentences that are
annotated with this label only, with `rehearse`. Texts of the first training, without
their annotation, are rehearsed with each batch.
"""

import random
from collections import Counter
from pathlib import Path
from statistics import mean
from typing import Any, Dict, List, NamedTuple, Optional, Sequence

import typer
from common import (
    DROPOUT,
    SPANS_KEY,
    build_pipeline,
    falling_rates,
    read_corpus,
    to_examples,
    train_from_start,
)
from measuring import write_json
from options import DATA, DATASET, ENCODER
from spacy.language import Language
from spacy.tokens import Doc
from spacy.training import Example
from spacy.util import minibatch
from texts import bare, keep_spans
from wasabi import table

from spacy_spanner.jobs.search.one_trial import scores_of

MODELS = "span_biaffine,span_locate_label,span_diffusion,span_offset"
BATCH = 8


def with_labels(doc: Doc, labels: Sequence[str]) -> Doc:
    """RETURNS (Doc): a copy with the spans of these labels."""
    return keep_spans(doc, lambda span: span.label_ in labels)


def f1_by_label(nlp: Language, test: Sequence[Example]) -> Dict[str, float]:
    """RETURNS (Dict[str, float]): F1 of each label."""
    scores = scores_of(nlp, test, SPANS_KEY)
    return {label: row["f"] for label, row in scores["per_type"].items()}


def main(
    data: Path = DATA,
    dataset: str = DATASET,
    encoder: str = ENCODER,
    models: str = typer.Option(MODELS, help="Comma-separated factories"),
    seeds: str = typer.Option("0,1,2", help="Comma-separated seeds"),
    sentences: int = typer.Option(100, help="Sentences with the new label"),
    epochs: int = typer.Option(10, help="Epochs of the first training"),
    more_epochs: int = typer.Option(16, help="Epochs of the second training"),
    texts: int = typer.Option(16, help="Earlier texts to rehearse with each batch"),
    limit: int = typer.Option(0, help="Sentences of the first training; all if 0"),
    output: Optional[Path] = typer.Option(None, help="JSON file to write"),
) -> None:
    """Train with all labels but the third most frequent, then add it."""
    corpus = read_corpus(dataset, data, build_pipeline("encoder", encoder))
    spans = (span for doc in corpus.train for span in doc.spans[SPANS_KEY])
    labels = [label for label, _ in Counter(s.label_ for s in spans).most_common()]
    new = labels.pop(2)
    parts = Parts(
        [with_labels(doc, labels) for doc in corpus.train[sentences:]][: limit or None],
        [with_labels(doc, [new]) for doc in corpus.train[:sentences]],
        corpus.test,
    )
    rows: List[Dict[str, Any]] = []
    for model in models.split(","):
        for seed in map(int, seeds.split(",")):
            nlp = build_pipeline(model, encoder)
            budget: Any = {"epochs": epochs, "seed": seed}
            further = Further(new, more_epochs, texts)
            scores = learn_new_label(nlp, parts, labels, further, encoder, budget)
            rows.append({"model": model, "seed": seed, **scores})
            print(rows[-1], flush=True)
    show(rows)
    if output is not None:
        write_json(output, rows)


class Parts(NamedTuple):
    """Documents with the old labels, with the new one, and with all, to test."""

    first: List[Doc]
    second: List[Doc]
    test: List[Doc]


class Further(NamedTuple):
    """The second training: the new label, its epochs, and how many earlier texts are
    rehearsed with each batch.
    """

    label: str
    epochs: int
    texts: int


def learn_new_label(
    nlp: Language,
    parts: Parts,
    old: Sequence[str],
    further: Further,
    encoder: str,
    budget: Dict[str, Any],
) -> Dict[str, float]:
    """Train a pipeline with the old labels, then teach it the new one.

    RETURNS (Dict[str, float]): the mean F1 of the old labels before and after, and that
        of the new one.
    """
    train_from_start(nlp, to_examples(parts.first), encoder=encoder, **budget)
    known = [with_labels(doc, old) for doc in parts.test]
    before = f1_by_label(nlp, to_examples(known))
    pipe: Any = nlp.get_pipe(nlp.pipe_names[0])
    nlp.resume_training()
    pipe.add_label(further.label)
    # The first training ended with small rates, so that this one must, too.
    n_steps = further.epochs * -(-len(parts.second) // BATCH)
    optimizer = falling_rates(nlp, encoder, n_steps)
    rng = random.Random(budget["seed"])
    earlier = to_examples([bare(doc) for doc in parts.first])
    for _ in range(further.epochs):
        order = to_examples(parts.second)
        rng.shuffle(order)
        for batch in minibatch(order, BATCH):
            batch += rng.sample(earlier, min(further.texts, len(earlier)))
            pipe.rehearse(batch, sgd=optimizer, drop=DROPOUT)
            optimizer.step_schedules()
    after = f1_by_label(nlp, to_examples(parts.test))
    return {
        "before": mean(before.get(label, 0.0) for label in old),
        "after": mean(after.get(label, 0.0) for label in old),
        "new": after.get(further.label, 0.0),
    }


def show(rows: Sequence[Dict[str, Any]]) -> None:
    """Print a row for each model and seed."""
    header = ("model", "seed", "old labels before", "after", "new label")
    lines = []
    for row in rows:
        scores = [f"{100 * row[name]:.1f}" for name in ("before", "after", "new")]
        lines.append((row["model"], row["seed"], *scores))
    print(table(lines, header=header, divider=True))


if __name__ == "__main__":
    typer.run(main)

"""F1 when half of the entities are not annotated, with and without saying so.

python benchmarks/incomplete.py DATA --dataset genia --seeds 0,1,2 --parts FOLDER

A fifth of the training sentences is development data, completely annotated. F1 is that
of the test part, with the default threshold and with the one that is best on the
development data. "half" is complete annotation of half of the sentences, in twice as
many epochs.

Each training writes a file to FOLDER; what exists is not repeated.
"""

import random
from pathlib import Path
from statistics import mean
from typing import Any, Dict, List, NamedTuple, Sequence

import typer
from common import SPANS_KEY, build_pipeline, read_corpus, to_examples, train_from_start
from measuring import write_json
from options import DATA, DATASET, ENCODER
from spacy.language import Language
from spacy.tokens import Doc
from texts import keep_spans
from wasabi import table

from spacy_spanner.evaluation.predicting import SpanSource, read_unfiltered
from spacy_spanner.evaluation.tables import mean_of_runs
from spacy_spanner.evaluation.thresholds import best_threshold, f_objective
from spacy_spanner.files import read_json
from spacy_spanner.jobs.search.one_trial import scores_of
from spacy_spanner.pipeline.marks import INCOMPLETE

ALL, UNMARKED, HALF = "all", "unmarked", "half"
WAYS = f"{HALF},0.5,0.8,0.9"
MODELS = "span_biaffine,span_locate_label,span_diffusion,span_offset"


def thinned(doc: Doc, share: float, rng: random.Random, *, marked: bool) -> Doc:
    """RETURNS (Doc): a copy without a random share of its entities.

    marked (bool): whether it is marked as incomplete.
    """
    copy = keep_spans(doc, lambda _: rng.random() >= share)
    if marked:
        copy.spans[SPANS_KEY + INCOMPLETE] = [copy[:]]
    return copy


class Parts(NamedTuple):
    """Sentences to train on, to choose thresholds with, and to test."""

    train: List[Doc]
    dev: List[Doc]
    test: List[Doc]


def divided(docs: Sequence[Doc], test: Sequence[Doc], limit: int) -> Parts:
    """RETURNS (Parts): a random fifth of the training part is development data.

    limit (int): number of sentences to train on; all if 0.
    """
    docs = [doc for doc in docs if len(doc)]
    random.Random(1).shuffle(docs)
    n_dev = len(docs) // 5
    return Parts(docs[n_dev:][: limit or None], docs[:n_dev], list(test))


def main(
    data: Path = DATA,
    dataset: str = DATASET,
    encoder: str = ENCODER,
    models: str = typer.Option(MODELS, help="Comma-separated factories"),
    seeds: str = typer.Option("0,1,2", help="Comma-separated seeds"),
    ways: str = typer.Option(WAYS, help="half, and values of missing_rate"),
    share: float = typer.Option(0.5, help="Share of the entities to remove"),
    epochs: int = typer.Option(10, help="Epochs of each training"),
    limit: int = typer.Option(0, help="Number of sentences to train on; all if 0"),
    parts: Path = typer.Option(..., help="Folder for the results"),
) -> None:
    """Train with all entities, with half of them, and with half of them marked."""
    corpus = read_corpus(dataset, data, build_pipeline("encoder", encoder))
    docs = divided(corpus.train, corpus.test, limit)
    rows: List[Dict[str, Any]] = []
    for model in models.split(","):
        for way in (ALL, UNMARKED, *ways.split(",")):
            for seed in map(int, seeds.split(",")):
                path = parts / f"{dataset}-{model}-{way}-{share}-{seed}.json"
                if not path.exists():
                    budget = {"epochs": epochs, "seed": seed}
                    nlp = trained(docs.train, model, way, share, encoder, budget)
                    about = {"model": model, "way": way, "seed": seed}
                    write_json(path, {**about, **scores(nlp, docs)})
                row = read_json(path)["results"]
                rows.append(row)
                print({k: row[k] for k in ("model", "way", "seed", "f", "tuned")})
    show(rows)


def trained(
    docs: Sequence[Doc],
    model: str,
    way: str,
    share: float,
    encoder: str,
    budget: Dict[str, Any],
) -> Language:
    """RETURNS (Language): a pipeline that was trained on annotation of a kind.

    way (str): the kind, or the value of `missing_rate` for marked annotation.
    share (float): share of the entities to remove.
    """
    rng = random.Random(budget["seed"])
    marked = way not in (ALL, UNMARKED, HALF)
    less = 0.0 if way in (ALL, HALF) else share
    if way == HALF:
        docs = docs[: len(docs) // 2]
        budget = {**budget, "epochs": 2 * budget["epochs"]}
    known = [thinned(doc, less, rng, marked=marked) for doc in docs]
    nlp = build_pipeline(
        model, encoder, {"missing_rate": float(way) if marked else 0.5}
    )
    train_from_start(nlp, to_examples(known), encoder=encoder, **budget)
    return nlp


def scores(nlp: Language, docs: Parts) -> Dict[str, Any]:
    """RETURNS (Dict[str, Any]): all scores on the test part, and as `tuned` its F1 with
    the best `threshold` on the development data.
    """
    test = to_examples(docs.test)
    found = scores_of(nlp, test, SPANS_KEY)
    (name,) = nlp.pipe_names
    pipe: Any = nlp.get_pipe(name)
    source = SpanSource(SPANS_KEY, name, pipe)
    readings = read_unfiltered(nlp, to_examples(docs.dev), source)
    pipe.cfg["threshold"] = best_threshold(readings, f_objective()).threshold
    tuned = scores_of(nlp, test, SPANS_KEY)["f"]
    return {**found, "tuned": tuned, "threshold": pipe.cfg["threshold"]}


def show(rows: Sequence[Dict[str, Any]]) -> None:
    """Print a row for each model and way."""
    header = ("model", "annotation", "P", "R", "F1", "loss", "tuned F1", "tuned loss")
    lines = []
    for model in dict.fromkeys(row["model"] for row in rows):
        mine = [row for row in rows if row["model"] == model]
        for way in dict.fromkeys(row["way"] for row in mine):
            found = [row for row in mine if row["way"] == way]
            names = ("p", "r", "f", "tuned")
            p, r, f, tuned = (mean_of_runs([x[name] for x in found]) for name in names)
            losses = [_share_of_loss(mine, way, name) for name in ("f", "tuned")]
            lines.append([model, way, p, r, f, losses[0], tuned, losses[1]])
    print(table(lines, header=header, divider=True))


def _share_of_loss(rows: Sequence[Dict[str, Any]], way: str, name: str) -> str:
    """RETURNS (str): how much a way loses, if unmarked annotation loses 1."""
    level = {
        one: mean(row[name] for row in rows if row["way"] == one)
        for one in (ALL, UNMARKED, way)
    }
    return f"{(level[ALL] - level[way]) / (level[ALL] - level[UNMARKED]):.2f}"


if __name__ == "__main__":
    typer.run(main)

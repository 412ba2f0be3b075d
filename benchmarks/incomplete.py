"""F1 when half of the entities are not annotated, with and without saying so.

python benchmarks/incomplete.py DATA --dataset genia --seeds 0,1,2 --parts FOLDER

Each training writes a file to FOLDER; what exists is not repeated.
"""

import random
from pathlib import Path
from statistics import mean, stdev
from typing import Any, Dict, List, Sequence

import typer
from common import SPANS_KEY, build_pipeline, read_corpus, to_examples, train_from_start
from measuring import write_json
from options import DATA, DATASET, ENCODER
from spacy.tokens import Doc
from wasabi import table

from spacy_spanner.evaluation.tables import mean_and_spread
from spacy_spanner.files import read_json
from spacy_spanner.jobs.search.one_trial import scores_of
from spacy_spanner.pipeline.marks import INCOMPLETE

ALL, UNMARKED = "all", "unmarked"
MODELS = "span_biaffine,span_locate_label,span_diffusion,span_offset"


def thinned(doc: Doc, share: float, rng: random.Random, *, marked: bool) -> Doc:
    """RETURNS (Doc): a copy without a random share of its entities.

    marked (bool): whether it is marked as incomplete.
    """
    copy = doc.copy()
    spans = [copy[s.start : s.end] for s in doc.spans[SPANS_KEY]]
    for span, one in zip(spans, doc.spans[SPANS_KEY]):
        span.label_ = one.label_
    copy.spans[SPANS_KEY] = [span for span in spans if rng.random() >= share]
    if marked:
        copy.spans[SPANS_KEY + INCOMPLETE] = [copy[:]]
    return copy


def main(
    data: Path = DATA,
    dataset: str = DATASET,
    encoder: str = ENCODER,
    models: str = typer.Option(MODELS, help="Comma-separated factories"),
    seeds: str = typer.Option("0,1,2", help="Comma-separated seeds"),
    rates: str = typer.Option("0.5", help="Values of missing_rate"),
    share: float = typer.Option(0.5, help="Share of the entities to remove"),
    epochs: int = typer.Option(10, help="Epochs of each training"),
    limit: int = typer.Option(0, help="Number of sentences; all if 0"),
    parts: Path = typer.Option(..., help="Folder for the results"),
) -> None:
    """Train with all entities, with half of them, and with half of them marked."""
    corpus = read_corpus(dataset, data, build_pipeline("encoder", encoder))
    docs = [doc for doc in corpus.train if len(doc)][: limit or None]
    test = to_examples(corpus.test)
    rows: List[Dict[str, Any]] = []
    for model in models.split(","):
        for way in (ALL, UNMARKED, *rates.split(",")):
            for seed in map(int, seeds.split(",")):
                path = parts / f"{dataset}-{model}-{way}-{share}-{seed}.json"
                if not path.exists():
                    rng = random.Random(seed)
                    marked = way not in (ALL, UNMARKED)
                    less = 0.0 if way == ALL else share
                    known = [thinned(doc, less, rng, marked=marked) for doc in docs]
                    rate = float(way) if marked else 0.5
                    nlp = build_pipeline(model, encoder, {"missing_rate": rate})
                    budget: Any = {"epochs": epochs, "seed": seed}
                    train_from_start(nlp, to_examples(known), encoder=encoder, **budget)
                    scores = scores_of(nlp, test, SPANS_KEY)
                    row = {"model": model, "way": way, "seed": seed, **scores}
                    write_json(path, row)
                row = read_json(path)["results"]
                rows.append(row)
                print({k: row[k] for k in ("model", "way", "seed", "p", "r", "f")})
    show(rows)


def show(rows: Sequence[Dict[str, Any]]) -> None:
    """Print a row for each model and way."""
    header = ("model", "annotation", "P", "R", "F1", "share of the loss")
    lines = []
    for model in dict.fromkeys(row["model"] for row in rows):
        mine = [row for row in rows if row["model"] == model]
        level = {
            way: mean(row["f"] for row in mine if row["way"] == way)
            for way in dict.fromkeys(row["way"] for row in mine)
        }
        for way in level:
            found = [row for row in mine if row["way"] == way]
            cells = []
            for name in "prf":
                scores = [row[name] for row in found]
                sd = stdev(scores) if len(scores) > 1 else None
                cells.append(mean_and_spread(mean(scores), sd))
            lost = (level[ALL] - level[way]) / (level[ALL] - level[UNMARKED])
            lines.append([model, way, *cells, f"{lost:.2f}"])
    print(table(lines, header=header, divider=True))


if __name__ == "__main__":
    typer.run(main)

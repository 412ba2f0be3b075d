"""F1 by the amount of annotated text, chosen by `spanner select` or at random.

python benchmarks/active_selection.py DATA --dataset genia --seeds 0,1,2 --parts FOLDER

All ways of choosing have the same budget in words, because long sentences take longer
to annotate; the number of sentences is counted. Every training writes a file to FOLDER;
what exists is not repeated.
"""

import random
from pathlib import Path
from statistics import mean
from typing import Any, Dict, Iterator, List, NamedTuple, Optional, Sequence

import typer
from common import (
    SPANS_KEY,
    build_pipeline,
    read_corpus,
    to_examples,
    train_from_start,
)
from corpora import draw
from measuring import write_json
from options import DATA, DATASET, ENCODER
from spacy.language import Language
from spacy.tokens import Doc
from spacy.training import Example
from texts import bare
from wasabi import table

from spacy_spanner.evaluation.tables import mean_of_runs
from spacy_spanner.files import read_json
from spacy_spanner.jobs.annotate.messages import Document
from spacy_spanner.jobs.choosing import expect_errors
from spacy_spanner.jobs.search.one_trial import scores_of
from spacy_spanner.review.candidates import find_scored_source
from spacy_spanner.review.selection import Preferences, choose

RANDOM, ALL = "random", "all"
WAYS: Dict[str, Preferences] = {
    "errors": Preferences(repetition=1.0),
    "errors, diverse": Preferences(),
    "errors per word, diverse": Preferences(per_token=True),
}
BATCH = 8


class Budget(NamedTuple):
    """How pipelines are trained.

    encoder (str): a key of `ENCODERS`.
    epochs (int): of each training.
    min_steps (int): steps of a training on little text at least.
    """

    encoder: str
    epochs: int
    min_steps: int

    def train(self, docs: Sequence[Doc], seed: int) -> Language:
        """RETURNS (Language): a pipeline that is trained on documents."""
        nlp = build_pipeline("span_biaffine", self.encoder)
        batches = -(-len(docs) // BATCH)
        epochs = max(self.epochs, -(-self.min_steps // batches))
        options: Any = {"encoder": self.encoder, "epochs": epochs, "seed": seed}
        train_from_start(nlp, to_examples(docs), batch_size=BATCH, **options)
        return nlp


class Curve:
    """A text that is annotated step by step, as if it was not annotated yet.

    docs (Sequence[Doc]): the annotated documents.
    test (Sequence[Example]): the examples to score.
    budget (Budget): of each training.
    way (str): a key of `WAYS`, `RANDOM` or `ALL`.
    seed (int): of the trainings, and of the order of the documents.
    """

    def __init__(
        self,
        docs: Sequence[Doc],
        test: Sequence[Example],
        budget: Budget,
        way: str,
        seed: int,
    ) -> None:
        self.docs, self.test, self.budget = docs, test, budget
        self.way, self.seed = way, seed
        self.known: List[int] = []
        self.nlp: Optional[Language] = None
        self.order = list(range(len(docs)))
        random.Random(seed).shuffle(self.order)

    def extend(self, n_words: int) -> None:
        """Annotate more documents. The first ones are the same for every way."""
        order = self.order
        if self.way in WAYS and self.known:
            self.nlp = self.nlp or self.train()
            order = self.known + self.by_gain(self.nlp)
        self.known = self.within(order, n_words)

    def by_gain(self, nlp: Language) -> List[int]:
        """RETURNS (List[int]): the other documents, in the order of choice."""
        left = [place for place in self.order if place not in set(self.known)]
        pool = [Document(str(n), doc=bare(self.docs[n])) for n in left]
        decisions, sizes = expect_errors(nlp, pool, find_scored_source(nlp, SPANS_KEY))
        chosen = choose(decisions, sizes, len(left), WAYS[self.way])
        return [left[one.place] for one in chosen]

    def within(self, order: Sequence[int], n_words: int) -> List[int]:
        """RETURNS (List[int]): the first documents, up to a number of words."""
        known, total = [], 0
        for place in order:
            if total >= n_words:
                break
            known.append(place)
            total += len(self.docs[place])
        return known

    def train(self) -> Language:
        """RETURNS (Language): a pipeline that knows what is annotated."""
        return self.budget.train([self.docs[n] for n in self.known], self.seed)

    def score(self) -> Dict[str, Any]:
        """RETURNS (Dict[str, Any]): F1 with the known documents, and their sizes."""
        self.nlp = self.train()
        scores = scores_of(self.nlp, self.test, SPANS_KEY)
        words = sum(len(self.docs[place]) for place in self.known)
        row = {"way": self.way, "seed": self.seed, "sentences": len(self.known)}
        return {**row, "words": words, "f": scores["f"], "known": self.known}

    def run(self, shares: Sequence[float], parts: Path) -> Iterator[Dict[str, Any]]:
        """YIELDS (Dict[str, Any]): the row of each share of the words."""
        total = sum(map(len, self.docs))
        for place, share in enumerate(shares):
            # The first point of all curves is the same.
            way = RANDOM if place == 0 and self.way in WAYS else self.way
            name = way.replace(", ", "-").replace(" ", "_")
            path = parts / f"{name}-{self.seed}-{share}.json"
            if not path.exists():
                self.extend(round(share * total))
                write_json(path, self.score())
            elif self.nlp is not None:
                self.nlp = None  # it knows less than the file
            row = read_json(path)["results"]
            self.known = row["known"]
            yield {**row, "way": self.way, "share": share}


def main(
    data: Path = DATA,
    dataset: str = DATASET,
    encoder: str = ENCODER,
    seeds: str = typer.Option("0,1,2", help="Comma-separated seeds"),
    shares: str = typer.Option("0.1,0.3,0.6", help="Annotated shares of the words"),
    sentences: int = typer.Option(0, help="Sentences to draw; 0 for all"),
    test_sentences: int = typer.Option(0, help="Sentences to test on; 0 for all"),
    epochs: int = typer.Option(6, help="Epochs of each training"),
    min_steps: int = typer.Option(300, help="Steps of each training at least"),
    parts: Path = typer.Option(..., help="Folder for the results"),
) -> None:
    """Train with more and more text, chosen in several ways, and with all of it."""
    corpus = read_corpus(dataset, data, build_pipeline("encoder", encoder))
    docs = [doc for doc in corpus.train if len(doc)]
    docs = draw(docs, sentences or len(docs), seed=0)
    test = to_examples(draw(corpus.test, test_sentences or len(corpus.test), seed=0))
    budget = Budget(encoder, epochs, min_steps)
    points = [float(share) for share in shares.split(",")]
    rows: List[Dict[str, Any]] = []
    for seed in map(int, seeds.split(",")):
        for way in (ALL, RANDOM, *WAYS):
            curve = Curve(docs, test, budget, way, seed)
            for row in curve.run([1.0] if way == ALL else points, parts / dataset):
                rows.append(row)
                print(f"{way}, seed {seed}, {row['share']:.0%}: F1 {row['f']:.3f}")
    show(rows)


def show(rows: Sequence[Dict[str, Any]]) -> None:
    """Print a row for each way and share."""
    header = ("chosen by", "words", "sentences", "F1")
    lines = []
    for share in sorted({row["share"] for row in rows}):
        for way in (RANDOM, *WAYS, ALL):
            found = [r for r in rows if (r["way"], r["share"]) == (way, share)]
            if not found:
                continue
            scores, sizes = ([r[x] for r in found] for x in ("f", "sentences"))
            cells = [f"{share:.0%}", f"{mean(sizes):.0f}", mean_of_runs(scores)]
            lines.append([way, *cells])
    print(table(lines, header=header, divider=True))


if __name__ == "__main__":
    typer.run(main)

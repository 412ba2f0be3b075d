"""F1 by the number of annotated sentences, chosen by `spanner select` or at random.

python benchmarks/active_selection.py DATA --dataset genia --seeds 0,1,2 --parts FOLDER

Each round writes a file to FOLDER; what exists is not repeated.
"""

import random
from pathlib import Path
from statistics import mean, stdev
from typing import Any, Dict, List, NamedTuple, Sequence

import typer
from common import (
    SPANS_KEY,
    build_pipeline,
    read_corpus,
    to_examples,
    train_from_start,
)
from measuring import write_json
from options import DATA, DATASET, ENCODER
from spacy.language import Language
from spacy.tokens import Doc
from spacy.training import Example
from wasabi import table

from spacy_spanner.evaluation.tables import mean_and_spread
from spacy_spanner.files import read_json
from spacy_spanner.jobs.annotate.messages import Document
from spacy_spanner.jobs.choosing import select_texts
from spacy_spanner.jobs.search.one_trial import scores_of

SELECT, RANDOM, ALL = "select", "random", "all"


def unannotated(doc: Doc) -> Doc:
    """RETURNS (Doc): the tokens of a document."""
    words, spaces = [t.text for t in doc], [bool(t.whitespace_) for t in doc]
    return Doc(doc.vocab, words=words, spaces=spaces)


def main(
    data: Path = DATA,
    dataset: str = DATASET,
    encoder: str = ENCODER,
    seeds: str = typer.Option("0,1,2", help="Comma-separated seeds"),
    sizes: str = typer.Option(
        "0.05,0.1,0.2,0.3,0.45,0.6", help="Annotated shares of the sentences"
    ),
    epochs: int = typer.Option(10, help="Epochs of each training"),
    parts: Path = typer.Option(..., help="Folder for the results"),
) -> None:
    """Train with more and more sentences, chosen in two ways, and with all of them."""
    corpus = read_corpus(dataset, data, build_pipeline("encoder", encoder))
    docs = [doc for doc in corpus.train if len(doc)]
    numbers = [round(float(share) * len(docs)) for share in sizes.split(",")]
    rows: List[Dict[str, Any]] = []
    for seed in map(int, seeds.split(",")):
        simulation = Simulation(docs, to_examples(corpus.test), encoder, epochs, seed)
        for way in (SELECT, RANDOM, ALL):
            known: List[int] = []
            for number in [len(docs)] if way == ALL else numbers:
                path = parts / f"{dataset}-{way}-{seed}-{number}.json"
                if not path.exists():
                    known = simulation.extend(way, known, number)
                    write_json(path, simulation.score(way, known))
                row = read_json(path)["results"]
                known = row["known"]
                rows.append(row)
                print(f"{way}, seed {seed}, {number} sentences: F1 {row['f']:.3f}")
    show(rows, len(docs))


class Simulation(NamedTuple):
    """Annotation of a corpus, as if it was not annotated yet.

    docs (Sequence[Doc]): the annotated documents.
    test (Sequence[Example]): the examples to score.
    encoder, epochs, seed: of each training; the seed also shuffles the documents.
    """

    docs: Sequence[Doc]
    test: Sequence[Example]
    encoder: str
    epochs: int
    seed: int

    def extend(self, way: str, known: List[int], number: int) -> List[int]:
        """RETURNS (List[int]): `number` documents, among them those that are known. The
        first ones are the same for every way.
        """
        order = list(range(len(self.docs)))
        random.Random(self.seed).shuffle(order)
        if way != SELECT or not known:
            return order[:number]
        left = [place for place in order if place not in set(known)]
        pool = [Document(str(n), doc=unannotated(self.docs[n])) for n in left]
        nlp = self.train(known)
        found = select_texts(nlp, pool, number - len(known), key=SPANS_KEY)
        return known + [int(task.about["id"]) for task in found.tasks]

    def train(self, known: Sequence[int]) -> Language:
        """RETURNS (Language): a pipeline that is trained on the known documents."""
        nlp = build_pipeline("span_biaffine", self.encoder)
        examples = to_examples([self.docs[place] for place in known])
        budget: Any = {"epochs": self.epochs, "seed": self.seed}
        train_from_start(nlp, examples, encoder=self.encoder, **budget)
        return nlp

    def score(self, way: str, known: List[int]) -> Dict[str, Any]:
        """RETURNS (Dict[str, Any]): F1 with the known documents, and their sizes."""
        scores = scores_of(self.train(known), self.test, SPANS_KEY)
        tokens = sum(len(self.docs[place]) for place in known)
        row = {"way": way, "seed": self.seed, "number": len(known), "tokens": tokens}
        return {**row, "f": scores["f"], "known": known}


def show(rows: Sequence[Dict[str, Any]], n_docs: int) -> None:
    """Print a row for each number of sentences."""
    header = ("sentences", "share", "select", "its tokens", "random", "its tokens")
    lines = []
    for number in sorted({row["number"] for row in rows}):
        cells = [str(number), f"{number / n_docs:.0%}"]
        ways = (ALL, ALL) if number == n_docs else (SELECT, RANDOM)
        for way in ways:
            found = [r for r in rows if (r["way"], r["number"]) == (way, number)]
            scores, tokens = [r["f"] for r in found], [r["tokens"] for r in found]
            sd = stdev(scores) if len(scores) > 1 else None
            cells += [mean_and_spread(mean(scores), sd), f"{mean(tokens):.0f}"]
        lines.append(cells)
    print(table(lines, header=header, divider=True))


if __name__ == "__main__":
    typer.run(main)

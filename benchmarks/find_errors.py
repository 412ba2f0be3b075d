"""How many planted errors `spanner find-errors` ranks first.

python benchmarks/find_errors.py DATA --dataset genia --rate 0.01 --parts FOLDER
python benchmarks/find_errors.py DATA --dataset wnut17 --rate 0.05 --parts FOLDER

Errors that the corpus had before count as mistakes of the ranking. With cleanlab
installed, its method for tokens is compared. The predictions of every fold are written
to --parts; what exists is not repeated.
"""

import random
import time
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any, Dict, List, NamedTuple, Optional, Sequence, Set

import typer
from common import SPANS_KEY, build_pipeline, read_corpus
from error_folds import cross_validate
from error_rankings import Held, Ranked, rankings
from measuring import write_json
from options import DATA, DATASET, ENCODER, OUTPUT
from spacy.tokens import Doc, Span
from wasabi import table

from spacy_spanner.evaluation.counts import SpanKey
from spacy_spanner.evaluation.matching import overlap_ratio
from spacy_spanner.jobs.folds.cross_validation import Folds

KINDS = ("missing", "spurious", "label", "boundary", "inconsistent")
FIRST = 100
# Spans with a text that occurs at least this often may become inconsistent.
MIN_OCCURRENCES = 3
MOVES = ((-1, 0), (1, 0), (0, -1), (0, 1))


class Planted(NamedTuple):
    """An error: what was annotated, and what is now; None for nothing."""

    doc: int
    kind: str
    old: Optional[SpanKey]
    new: Optional[SpanKey]


class Planter:
    """Replaces annotated spans by errors, each span once.

    docs (Sequence[Doc]): the documents, which are not changed.
    seed (int): random seed.
    """

    def __init__(self, docs: Sequence[Doc], seed: int) -> None:
        self.rng = random.Random(seed)
        self.docs = docs
        self.gold: List[Set[SpanKey]] = [
            {(s.start, s.end, s.label_) for s in doc.spans[SPANS_KEY]} for doc in docs
        ]
        self.left = [(n, s) for n, spans in enumerate(self.gold) for s in sorted(spans)]
        self.every = list(self.left)
        self.labels = sorted({span[2] for _, span in self.left})
        self.number = Counter(self.text(doc, span) for doc, span in self.left)
        self.rng.shuffle(self.left)

    def text(self, doc: int, span: SpanKey) -> str:
        """RETURNS (str): the text of a span."""
        return self.docs[doc][span[0] : span[1]].text

    def plant(self, kind: str, wanted: int) -> List[Planted]:
        """RETURNS (List[Planted]): errors of a kind, now part of the annotation."""
        made: List[Planted] = []
        rest = []
        while len(made) < wanted and self.left:
            doc, span = self.left.pop()
            error = self.make(kind, doc, span)
            if error is None or error.new in self.gold[error.doc]:
                rest.append((doc, span))
                continue
            self.gold[error.doc] = self.gold[error.doc] - {error.old}
            if error.new is not None:
                self.gold[error.doc].add(error.new)
            made.append(error)
        self.left = rest + self.left
        return made

    def make(self, kind: str, doc: int, span: SpanKey) -> Optional[Planted]:
        """RETURNS (Optional[Planted]): an error; None if the span cannot have it."""
        start, end, label = span
        if kind == "missing":
            return Planted(doc, kind, span, None)
        if kind == "spurious":
            self.left.insert(0, (doc, span))  # stays as it is
            return self.invent(end - start, label)
        if kind == "boundary":
            moved = [(start + a, end + b, label) for a, b in MOVES]
            size = len(self.docs[doc])
            fitting = [one for one in moved if 0 <= one[0] < one[1] <= size]
            return Planted(doc, kind, span, self.rng.choice(fitting))
        often = self.number[self.text(doc, span)] >= MIN_OCCURRENCES
        if kind == "inconsistent" and not often:
            return None
        others = [one for one in self.labels if one != label]
        return Planted(doc, kind, span, (start, end, self.rng.choice(others)))

    def invent(self, width: int, label: str) -> Optional[Planted]:
        """RETURNS (Optional[Planted]): a span outside of all others; None for a try
        that fails.
        """
        doc = self.rng.randrange(len(self.docs))
        start = self.rng.randint(0, max(len(self.docs[doc]) - width, 0))
        end = start + width
        taken = any(s < end and start < e for s, e, _ in self.gold[doc])
        if taken or end > len(self.docs[doc]):
            return None
        return Planted(doc, "spurious", None, (start, end, label))


def points_at(place: Ranked, error: Planted) -> bool:
    """RETURNS (bool): whether a place of a ranking leads a reviewer to an error: it is
    the wrong span, or proposes nearly the one that is gone.
    """
    if place.gold is not None:
        return place.gold == error.new
    return any(
        span is not None and overlap_ratio(place.proposed or span, span) > 0.5
        for span in (error.old, error.new if error.old else None)
    )


def score(ranking: Sequence[Ranked], planted: Sequence[Planted]) -> Dict[str, Any]:
    """RETURNS (Dict[str, Any]): precision at the first places, and recall at as many
    places as errors were planted, also by kind.
    """
    by_doc = defaultdict(list)
    for number, error in enumerate(planted):
        by_doc[error.doc].append(number)
    right, found = [], set()
    for place in ranking[: max(FIRST, len(planted))]:
        hits = [n for n in by_doc[place.doc] if points_at(place, planted[n])]
        if len(right) < len(planted):
            found.update(hits)
        right.append(bool(hits))
    total = Counter(error.kind for error in planted)
    kinds = Counter(planted[number].kind for number in found)
    return {
        "precision": sum(right[:FIRST]) / FIRST,
        "recall": len(found) / len(planted),
        **{f"recall_{kind}": kinds[kind] / max(total[kind], 1) for kind in KINDS},
    }


def main(
    data: Path = DATA,
    dataset: str = DATASET,
    encoder: str = ENCODER,
    rate: float = typer.Option(0.01, help="Errors of each kind per annotated span"),
    folds: int = typer.Option(3, help="Number of folds"),
    epochs: int = typer.Option(3, help="Epochs of each training"),
    seed: int = typer.Option(0, help="Seed of the errors, the folds and the ranking"),
    parts: Path = typer.Option(..., help="Folder for the predictions of the folds"),
    output: Optional[Path] = OUTPUT,
) -> None:
    """Plant errors into the train split, and look for them."""
    nlp = build_pipeline("encoder", encoder)
    docs = [doc for doc in read_corpus(dataset, data, nlp).train if len(doc)]
    planter = Planter(docs, seed)
    wanted = round(rate * len(planter.every))
    planted = [error for kind in KINDS for error in planter.plant(kind, wanted)]
    for doc, spans in zip(docs, planter.gold):
        rows = sorted(spans)
        doc.spans[SPANS_KEY] = [Span(doc, s, e, label=label) for s, e, label in rows]
    options: Any = {"encoder": encoder, "folds": Folds(folds, seed), "epochs": epochs}
    store = parts / f"{dataset}-{encoder}-{rate}-{folds}-{epochs}-{seed}"
    readings, taggings = cross_validate(docs, store=store, **options)
    words = [[token.text for token in doc] for doc in docs]
    held = Held(words, readings, taggings, seed)
    results = []
    for name, rank in rankings():
        start = time.process_time()
        row = {"ranking": name, **score(rank(held), planted)}
        results.append({**row, "seconds": time.process_time() - start})
    shown = [[r["ranking"], *(f"{100 * r[x]:.0f}" for x in columns())] for r in results]
    print(f"{dataset}: {len(planter.every)} spans, {len(planted)} errors")
    print(table(shown, header=("ranking", *columns()), divider=True))
    if output is not None:
        setup = {"dataset": dataset, "encoder": encoder, "rate": rate, "epochs": epochs}
        setup.update(folds=folds, seed=seed, errors=len(planted))
        write_json(output, results, setup=setup)


def columns() -> List[str]:
    """RETURNS (List[str]): the scores of a ranking."""
    return ["precision", "recall", *(f"recall_{kind}" for kind in KINDS)]


if __name__ == "__main__":
    typer.run(main)

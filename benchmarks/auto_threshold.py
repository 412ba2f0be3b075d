"""Compare the constant threshold of each model with the one that "auto" chooses on dev.

python benchmarks/auto_threshold.py DATA --corpora demo,genia --seeds 0,1

Every run trains one model, as `benchmarks/panel.py` does with the same budget, and
keeps the pipeline that is best on dev with the constant threshold. A threshold is then
chosen on dev, as `spacy_spanner.auto_threshold.v1` does it, and both are scored on the
test split. Runs that are already in `--results` are not repeated.
"""

import random
from itertools import product
from pathlib import Path
from typing import Any, Dict, Iterator, List, Optional, Sequence

import typer
from common import SPANS_KEY, build_pipeline, to_examples
from corpora import CORPORA
from measuring import in_fresh_process
from options import DATA
from panel_runs import Budget, Run, train_best

from spacy_spanner.evaluation.counts import Reading
from spacy_spanner.evaluation.predicting import find_source, read_unfiltered
from spacy_spanner.evaluation.tables import markdown_table
from spacy_spanner.evaluation.thresholds import (
    ScoredSpans,
    f_objective,
    near_best,
    scored_spans,
    threshold_curve,
)
from spacy_spanner.files import read_json, write_json

SYSTEMS = "span_biaffine,span_locate_label,span_diffusion,span_offset"
HERE = Path(__file__).parent
# Numbers of gold spans to choose a threshold on, and draws of documents with so many.
SIZES, DRAWS = (5, 10, 20, 50, 100, 200), 50


def compare(run: Run, data: Path) -> Dict[str, Any]:
    """Train a model, and score it on the test split with both thresholds.

    RETURNS (Dict[str, Any]): the `constant`, the threshold that was `chosen` on dev,
        its F1 there before and after, the F1 of both on test, and the number of gold
        spans in dev.
    """
    corpus = CORPORA[run.corpus]
    nlp = build_pipeline(
        run.factory, run.encoder, run.settings, lang=corpus.dataset.lang
    )
    docs = corpus.read(data, nlp, max_sentences=run.budget.max_sentences)
    examples = {split: to_examples(part) for split, part in docs.items()}
    train_best(nlp, examples["train"], examples["dev"], run)
    source = find_source(nlp, SPANS_KEY)
    readings = {
        split: read_unfiltered(nlp, examples[split], source)
        for split in ("dev", "test")
    }
    about = {"corpus": run.corpus, "system": run.system, "seed": run.seed}
    return {**about, **account(readings, source.threshold)}


def account(
    readings: Dict[str, Sequence[Reading]], constant: Optional[float]
) -> Dict[str, Any]:
    """RETURNS (Dict[str, Any]): see `compare`.

    readings (Dict[str, Sequence[Reading]]): dev and test, predicted with a low
        threshold.
    constant (Optional[float]): the default threshold of the model.
    """
    default = float(constant or 0.0)
    spans = {split: scored_spans(found) for split, found in readings.items()}
    rows = {"constant": default, "chosen": chosen_on(spans["dev"], default)}
    scores = {
        f"{split} {name}": f_at(spans[split], threshold)
        for split in spans
        for name, threshold in rows.items()
    }
    dev = readings["dev"]
    gains = {str(size): gain_of_small(dev, size, default) for size in SIZES}
    gold = spans["dev"].n_gold
    return {**rows, "gold": gold, **scores, "gain by gold": gains}


def f_at(spans: ScoredSpans, threshold: float) -> float:
    """RETURNS (float): F1 at a threshold."""
    return threshold_curve(spans, [threshold])[0].f


def chosen_on(spans: ScoredSpans, constant: float) -> float:
    """RETURNS (float): the threshold that "auto" would be."""
    (default,) = threshold_curve(spans, [constant])
    return near_best(threshold_curve(spans), default, f_objective()).threshold


def gain_of_small(
    readings: Sequence[Reading], n_gold: int, constant: float
) -> Optional[float]:
    """Choose a threshold on a few documents of dev, and test it on the others.

    n_gold (int): number of gold spans in the few documents, which are at most half.
    RETURNS (Optional[float]): what it gains on the others compared with the constant,
        the mean of many draws; None if dev is too small.
    """
    rng, gains = random.Random(0), []
    if 2 * n_gold > sum(len(one.gold) for one in readings):
        return None
    for _ in range(DRAWS):
        shuffled = rng.sample(readings, len(readings))
        place = n_found = 0
        while n_found < n_gold:
            n_found += len(shuffled[place].gold)
            place += 1
        chosen = chosen_on(scored_spans(shuffled[:place]), constant)
        rest = scored_spans(shuffled[place:])
        gains.append(f_at(rest, chosen) - f_at(rest, constant))
    return sum(gains) / DRAWS


def make_table(rows: List[Dict[str, Any]]) -> str:
    """RETURNS (str): one row for each corpus and model, with means over the seeds, and
    one for the mean of all.
    """
    keys = dict.fromkeys((row["corpus"], row["system"]) for row in rows)
    cells = []
    for key in [*keys, None]:
        some = [r for r in rows if key in (None, (r["corpus"], r["system"]))]
        chosen = ", ".join(f"{row['chosen']:.2f}" for row in some) if key else ""
        gain = [100 * (row["test chosen"] - row["test constant"]) for row in some]
        cells.append(
            [
                *(key or ("mean", "")),
                f"{some[0]['gold']}" if key else "",
                f"{some[0]['constant']:.2f}" if key else "",
                chosen,
                *(f"{100 * mean(some, name):.1f}" for name in SCORES),
                f"{sum(gain) / len(gain):+.1f}",
            ]
        )
    return markdown_table(HEAD, cells)


def size_table(rows: List[Dict[str, Any]]) -> str:
    """RETURNS (str): what thresholds gain that are chosen on few gold spans of dev, on
    the other documents of dev; the mean and the worst of all runs.
    """
    cells = []
    for size in map(str, SIZES):
        gains = [row["gain by gold"][size] for row in rows]
        known = [100 * gain for gain in gains if gain is not None]
        if known:
            average = sum(known) / len(known)
            cells.append(
                [size, str(len(known)), f"{average:+.1f}", f"{min(known):+.1f}"]
            )
    return markdown_table(["gold spans", "runs", "mean gain", "worst gain"], cells)


SCORES = ("dev constant", "dev chosen", "test constant", "test chosen")
HEAD = ["corpus", "model", "gold spans in dev", "constant", "chosen", *SCORES, "gain"]


def mean(rows: List[Dict[str, Any]], name: str) -> float:
    """RETURNS (float): the mean of a column."""
    return sum(row[name] for row in rows) / len(rows)


def select(
    corpora: str, systems: str, seeds: str, encoder: str, budget: Budget
) -> Iterator[Run]:
    """YIELDS (Run): all runs, seed by seed."""
    for seed, corpus, system in product(
        seeds.split(","), corpora.split(","), systems.split(",")
    ):
        yield Run(corpus, encoder, 100, system, int(seed), budget)


def main(
    data: Path = DATA,
    corpora: str = typer.Option("demo,genia,wnut17", help="Comma-separated corpora"),
    systems: str = typer.Option(SYSTEMS, help="Comma-separated models"),
    encoder: str = typer.Option("cnn", help="Encoder: cnn or minilm"),
    seeds: str = typer.Option("0", help="Comma-separated seeds"),
    epochs: int = typer.Option(10, help="Passes over the training data"),
    min_steps: int = typer.Option(500, help="Updates, if the passes make fewer"),
    batch_size: int = typer.Option(8, help="Sentences in an update"),
    looks: int = typer.Option(5, help="How often the dev split is scored"),
    max_sentences: int = typer.Option(500, help="Limit for the train and dev split"),
    results: Path = typer.Option(HERE / "results" / "auto_threshold"),
) -> None:
    """Run what is missing and print the table."""
    budget = Budget(epochs, min_steps, batch_size, looks, max_sentences)
    rows = []
    for run in select(corpora, systems, seeds, encoder, budget):
        path = run.path(data, results)
        if not path.exists():
            write_json(path, in_fresh_process(compare, run, data))
        rows.append(read_json(path))
        print(rows[-1], flush=True)
    print(make_table(rows))
    print(size_table(rows))


if __name__ == "__main__":
    typer.run(main)

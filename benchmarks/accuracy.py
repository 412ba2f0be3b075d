"""Precision, recall, F1, calibration, time and memory at an equal training budget.

python benchmarks/accuracy.py DATA --models span_biaffine,spancat --seeds 0,1
python benchmarks/accuracy.py DATA --models span_locate_label --later soft_nms=false
"""

from pathlib import Path
from typing import Any, Dict, List, Optional, Sequence

import typer
from common import (
    HEAD_RATE,
    SPANS_KEY,
    build_pipeline,
    read_corpus,
    read_settings,
    to_examples,
    train_from_start,
)
from corpora import draw
from measuring import in_fresh_process, peak_memory_mb, write_json
from options import DATA, DATASET, ENCODER, OUTPUT, SYSTEMS
from spacy.language import Language
from spacy.training import Example
from wasabi import table

from spacy_spanner.evaluation.tables import mean_and_spread, percent
from spacy_spanner.jobs.search.one_trial import scores_of
from spacy_spanner.jobs.search.summaries import (
    LENGTH_GROUPS,
    average,
    with_groups,
)

SCORES = {
    "P": "p",
    "R": "r",
    "F1": "f",
    "F1 nested": "nested_f",
    **{f"F1 {group}": group for group in LENGTH_GROUPS},
    "ECE": "ece",
}
HEADER = ("model", "seed", *SCORES, "train s", "peak MB")


def measure(
    system: str,
    *,
    dataset: str,
    folder: Path,
    encoder: str,
    settings: Dict[str, Any],
    later: Sequence[str],
    share: float = 1.0,
    **budget: Any,
) -> List[Dict[str, Any]]:
    """Train a system on the train split and score it on the test split.

    settings (Dict[str, Any]): settings of the component that differ from the defaults.
    later (Sequence[str]): settings to change after training, one at a time. Two that
        belong together have a space between them: "report=last steps=1".
    share (float): share of the training sentences; each seed draws its own.
    **budget: see `train_from_start`.
    RETURNS (List[Dict[str, Any]]): a row of the table, and one for each later change.
        The model of the last epoch is scored; nothing is chosen on the test split.
    """
    nlp = build_pipeline(system, encoder, settings)
    corpus = read_corpus(dataset, folder, nlp)
    n_train = round(share * len(corpus.train))
    examples = to_examples(draw(corpus.train, n_train, seed=budget["seed"]))
    seconds = train_from_start(nlp, examples, encoder=encoder, **budget)
    test = to_examples(corpus.test)
    rows = []
    for change in ["", *later]:
        scores = score_changed(nlp, system, test, change)
        row = {"model": f"{system}, {change}" if change else system}
        row.update({name: scores[name] for name in SCORES.values()})
        row.update(seed=budget["seed"], seconds=seconds, memory_mb=peak_memory_mb())
        rows.append(row)
    return rows


def score_changed(
    nlp: Language, system: str, test: Sequence[Example], change: str
) -> Dict[str, Any]:
    """RETURNS (Dict[str, Any]): scores with one setting changed; "" for no change."""
    pipe: Any = nlp.get_pipe(system)
    saved = dict(pipe.cfg)
    pipe.cfg.update(read_settings(change.split()))
    scores = with_groups(scores_of(nlp, test, SPANS_KEY))
    pipe.cfg.update(saved)
    return scores


def to_row(result: Dict[str, Any]) -> List[str]:
    """RETURNS (List[str]): the cells of a table row."""
    shares = [percent(result[name]) for name in SCORES.values()]
    cost = [f"{result['seconds']:.0f}", f"{result['memory_mb']:.0f}"]
    return [result["model"], str(result["seed"]), *shares, *cost]


def to_means(results: List[Dict[str, Any]]) -> List[List[str]]:
    """RETURNS (List[List[str]]): a row per model with the means and standard deviations
    over seeds.
    """
    lines = []
    for model in dict.fromkeys(result["model"] for result in results):
        found = [result for result in results if result["model"] == model]
        scores = average(found)
        cells = [mean_and_spread(**scores[name]) for name in SCORES.values()]
        lines.append([model, str(len(found)), *cells])
    return lines


def main(
    data: Path = DATA,
    dataset: str = DATASET,
    models: str = SYSTEMS,
    encoder: str = ENCODER,
    epochs: int = typer.Option(20),
    batch_size: int = typer.Option(8),
    seeds: str = typer.Option("0", help="Comma-separated seeds"),
    decay: bool = typer.Option(True, help="Decay the learning rates to 0"),
    head_rate: float = typer.Option(HEAD_RATE, help="Highest rate of the head"),
    factor: float = typer.Option(1.0, help="Factor on all learning rates"),
    settings: List[str] = typer.Option(
        [], "--set", help="Setting of the components, for example boundary_smoothing=0"
    ),
    later: List[str] = typer.Option(
        [], help="Settings to change after training and score, such as 'a=1 b=2'"
    ),
    output: Optional[Path] = OUTPUT,
) -> None:
    """Train and test every model with every seed, each in its own process."""
    results = []
    for seed in map(int, seeds.split(",")):
        for model in models.split(","):
            options = {"dataset": dataset, "folder": data, "encoder": encoder}
            budget = {"epochs": epochs, "batch_size": batch_size, "seed": seed}
            budget.update(decay=decay, head_rate=head_rate, factor=factor)
            budget.update(settings=read_settings(settings), later=later)
            rows = in_fresh_process(measure, model, **options, **budget)
            print("\n".join(" ".join(to_row(row)) for row in rows), flush=True)
            results.extend(rows)
    print(table([to_row(r) for r in results], header=HEADER, divider=True))
    print(table(to_means(results), header=("mean of", "seeds", *SCORES), divider=True))
    if output is not None:
        setup = {"dataset": dataset, "encoder": encoder, "epochs": epochs}
        write_json(output, results, setup=setup, settings=settings)


if __name__ == "__main__":
    typer.run(main)

"""Precision, recall, F1, calibration, time and memory at an equal training budget.

python benchmarks/accuracy.py DATA --models span_biaffine,spancat --seeds 0,1
"""

from pathlib import Path
from statistics import mean, stdev
from typing import Any, Dict, List, Optional

import typer
from common import (
    SPANS_KEY,
    build_pipeline,
    read_corpus,
    read_settings,
    to_examples,
    train_from_start,
)
from measuring import in_fresh_process, peak_memory_mb, write_json
from options import DATA, DATASET, ENCODER, OUTPUT, SYSTEMS
from wasabi import table

from spacy_spanner.scorers import score_spans

HEADER = ("model", "seed", "P", "R", "F1", "F1 nested", "ECE", "train s", "peak MB")


def measure(
    system: str,
    *,
    dataset: str,
    folder: Path,
    encoder: str,
    epochs: int,
    batch_size: int,
    seed: int,
    decay: bool,
    settings: Dict[str, Any],
) -> Dict[str, Any]:
    """Train one system on the training part, and score it once on the test part.

    settings (Dict[str, Any]): of the component, where they differ from its defaults.
    RETURNS (Dict[str, Any]): the row of the table. The last epoch counts; nothing is
        chosen on the test part.
    """
    nlp = build_pipeline(system, encoder, settings)
    corpus = read_corpus(dataset, folder, nlp)
    examples = to_examples(corpus.train)
    seconds = train_from_start(
        nlp,
        examples,
        encoder=encoder,
        epochs=epochs,
        batch_size=batch_size,
        seed=seed,
        decay=decay,
    )
    test = to_examples(corpus.test)
    for example in test:
        example.predicted = nlp(example.predicted)
    scores = score_spans(test, spans_key=SPANS_KEY)
    names = ("p", "r", "f", "nested_f", "ece")
    return {
        "model": system,
        "seed": seed,
        **{name: scores[f"spans_{SPANS_KEY}_{name}"] for name in names},
        "seconds": seconds,
        "memory_mb": peak_memory_mb(),
    }


def to_row(result: Dict[str, Any]) -> List[str]:
    """RETURNS (List[str]): the cells of one line."""
    percent = [
        "-" if result[key] is None else f"{100 * result[key]:.1f}"
        for key in ("p", "r", "f", "nested_f", "ece")
    ]
    time_and_memory = [f"{result['seconds']:.0f}", f"{result['memory_mb']:.0f}"]
    return [result["model"], str(result["seed"]), *percent, *time_and_memory]


def summarize(results: List[Dict[str, Any]]) -> List[str]:
    """RETURNS (List[str]): mean and standard deviation of F1, a line per model."""
    lines = []
    for model in dict.fromkeys(result["model"] for result in results):
        values = [100 * r["f"] for r in results if r["model"] == model]
        spread = f" ± {stdev(values):.1f}" if len(values) > 1 else ""
        lines.append(f"{model}: F1 {mean(values):.1f}{spread} ({len(values)} seeds)")
    return lines


def main(
    data: Path = DATA,
    dataset: str = DATASET,
    models: str = SYSTEMS,
    encoder: str = ENCODER,
    epochs: int = typer.Option(20),
    batch_size: int = typer.Option(8),
    seeds: str = typer.Option("0", help="Numbers with commas"),
    decay: bool = typer.Option(True, help="Let learning rates fall to 0"),
    settings: List[str] = typer.Option(
        [], "--set", help="Setting of the components, such as boundary_smoothing=0"
    ),
    output: Optional[Path] = OUTPUT,
) -> None:
    """Train and test every model with every seed, each in a process of its own."""
    results = []
    for seed in map(int, seeds.split(",")):
        for model in models.split(","):
            options = {"dataset": dataset, "folder": data, "encoder": encoder}
            budget = {"epochs": epochs, "batch_size": batch_size, "seed": seed}
            budget.update(decay=decay, settings=read_settings(settings))
            results.append(in_fresh_process(measure, model, **options, **budget))
            print(" ".join(to_row(results[-1])), flush=True)
    print(table([to_row(r) for r in results], header=HEADER, divider=True))
    print("\n".join(summarize(results)))
    if output is not None:
        setup = {"dataset": dataset, "encoder": encoder, "epochs": epochs}
        write_json(output, results, setup=setup, settings=settings)


if __name__ == "__main__":
    typer.run(main)

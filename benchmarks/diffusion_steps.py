"""Measure F1 and speed of span_diffusion by its steps and spans in prediction.

python benchmarks/diffusion_steps.py DATA --encoder cnn --epochs 20
python benchmarks/diffusion_steps.py DATA --pipeline training/mine/model-best

Without --pipeline, one pipeline is trained for each variant. All are scored on the test
split. --plot draws figures and requires matplotlib.
"""

import time
from pathlib import Path
from typing import Any, Dict, Iterator, List, Optional, Sequence

import spacy
import typer
from common import (
    SPANS_KEY,
    build_pipeline,
    read_corpus,
    read_settings,
    to_examples,
    train_from_start,
)
from measuring import write_json
from options import DATA, DATASET, ENCODER, OUTPUT
from spacy.language import Language
from spacy.tokens import Doc
from spacy.training import Example
from wasabi import table

from spacy_spanner.evaluation.scorer import score_spans

FACTORY = "span_diffusion"
VARIANTS = "expansion=repeat,expansion=random,schedule=linear"
HEADER = ("training", "steps", "spans", "P", "R", "F1", "words/s")


def measure(
    nlp: Language, docs: Sequence[Doc], *, steps: int, spans: int
) -> Dict[str, Any]:
    """Predict with other settings, without training again.

    RETURNS (Dict[str, Any]): scores, and words per second.
    """
    nlp.get_pipe(FACTORY).cfg.update(steps=steps, spans=spans)
    examples = to_examples(docs)
    start = time.perf_counter()
    predicted = list(nlp.pipe([example.predicted for example in examples]))
    seconds = time.perf_counter() - start
    pairs = [Example(doc, eg.reference) for doc, eg in zip(predicted, examples)]
    scores = score_spans(pairs, spans_key=SPANS_KEY)
    return {
        "steps": steps,
        "spans": spans,
        **{name: scores[f"spans_{SPANS_KEY}_{name}"] for name in "prf"},
        "words_per_second": sum(map(len, docs)) / seconds,
    }


def measure_all(
    name: str, nlp: Language, docs: Sequence[Doc], steps: str, spans: str
) -> Iterator[Dict[str, Any]]:
    """YIELDS (Dict[str, Any]): a row for each combination of settings."""
    measure(nlp, docs[:100], steps=1, spans=10)  # warm up
    for n_steps in map(int, steps.split(",")):
        for n_spans in map(int, spans.split(",")):
            row = measure(nlp, docs, steps=n_steps, spans=n_spans)
            yield {"training": name, **row}


def to_row(result: Dict[str, Any]) -> List[str]:
    """RETURNS (List[str]): the cells of a table row."""
    percent = [f"{100 * (result[name] or 0):.1f}" for name in "prf"]
    settings = [str(result[name]) for name in ("training", "steps", "spans")]
    return [*settings, *percent, f"{result['words_per_second']:,.0f}"]


def plot(results: Sequence[Dict[str, Any]], path: Path) -> None:
    """Plot F1 and words per second by number of spans, with one line for each training
    variant and number of steps.
    """
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(1, 2, figsize=(11, 4))
    lines = dict.fromkeys((row["training"], row["steps"]) for row in results)
    for training, steps in lines:
        rows = [r for r in results if (r["training"], r["steps"]) == (training, steps)]
        spans = [row["spans"] for row in rows]
        label = f"{training}, {steps} steps"
        axes[0].plot(spans, [100 * (row["f"] or 0) for row in rows], label=label)
        axes[1].plot(spans, [row["words_per_second"] for row in rows], label=label)
    for axis, title in zip(axes, ("F1", "words per second")):
        axis.set_xlabel("noisy spans")
        axis.set_ylabel(title)
    axes[0].legend()
    figure.tight_layout()
    figure.savefig(path)


def main(
    data: Path = DATA,
    dataset: str = DATASET,
    pipeline: Optional[Path] = typer.Option(None, help="A trained pipeline"),
    encoder: str = ENCODER,
    epochs: int = typer.Option(20),
    variants: str = typer.Option(
        VARIANTS, help="Comma-separated settings to train with"
    ),
    steps: str = typer.Option("1,5,10", help="Comma-separated numbers"),
    spans: str = typer.Option("10,20,30,60,90,120", help="Comma-separated numbers"),
    limit: Optional[int] = typer.Option(
        None, help="Number of sentences to train and test on"
    ),
    output: Optional[Path] = OUTPUT,
    plot_path: Optional[Path] = typer.Option(None, "--plot", help="PNG file to write"),
) -> None:
    """Measure all combinations of steps and spans."""
    results: List[Dict[str, Any]] = []
    for name in variants.split(",") if pipeline is None else [str(pipeline)]:
        if pipeline is None:
            nlp = build_pipeline(FACTORY, encoder, read_settings([name]))
        else:
            nlp = spacy.load(pipeline)
        corpus = read_corpus(dataset, data, nlp)
        if pipeline is None:
            examples = to_examples(corpus.train[:limit])
            train_from_start(nlp, examples, encoder=encoder, epochs=epochs)
        for row in measure_all(name, nlp, corpus.test[:limit], steps, spans):
            results.append(row)
            print(" ".join(to_row(row)), flush=True)
    print(table([to_row(row) for row in results], header=HEADER, divider=True))
    if output is not None:
        write_json(output, results)
    if plot_path is not None:
        plot(results, plot_path)


if __name__ == "__main__":
    typer.run(main)

"""Time and memory of one long document without sentence boundaries.

python benchmarks/long_document.py --models span_biaffine
"""

import time
from pathlib import Path
from typing import Any, Dict, Optional

import numpy as np
import typer
from common import (
    ENCODERS,
    build_pipeline,
    in_fresh_process,
    peak_memory_mb,
    write_json,
)
from spacy.tokens import Doc, Span
from spacy.training import Example
from wasabi import table

VOCABULARY = 5_000


def measure(
    system: str, *, n_tokens: int, n_labels: int, encoder: str
) -> Dict[str, Any]:
    """Predict one document of made-up words.

    RETURNS (Dict[str, Any]): seconds, and the memory that prediction takes above that
        of the pipeline with the document.
    """
    nlp = build_pipeline(system, encoder)
    words = np.random.default_rng(0).integers(VOCABULARY, size=n_tokens)
    reference = Doc(nlp.vocab, words=[f"w{word}" for word in words[: 5 * n_labels]])
    reference.spans["ents"] = [
        Span(reference, 5 * index, 5 * index + 2, label=f"L{index}")
        for index in range(n_labels)
    ]
    example = Example(Doc(nlp.vocab, words=[t.text for t in reference]), reference)
    optimizer = nlp.initialize(lambda: [example])
    for _ in range(20):
        nlp.update([example], sgd=optimizer)
    doc = Doc(nlp.vocab, words=[f"w{word}" for word in words])
    before = peak_memory_mb()
    start = time.perf_counter()
    nlp(doc)
    return {
        "system": system,
        "tokens": n_tokens,
        "labels": n_labels,
        "seconds": time.perf_counter() - start,
        "memory_mb": peak_memory_mb() - before,
    }


def main(
    models: str = typer.Option("span_biaffine", help="Names with commas"),
    tokens: str = typer.Option("1000,10000,100000", help="Lengths with commas"),
    labels: int = typer.Option(5, help="Number of labels"),
    encoder: str = typer.Option("cnn", help=f"One of {', '.join(ENCODERS)}"),
    output: Optional[Path] = typer.Option(None, help="JSON file to write"),
) -> None:
    """Show that time and memory grow linearly with the text."""
    results = [
        in_fresh_process(
            measure, model, n_tokens=n_tokens, n_labels=labels, encoder=encoder
        )
        for model in models.split(",")
        for n_tokens in map(int, tokens.split(","))
    ]
    rows = [
        (
            r["system"],
            f"{r['tokens']:,}",
            str(r["labels"]),
            f"{r['seconds']:.2f}",
            f"{1e6 * r['seconds'] / r['tokens']:.0f}",
            f"{r['memory_mb']:.0f}",
        )
        for r in results
    ]
    header = (
        "model",
        "tokens",
        "labels",
        "seconds",
        "µs a token",
        "MB above the pipeline",
    )
    print(table(rows, header=header, divider=True, aligns=("l", *"rrrrr")))
    if output is not None:
        write_json(output, results)


if __name__ == "__main__":
    typer.run(main)

"""Measure how time and memory grow with the text when a model doubts everything.

python benchmarks/doubt.py --labels 300 --tokens 25000,50000,100000

The models are not trained and report every span: their threshold is 0. Each document
is predicted in a process of its own. Twice the text should take twice the processor
time and twice the memory, whatever the model reports. Requires Linux.
"""

import random
import time
import warnings
from pathlib import Path
from typing import Any, Dict, Iterator, List, Optional

import spacy
import typer
from common import SPANS_KEY, build_pipeline, read_settings
from measuring import (
    forget_peak,
    in_fresh_process,
    peak_memory_mb,
    resident_mb,
    write_json,
)
from options import OUTPUT
from spacy.language import Language
from spacy.tokens import Doc
from wasabi import table

MODELS = "span_biaffine,span_locate_label,span_diffusion,span_offset"
HEADER = ("system", "sentence", "tokens", "spans", "seconds", "MB above", "s ×", "MB ×")
WARM_UP = 200  # tokens
N_WORDS = 5_000  # of the vocabulary


def build_untrained(
    system: str, n_labels: int, settings: Optional[Dict[str, Any]] = None
) -> Language:
    """RETURNS (Language): a pipeline with the weights that training starts from."""
    spacy.util.fix_random_seed(0)
    nlp = build_pipeline(system, "cnn", {"threshold": 0.0, **(settings or {})})
    for label in range(n_labels):
        nlp.get_pipe(system).add_label(f"LABEL{label}")  # type: ignore[attr-defined]
    nlp.initialize()
    return nlp


def random_doc(nlp: Language, n_tokens: int, sentence: int) -> Doc:
    """Write a document of words drawn at random.

    sentence (int): tokens of a sentence; 0 for a text without sentence boundaries.
    RETURNS (Doc): the document.
    """
    rng = random.Random(0)
    words = [f"word{rng.randrange(N_WORDS)}" for _ in range(n_tokens)]
    starts = [place % sentence == 0 for place in range(n_tokens)] if sentence else None
    return Doc(nlp.vocab, words=words, sent_starts=starts)


def measure(
    system: str,
    n_tokens: int,
    *,
    n_labels: int,
    sentence: int,
    settings: Optional[Dict[str, Any]] = None,
) -> Dict[str, Any]:
    """Predict a document with an untrained model.

    RETURNS (Dict[str, Any]): processor time, and memory on top of the pipeline's.
    """
    warnings.simplefilter("ignore")  # every document breaks the limits
    nlp = build_untrained(system, n_labels, settings)
    nlp(random_doc(nlp, WARM_UP, sentence))
    doc = random_doc(nlp, n_tokens, sentence)
    before = resident_mb()
    forget_peak()
    start = time.process_time()
    nlp(doc)
    return {
        "system": system,
        "sentence": sentence,
        "tokens": n_tokens,
        "spans": len(doc.spans[SPANS_KEY]),
        "seconds": time.process_time() - start,
        "memory_mb": peak_memory_mb() - before,
    }


def with_growth(rows: List[Dict[str, Any]]) -> Iterator[Dict[str, Any]]:
    """YIELDS (Dict[str, Any]): the rows of a system, with how many times as much time
    and memory they took as the one before.
    """
    last: Dict[str, Any] = {}
    for row in rows:
        names = ("seconds", "memory_mb")
        growth = {f"{name}_growth": row[name] / last[name] for name in names if last}
        yield {**row, **growth}
        last = row


def to_row(result: Dict[str, Any]) -> List[str]:
    """RETURNS (List[str]): the cells of a table row."""
    growth = [result.get(f"{name}_growth") for name in ("seconds", "memory_mb")]
    return [
        result["system"],
        str(result["sentence"] or "none"),
        f"{result['tokens']:,}",
        f"{result['spans']:,}",
        f"{result['seconds']:.1f}",
        f"{result['memory_mb']:,.0f}",
        *("" if factor is None else f"{factor:.2f}" for factor in growth),
    ]


def main(
    models: str = typer.Option(MODELS, help="Comma-separated names of systems"),
    labels: int = typer.Option(300, help="Number of labels"),
    tokens: str = typer.Option(
        "25000,50000,100000", help="Comma-separated document lengths"
    ),
    sentence: int = typer.Option(0, help="Tokens of a sentence; 0 for no boundaries"),
    settings: List[str] = typer.Option([], "--set", help="Setting, such as stride=16"),
    output: Optional[Path] = OUTPUT,
) -> None:
    """Measure the growth of time and memory with untrained models."""
    setup: Dict[str, Any] = {"n_labels": labels, "sentence": sentence}
    setup["settings"] = read_settings(settings)
    results: List[Dict[str, Any]] = []
    for system in models.split(","):
        rows = []
        for n_tokens in sorted(map(int, tokens.split(","))):
            rows.append(in_fresh_process(measure, system, n_tokens, **setup))
            print(" ".join(to_row(rows[-1])), flush=True)
        results += with_growth(rows)
    rows_shown = [to_row(row) for row in results]
    print(table(rows_shown, header=HEADER, divider=True, aligns=("l", *"rrrrrrr")))
    if output is not None:
        write_json(output, results, setup=setup)


if __name__ == "__main__":
    typer.run(main)

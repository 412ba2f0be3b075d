"""Check whether memory grows while many documents are evaluated.

python benchmarks/growth.py DATA --documents 50000

Each model is trained briefly and then scored repeatedly on new documents made from the
test split. It reaches its memory use with the first documents; after that, memory
should not grow. Requires Linux.
"""

from itertools import cycle
from pathlib import Path
from typing import Any, Dict, List, Optional, Sequence

import spacy
import typer
from common import read_corpus, to_examples
from measuring import in_fresh_process, resident_mb, write_json
from options import DATA, DATASET, ENCODER, OUTPUT, SYSTEMS
from runners import PipelineRunner, exhaust
from spacy.language import Language
from spacy.tokens import Doc
from texts import choose_texts
from wasabi import table

TRAINING_WORDS = 2_000
AT_ONCE = 1_000  # documents that exist at a time
HEADER = ("system", "documents", "MB after 10 %", "MB at the end", "growth")


def evaluate_many(
    nlp: Language, docs: Sequence[Doc], n_documents: int
) -> List[Dict[str, Any]]:
    """Score a pipeline on documents that are discarded afterwards.

    docs (Sequence[Doc]): annotated documents, repeated as often as needed.
    RETURNS (List[Dict[str, Any]]): the resident size after each thousand documents.
    """
    stream = cycle(docs)
    sizes = []
    for done in range(AT_ONCE, n_documents + 1, AT_ONCE):
        nlp.evaluate(to_examples([next(stream) for _ in range(AT_ONCE)]))
        sizes.append({"documents": done, "resident_mb": resident_mb()})
    return sizes


def measure(
    system: str, *, dataset: str, data: Path, encoder: str, n_documents: int
) -> Dict[str, Any]:
    """Train a system and evaluate many documents.

    RETURNS (Dict[str, Any]): the row of the table, and all sizes.
    """
    corpus = read_corpus(dataset, data, spacy.blank("en"))
    docs = choose_texts(corpus.train, "sentences", TRAINING_WORDS)
    runner = PipelineRunner(system, encoder, 8, 256)
    runner.start(docs)
    exhaust(runner.train(docs))
    short = choose_texts(corpus.test, "short", 10**9)
    sizes = evaluate_many(runner.nlp, short, n_documents)
    early = sizes[len(sizes) // 10]["resident_mb"]
    last = sizes[-1]["resident_mb"]
    return {
        "system": system,
        "documents": sizes[-1]["documents"],
        "early_mb": early,
        "last_mb": last,
        "growth_mb": last - early,
        "sizes": sizes,
    }


def to_row(result: Dict[str, Any]) -> List[str]:
    """RETURNS (List[str]): the cells of a table row."""
    numbers = [f"{result[key]:,.0f}" for key in ("documents", "early_mb", "last_mb")]
    return [result["system"], *numbers, f"{result['growth_mb']:+.1f}"]


def main(
    data: Path = DATA,
    dataset: str = DATASET,
    models: str = SYSTEMS,
    encoder: str = ENCODER,
    documents: int = typer.Option(50_000, help="Number of short sentences to evaluate"),
    output: Optional[Path] = OUTPUT,
) -> None:
    """Evaluate many documents with every model, each in its own process."""
    setup = {"dataset": dataset, "encoder": encoder, "n_documents": documents}
    results = []
    for system in models.split(","):
        results.append(in_fresh_process(measure, system, data=data, **setup))
        print(" ".join(to_row(results[-1])), flush=True)
    rows = [to_row(result) for result in results]
    print(table(rows, header=HEADER, divider=True, aligns=("l", *"rrrr")))
    if output is not None:
        write_json(output, results, setup=setup)


if __name__ == "__main__":
    typer.run(main)

"""Measure what the pictures of the documentation show, on the demo corpus.

python benchmarks/pictures.py training/mine/model-best training/tuned DATA

docs/get_started.md trains both pipelines. The results are written to docs/measured, and
docs/figures.py draws them.
"""

import json
from pathlib import Path
from typing import Any, Dict

import spacy
import typer
from common import SPANS_KEY
from measuring import describe_machine
from spacy.language import Language

from spacy_spanner import evaluate_pipeline

ROOT = Path(__file__).resolve().parents[1]
# A sentence of the test split.
TEXT = (
    "The president of the New Zealand Law Society wished the firm "
    '"calm seas and good passwords".'
)
ABOUT = (
    "span_locate_label with spaCy's HashEmbedCNN, trained for 1,000 steps on the demo "
    "corpus as docs/get_started.md describes, seed 0; scores on the test split."
)
COMMANDS = [
    "the commands of docs/get_started.md",
    "python benchmarks/pictures.py training/mine/model-best training/tuned "
    "corpus/demo/test.spacy",
]


def scores_of(nlp: Language, data: Path) -> Dict[str, Any]:
    """RETURNS (Dict[str, Any]): the scores of a pipeline."""
    found = evaluate_pipeline(nlp, data, name="pipeline", key=SPANS_KEY).metrics
    scores: Dict[str, Any] = found["scores"]
    return scores


def example(nlp: Language, text: str) -> Dict[str, Any]:
    """RETURNS (Dict[str, Any]): what a pipeline finds in a text."""
    doc = nlp(text)
    spans = [
        {
            "start": span.start,
            "end": span.end,
            "label": span.label_,
            "score": round(float(span._.score), 4),
        }
        for span in doc.spans[SPANS_KEY]
    ]
    words = [token.text for token in doc]
    spaces = [bool(token.whitespace_) for token in doc]
    return {"words": words, "spaces": spaces, "spans": spans}


def main(
    pipeline: str = typer.Argument(..., help="Trained pipeline"),
    tuned: str = typer.Argument(..., help="The same after spanner tune"),
    data: Path = typer.Argument(..., help="Test data"),
    text: str = typer.Option(TEXT, help="Text for the picture of spans"),
    folder: Path = typer.Option(ROOT / "docs" / "measured", help="Folder to write to"),
) -> None:
    """Measure and write."""
    before, after = spacy.load(pipeline), spacy.load(tuned)
    scores = {"as trained": scores_of(before, data), "tuned": scores_of(after, data)}
    names = ("f", "ece", "reliability")
    parts = {
        part: {name: found[name] for name in names} for part, found in scores.items()
    }
    by_length = scores["tuned"]["by_length"]
    results = {
        "reliability": {"parts": parts},
        "lengths": {"by_length": by_length},
        "example": example(after, text),
    }
    about = {"about": ABOUT, "commands": COMMANDS, "machine": describe_machine()}
    for name, result in results.items():
        content = json.dumps({**about, **result}, indent=1)
        (folder / f"{name}.json").write_text(content + "\n", encoding="utf8")


if __name__ == "__main__":
    typer.run(main)

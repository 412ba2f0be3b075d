"""F1 and time of an ensemble of trained pipelines, and of each of them alone.

python benchmarks/ensemble.py dev.spacy test.spacy MODEL MODEL MODEL

All are tuned on the dev data (temperature, threshold, and weights of the ensemble).
"""

import time
from pathlib import Path
from typing import Any, Dict, List, Optional

import spacy
import typer
from measuring import write_json
from options import OUTPUT
from spacy.language import Language
from wasabi import table

from spacy_spanner.evaluation.predicting import find_source, read_corpus
from spacy_spanner.evaluation.tuning import tune

OPEN = {"threshold": 0.05, "overlap": "any"}


def join_pipelines(paths: List[Path]) -> Language:
    """RETURNS (Language): the span components of pipelines, and an ensemble; other
    components are those of the first pipeline.
    """
    joined, members = spacy.load(paths[0]), []
    old = find_source(joined).name or ""
    joined.remove_pipe(old)
    for number, path in enumerate(paths):
        name = find_source(spacy.load(path)).name or ""
        member = f"{name}_{number}"
        config = {"components": {name: {**OPEN, "spans_key": member}}}
        source = spacy.load(path, config=config)
        joined.add_pipe(name, name=member, source=source)
        members.append(member)
    joined.add_pipe("span_ensemble", config={"members": members})
    return joined


def measure(nlp: Language, dev: Path, test: Path) -> Dict[str, Any]:
    """RETURNS (Dict[str, Any]): scores on both corpora after tuning, and the processor
    time that the test corpus takes.
    """
    found = tune(nlp, dev, test=test)
    texts = [eg.reference.text for eg in read_corpus(test, nlp)]
    start = time.process_time()
    for _ in nlp.pipe(texts):
        pass
    seconds = time.process_time() - start
    after = found["scores"]["after"]
    return {
        "settings": found["settings"]["after"],
        "seconds": seconds,
        **{f"{part}_{name}": after[part][name] for part in after for name in "prf"},
        "test_ece": after["test"]["ece"],
    }


def main(
    dev: Path = typer.Argument(..., help="Corpus to tune on"),
    test: Path = typer.Argument(..., help="Corpus to test on"),
    models: List[Path] = typer.Argument(..., help="Trained pipelines"),
    output: Optional[Path] = OUTPUT,
) -> None:
    """Compare an ensemble with its members."""
    results = []
    for path in models:
        nlp = spacy.load(path)
        results.append({"system": find_source(nlp).name, **measure(nlp, dev, test)})
    joined = measure(join_pipelines(list(models)), dev, test)
    results.append({"system": "span_ensemble", **joined})
    columns = ("dev_f", "test_p", "test_r", "test_f", "test_ece")
    rows = []
    for row in results:
        percent = [f"{100 * row[name]:.1f}" for name in columns[:-1]]
        rest = [f"{row[name]:.1f}" for name in ("test_ece", "seconds")]
        rows.append([row["system"], *percent, *rest])
    print(table(rows, header=("system", *columns, "seconds"), divider=True))
    print(f"weights: {joined['settings']['weights']}")
    if output is not None:
        write_json(output, results)


if __name__ == "__main__":
    typer.run(main)

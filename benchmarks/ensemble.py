"""F1 and time of an ensemble of trained pipelines, and of each of them alone.

python benchmarks/ensemble.py dev.spacy test.spacy MODEL MODEL MODEL
python benchmarks/ensemble.py dev.spacy test.spacy ENSEMBLE

A pipeline that has an ensemble is taken apart: its members are also measured alone.
All are tuned on the dev data (calibration, threshold, and weights of the ensemble).
"""

import time
from pathlib import Path
from typing import Any, Dict, Iterator, List, Optional, Tuple, cast

import spacy
import typer
from measuring import write_json
from options import OUTPUT
from spacy.language import Language
from wasabi import table

from spacy_spanner.evaluation.predicting import find_source, read_corpus
from spacy_spanner.evaluation.tuning import tune
from spacy_spanner.pipeline.ensemble import SpanEnsemble

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


def member_pipelines(path: Path) -> Iterator[Tuple[str, Language]]:
    """YIELDS (Tuple[str, Language]): each member of an ensemble with its encoder, as a
    pipeline that writes where the ensemble does.
    """
    whole = spacy.load(path)
    name = find_source(whole).name or ""
    settings = cast(SpanEnsemble, whole.get_pipe(name)).cfg
    for member in settings["members"]:
        others = [one for one in (*settings["members"], name) if one != member]
        alone = spacy.load(path, exclude=others)
        pipe: Any = alone.get_pipe(member)
        pipe.cfg.update({key: settings[key] for key in ("spans_key", "overlap")})
        yield member, alone


def is_ensemble(path: Path) -> bool:
    """RETURNS (bool): whether a pipeline writes the spans of an ensemble."""
    return isinstance(find_source(spacy.load(path)).pipe, SpanEnsemble)


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
    if len(models) == 1 and is_ensemble(models[0]):
        systems, joined = list(member_pipelines(models[0])), spacy.load(models[0])
    else:
        alone = [spacy.load(path) for path in models]
        systems = [(find_source(nlp).name or "", nlp) for nlp in alone]
        joined = join_pipelines(list(models))
    systems.append(("span_ensemble", joined))
    results = [{"system": name, **measure(nlp, dev, test)} for name, nlp in systems]
    columns = ("dev_f", "test_p", "test_r", "test_f", "test_ece")
    rows = []
    for row in results:
        percent = [f"{100 * row[name]:.1f}" for name in columns]
        rows.append([row["system"], *percent, f"{row['seconds']:.1f}"])
    print(table(rows, header=("system", *columns, "seconds"), divider=True))
    print(f"weights: {results[-1]['settings']['weights']}")
    if output is not None:
        write_json(output, results)


if __name__ == "__main__":
    typer.run(main)

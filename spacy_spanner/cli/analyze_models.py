"""The commands `spanner analyze …` that look at trained models and their errors."""

from pathlib import Path
from typing import Any, Dict, List, Optional

import typer
from spacy.util import load_model

from ..errors.plain import plain
from .analyze import (
    COMPONENT,
    MODELS,
    OUTPUT,
    analyze,
    component_and_key,
    show_table,
    write_analysis,
)
from .shell import CODE, DATA, GPU, KEY, MODEL, distinct_names, msg, ready, track

ANNOTATED = typer.Option(..., "--data", "-d", help="Annotated documents")


@analyze.command("classes")
def classes_cli(
    model: str = MODEL,
    data: Path = DATA,
    output: Optional[Path] = OUTPUT,
    component: str = COMPONENT,
    gpu_id: int = GPU,
    code_path: Optional[Path] = CODE,
) -> None:
    """Score the classes that are no labels: the offsets of span_offset."""
    from ..evaluation.analysis_tables import classes_table
    from ..evaluation.cell_classes import class_scores, count_cells
    from ..evaluation.predicting import read_corpus
    from ..evaluation.report.figures.scores import by_type_figure

    with ready(gpu_id, code_path, folder=output):
        nlp = load_model(model)
        name, key = component_and_key(nlp, component)
        found = count_cells(nlp, name, read_corpus(data, nlp, key))
        scores = class_scores(found)
        show_table(classes_table(scores))
        known = {name: row for name, row in scores.items() if row["f"] is not None}
        content = {"scores": scores, **found._asdict(), "counts": found.counts.tolist()}
        write_analysis(output, "classes", content, lambda _: by_type_figure(known))


@analyze.command("costs")
def costs_cli(
    models: List[str] = MODELS,
    data: Path = ANNOTATED,
    output: Optional[Path] = OUTPUT,
    component: str = COMPONENT,
    gpu_id: int = GPU,
    code_path: Optional[Path] = CODE,
) -> None:
    """Count the parameters of pipelines, and measure F1 and words per second."""
    from ..evaluation.analysis_tables import costs_table
    from ..evaluation.model_costs import model_costs
    from ..evaluation.predicting import read_corpus
    from ..evaluation.report.figures.analyses import costs_figure

    with ready(gpu_id, code_path, folder=output):
        found: Dict[str, Any] = {}
        for model, shown in zip(models, distinct_names(models)):
            nlp = load_model(model)
            name, key = component_and_key(nlp, component)
            found[shown] = model_costs(nlp, name, read_corpus(data, nlp, key))
        show_table(costs_table(found))
        write_analysis(output, "costs", found, costs_figure)


@analyze.command("cases")
def cases_cli(
    models: List[str] = MODELS,
    data: Path = ANNOTATED,
    output: Optional[Path] = OUTPUT,
    limit: int = typer.Option(10, "--limit", min=1, help="Number of sentences"),
    spans_key: Optional[str] = KEY,
    gpu_id: int = GPU,
    code_path: Optional[Path] = CODE,
) -> None:
    """Show sentences on which pipelines differ, with the spans of each and the gold."""
    from ..evaluation.analysis_tables import case_table
    from ..evaluation.cases import find_cases
    from ..evaluation.predicting import find_source, read_corpus, read_predictions

    with ready(gpu_id, code_path, folder=output):
        readings = {}
        for model, name in zip(models, distinct_names(models)):
            nlp = load_model(model)
            key = find_source(nlp, spans_key).key
            examples = read_corpus(data, nlp, key)
            readings[name] = read_predictions(nlp, examples, key, track=track)
        cases = find_cases(examples, readings, limit)
        for case in cases:
            msg.divider(f"document {case.doc}, token {case.start}")
            print(plain(case.text))
            show_table(case_table(case, list(readings)))
        if not cases:
            msg.good("The pipelines make no errors in these documents")
        content = [
            {**case._asdict(), "spans": [span._asdict() for span in case.spans]}
            for case in cases
        ]
        write_analysis(output, "cases", content)

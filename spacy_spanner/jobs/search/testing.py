"""Score the chosen settings on test data, once, after the choice is made."""

from pathlib import Path
from typing import Any, Dict

import srsly
from spacy.util import load_model

from ...errors import Errors
from ...evaluation.predicting import read_corpus
from ...files import write_json
from ..run.run_state import digest
from .experiments import scores_of
from .search import Found, Search, component_of
from .summaries import summarize
from .trials import MODEL, Trial

TEST = "test.json"


def score_test(search: Search, found: Found, test: Path) -> Dict[str, Any]:
    """Score the chosen pipelines of all seeds on test data.

    search (Search): what was searched.
    found (Found): what was chosen.
    test (Path): annotated documents.
    RETURNS (Dict[str, Any]): the settings, a `summary` and the `runs`; also in the
        folder, from where it is read if the same was scored before.
    RAISES (ValueError): SP139 where a pipeline is not there.
    """
    chosen = [one for one in found.trials if one.variant.name == found.best.variant]
    asked = {
        "settings": found.best.name,
        "trials": [trial.folder.name for trial in chosen],
        "test": digest(test),
    }
    path = search.output / TEST
    before = srsly.read_json(path) if path.exists() else {}
    if asked == {name: before.get(name) for name in asked}:
        return before
    for trial in chosen:
        if not (trial.folder / MODEL).exists():
            message = Errors.SP139.format(
                folder=trial.folder / MODEL, trial=trial.folder
            )
            raise ValueError(message)
    runs = [_score(trial, found, test) for trial in chosen]
    scored = {**asked, "summary": summarize(runs), "runs": runs}
    write_json(path, scored)
    return scored


def _score(trial: Trial, found: Found, test: Path) -> Dict[str, Any]:
    nlp = load_model(trial.folder / MODEL)
    pipe: Any = nlp.get_pipe(component_of(found))
    pipe.cfg.update(found.best.later)
    key = pipe.cfg["spans_key"]
    scores = scores_of(nlp, read_corpus(test, nlp, key), key)
    return {"overrides": trial.variant.overrides, "scores": {"test": scores}}

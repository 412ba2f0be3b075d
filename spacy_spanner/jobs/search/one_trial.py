"""One trial, from its folder to its result, on one machine or on a cluster."""

import os
from pathlib import Path
from typing import Any, Callable, Dict

import srsly
from spacy.cli._util import import_code, setup_gpu

from .experiments import Plan, train_variant, unwatched
from .trials import CONFIG, MODEL, TRIAL, Trial
from .variants import Variant


def run_trial(
    folder: Path, *, watch: Callable[[Dict[str, Any]], None] = unwatched
) -> Dict[str, Any]:
    """Train one trial; its last act is to write the result.

    folder (Path): of the trial.
    watch (Callable): is told the scores of each evaluation on the development data.
    RETURNS (Dict[str, Any]): the account of the training.
    """
    folder = folder.absolute()
    order = srsly.read_json(folder / TRIAL)
    os.chdir(order["folder"])
    setup_gpu(0 if order["gpu"] else -1, silent=True)
    import_code(order["code"])
    variant = Variant(order["name"], order["overrides"], order["later"])
    # The config holds all overrides already.
    plan = Plan(folder / CONFIG, {}, component=order["component"])
    result = train_variant(
        plan, variant._replace(overrides={}), watch=watch, keep=folder / MODEL
    )
    result["overrides"] = variant.overrides
    Trial(variant, folder).take_result(result)
    return result

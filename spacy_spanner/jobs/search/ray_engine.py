"""Run the trials of a search on a Ray cluster, with Ray Tune and ASHA.

All machines of the cluster must see the folder of the search: trials are read from it
and write their results to it, as on one machine. Ray chooses where each trial runs, and
ASHA stops unpromising ones early (Li et al. 2020, "A System for Massively Parallel
Hyperparameter Tuning").
"""

import os
import time
import traceback
from pathlib import Path
from typing import Any, Dict, NamedTuple, Optional, Sequence

from ..ray import cluster, require_ray
from .one_trial import AfterEach, Engine
from .trials import LOG, Trial


class TuneOptions(NamedTuple):
    """Where trials run, and which are stopped early.

    address (Optional[str]): of a cluster; "auto" for the one that this machine belongs
        to; None starts one here, unless RAY_ADDRESS names one.
    cpus, gpus (float): of each trial.
    grace (int): no trial is stopped before this step; 0 stops none.
    reduction (int): each time ASHA compares trials, one in so many continues.
    metric (str): of the history: "f", "p" or "r".
    """

    address: Optional[str] = None
    cpus: float = 1
    gpus: float = 0
    grace: int = 0
    reduction: int = 3
    metric: str = "f"


# More steps than any training has: ASHA would end trials there before they are scored.
NEVER = 10**9


def make_ray_engine(options: TuneOptions) -> Engine:
    """RETURNS (Engine): trains on a Ray cluster.
    RAISES (ValueError): SP123 where Ray Tune is not installed.
    """
    os.environ.setdefault("TUNE_DISABLE_AUTO_CALLBACK_LOGGERS", "1")
    ray = require_ray("tune")

    def run(trials: Sequence[Trial], after_each: AfterEach) -> None:
        if trials:
            with cluster(ray, options.address):
                _tuner(ray.tune, trials, options, after_each).fit()

    return run


def _tuner(
    tune: Any, trials: Sequence[Trial], options: TuneOptions, after_each: AfterEach
) -> Any:
    folders = {str(trial.folder.absolute()): trial for trial in trials}
    resources = {"cpu": options.cpus, "gpu": options.gpus}
    parent = trials[0].folder.absolute().parents[1]
    return tune.Tuner(
        tune.with_resources(train_on_ray, resources),
        param_space={"folder": tune.grid_search(list(folders))},
        tune_config=tune.TuneConfig(scheduler=_scheduler(options)),
        run_config=tune.RunConfig(
            # Finished trials are known without what Ray has noted of an earlier start.
            name=f"ray-{time.strftime('%Y%m%d-%H%M%S')}",
            storage_path=str(parent),
            verbose=0,
            callbacks=[_watcher(tune, folders, after_each)],
        ),
    )


def train_on_ray(config: Dict[str, Any]) -> None:
    """Train one trial, given by its `folder`, in a worker of Ray."""
    from ray import tune

    from .one_trial import run_alone

    folder = Path(config["folder"])
    try:
        run_alone(folder, watch=tune.report)
    except Exception:
        (folder / LOG).write_text(traceback.format_exc(), encoding="utf8")
        raise


def _scheduler(options: TuneOptions) -> Any:
    from ray.tune.schedulers import ASHAScheduler, FIFOScheduler

    if not options.grace:
        return FIFOScheduler()
    return ASHAScheduler(
        time_attr="step",
        metric=options.metric,
        mode="max",
        grace_period=options.grace,
        reduction_factor=options.reduction,
        max_t=NEVER,
    )


def _watcher(tune: Any, folders: Dict[str, Trial], after_each: AfterEach) -> Any:
    """RETURNS (tune.Callback): records trials that ASHA has stopped, and
    reports all that have ended."""

    class Watcher(tune.Callback):
        def on_trial_complete(
            self, iteration: int, trials: Any, trial: Any, **info: Any
        ) -> None:
            ours = folders[trial.config["folder"]]
            if ours.result() is None:
                row = trial.last_result
                ours.take_result(
                    {
                        "name": ours.variant.name,
                        "overrides": ours.variant.overrides,
                        "stopped": row["step"],
                        "scores": {"dev": {key: row[key] for key in "prf"}},
                        "seconds": row["time_total_s"],
                    }
                )
            after_each(ours)

        def on_trial_error(
            self, iteration: int, trials: Any, trial: Any, **info: Any
        ) -> None:
            after_each(folders[trial.config["folder"]])

    return Watcher()

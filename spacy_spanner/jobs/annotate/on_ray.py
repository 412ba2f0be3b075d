"""A Ray cluster: each part is a row of a dataset, each worker an actor of a pool.

Only the descriptions of parts and the reports travel through Ray. The workers read the
input and write the output themselves, in folders that all machines reach under the same
path: no machine holds the corpus, or sees all of it.
"""

import json
import logging
from typing import Any, Dict, List, NamedTuple, Optional, Sequence

from ..ray import cluster, require_ray
from .messages import Part, Report
from .worker import Job, Reports, work

# Each block of a dataset costs a task and some memory of the first machine.
MOST_BLOCKS = 10_000


class RayOptions(NamedTuple):
    """The pool of workers.

    address (Optional[str]): of the cluster; None for the one that Ray knows of, else
        one on this machine that ends with the run.
    least (int): workers to begin with, and to keep.
    most (Optional[int]): workers at most; None for as many as the cluster can hold.
    num_cpus (float): cores for each.
    num_gpus (float): GPUs for each; 0.5 lets two share one.
    """

    address: Optional[str] = None
    least: int = 1
    most: Optional[int] = None
    num_cpus: float = 1.0
    num_gpus: float = 0.0


class RayWorker:
    """The actor: loads the pipeline once, and works on parts.

    job (Job): what all parts need.
    """

    def __init__(self, job: Job) -> None:
        self._job = job

    def __call__(self, batch: Dict[str, Any]) -> Dict[str, List[str]]:
        """RETURNS (Dict[str, List[str]]): reports of the parts of a batch."""
        parts = [Part.of(json.loads(part)) for part in batch["part"]]
        return {"report": [json.dumps(work(self._job, part)) for part in parts]}


def run_on_ray(job: Job, parts: Sequence[Part], options: RayOptions) -> Reports:
    """Annotate parts on a cluster.

    YIELDS (Report): of each part, as they are finished.
    """
    ray = require_ray("data")
    with cluster(ray, options.address):
        for row in _dataset(ray, job, parts, options).iter_rows():
            yield Report(*json.loads(row["report"]))


def _dataset(ray: Any, job: Job, parts: Sequence[Part], options: RayOptions) -> Any:
    """RETURNS (Any): the reports, as a dataset that is computed while it is read."""
    # The command shows its own progress.
    logging.getLogger("ray.data").setLevel(logging.WARNING)
    context = ray.data.DataContext.get_current()
    context.enable_progress_bars = False
    context.print_on_execution_start = False
    rows = [{"part": json.dumps(part)} for part in parts]
    blocks = min(len(rows), MOST_BLOCKS)
    pool = ray.data.ActorPoolStrategy(min_size=options.least, max_size=options.most)
    return ray.data.from_items(rows, override_num_blocks=blocks).map_batches(
        RayWorker,
        fn_constructor_args=(job,),
        batch_size=1,
        compute=pool,
        num_cpus=options.num_cpus,
        num_gpus=options.num_gpus or None,
    )

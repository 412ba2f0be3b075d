"""Record the times of training steps.

parallel_training.py passes this file as `--code`, because the processes that it starts
cannot import from the folder of the benchmarks.
"""

import os
import time
from typing import Any, Callable, Dict, List, Optional

import srsly
from spacy.language import Language
from spacy.util import registry

TIMES = "BENCHMARK_TIMES"


@registry.loggers("benchmark.times.v1")
def make_time_logger(progress_bar: bool = False) -> Callable:
    """Record when each step ends and how many words it had.

    progress_bar (bool): not used; a setting of the logger that this one replaces.
    """

    def set_up(nlp: Language, stdout: Any, stderr: Any) -> Any:
        rows: List[List[float]] = []
        words = [0.0]

        def log(info: Optional[Dict[str, Any]]) -> None:
            if info is not None:
                words[0] = info["words"]
            rows.append([time.monotonic(), time.process_time(), words[0]])

        def write() -> None:
            srsly.write_json(os.environ[TIMES], rows)

        return log, write

    return set_up

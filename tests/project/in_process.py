"""Run scripts of the project in this process: starting Python and importing torch takes
longer than what most of them do.
"""

import io
import os
import random
import runpy
import sys
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any, Callable, Iterator, NamedTuple

import numpy as np
import pytest
import torch


class Done(NamedTuple):
    """What a script did: as of a process that has ended."""

    returncode: int
    stdout: str
    stderr: str


@contextmanager
def as_in_a_process() -> Iterator[None]:
    """Undo what a script changes for the whole process: arguments, environment, path,
    modules that lie beside scripts, random numbers and threads.
    """
    argv, path, modules = sys.argv, list(sys.path), set(sys.modules)
    environment, threads = dict(os.environ), torch.get_num_threads()
    states = random.getstate(), np.random.get_state(), torch.get_rng_state()
    try:
        yield
    finally:
        added = set(sys.path) - set(path)
        for name in set(sys.modules) - modules:
            file = getattr(sys.modules[name], "__file__", None)
            if file is not None and str(Path(file).parent) in added:
                del sys.modules[name]
        sys.argv, sys.path[:] = argv, path
        os.environ.clear()
        os.environ.update(environment)
        torch.set_num_threads(threads)
        random.setstate(states[0])
        np.random.set_state(states[1])
        torch.set_rng_state(states[2])


def run_script(path: Path, *arguments: object) -> Done:
    """Run a script as `python PATH ARGUMENTS` does, but in this process.

    RETURNS (Done): its exit code and output.
    """
    out, err = io.StringIO(), io.StringIO()
    code = 0
    with as_in_a_process(), redirect_stdout(out), redirect_stderr(err):
        sys.argv = [str(path), *map(str, arguments)]
        sys.path.insert(0, str(path.parent))
        with pytest.MonkeyPatch.context() as patch:
            import_measuring(path.parent, patch)
            try:
                runpy.run_path(str(path), run_name="__main__")
            except SystemExit as end:
                code = end.code if isinstance(end.code, int) else int(end.code or 0)
    return Done(code, out.getvalue(), err.getvalue())


def import_measuring(folder: Path, patch: pytest.MonkeyPatch) -> None:
    """Let a benchmark measure in this process, not in one of its own."""
    if not (folder / "measuring.py").exists():
        return
    import measuring

    patch.setattr(measuring, "in_fresh_process", call)


def call(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    return function(*args, **kwargs)

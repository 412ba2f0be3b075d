"""Measure time and memory, start fresh processes, and write results."""

import json
import multiprocessing
import os
import platform
import resource
import time
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, Callable, Dict, Optional

import torch

PACKAGES = ("spacy-spanner", "spacy", "thinc", "torch", "transformers", "numpy")


def clock() -> float:
    """Read the clock for speed measurements.

    RETURNS (float): with a single thread, processor time in seconds, which other
        programs affect little; with several threads, which wait for each other, wall
        clock time.
    """
    single = torch.get_num_threads() == 1
    return time.process_time() if single else time.perf_counter()


def peak_memory_mb() -> float:
    """RETURNS (float): the peak resident size of this process, since its start or since
    the last call of `forget_peak`.
    """
    path = Path("/proc/self/status")
    lines = path.read_text(encoding="ascii").splitlines() if path.exists() else []
    peaks = [float(line.split()[1]) for line in lines if line.startswith("VmHWM")]
    return (peaks or [resource.getrusage(resource.RUSAGE_SELF).ru_maxrss])[0] / 1024


def forget_peak() -> None:
    """Reset the peak to the current resident size. Only has an effect on Linux."""
    path = Path("/proc/self/clear_refs")
    if path.exists():
        path.write_text("5", encoding="ascii")


def resident_mb() -> float:
    """RETURNS (float): the current resident size of this process (Linux only)."""
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1024**2


def in_fresh_process(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Run a function in a new process with its own memory and caches.

    RETURNS (Any): the return value of the function.
    """
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return pool.apply(function, args, kwargs)


def describe_machine() -> Dict[str, Any]:
    """RETURNS (Dict[str, Any]): date, hardware and versions for the results."""
    pages = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return {
        "date": time.strftime("%Y-%m-%d"),
        "processor": _processor(),
        "cores": os.cpu_count(),
        "memory_gb": round(pages / 1024**3),
        "load": round(os.getloadavg()[0], 1),
        "threads": torch.get_num_threads(),
        "python": platform.python_version(),
        **{name: _version(name) for name in PACKAGES},
    }


def _processor() -> str:
    """RETURNS (str): the processor name from Linux, or else the machine type."""
    path = Path("/proc/cpuinfo")
    lines = path.read_text(encoding="utf8").splitlines() if path.exists() else []
    names = [line.split(":")[1] for line in lines if line.startswith("model name")]
    return names[0].strip() if names else platform.machine()


def _version(name: str) -> Optional[str]:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def write_json(path: Path, results: Any, **about: Any) -> None:
    """Write results together with a description of the machine.

    **about: additional information about the measurement, such as its set-up.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    content = {"machine": describe_machine(), **about, "results": results}
    path.write_text(json.dumps(content, indent=2) + "\n", encoding="utf8")

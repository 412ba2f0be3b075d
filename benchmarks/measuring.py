"""How all benchmarks measure: clocks, memory, fresh processes, and what they write."""

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
    """Read the time that a single-threaded measurement needs.

    RETURNS (float): seconds of the processor, which other programs disturb little. With
        several threads, which wait for each other, seconds on the wall.
    """
    single = torch.get_num_threads() == 1
    return time.process_time() if single else time.perf_counter()


def peak_memory_mb() -> float:
    """RETURNS (float): the largest resident size of this process, from its beginning or
    since `forget_peak`.
    """
    path = Path("/proc/self/status")
    lines = path.read_text(encoding="ascii").splitlines() if path.exists() else []
    peaks = [float(line.split()[1]) for line in lines if line.startswith("VmHWM")]
    return (peaks or [resource.getrusage(resource.RUSAGE_SELF).ru_maxrss])[0] / 1024


def forget_peak() -> None:
    """Let the peak begin at what is resident now. Does nothing but on Linux."""
    path = Path("/proc/self/clear_refs")
    if path.exists():
        path.write_text("5", encoding="ascii")


def resident_mb() -> float:
    """RETURNS (float): the resident size of this process, from Linux."""
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1024**2


def in_fresh_process(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Run a function in a new process, so that memory and caches are its own.

    RETURNS (Any): what the function returns.
    """
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return pool.apply(function, args, kwargs)


def describe_machine() -> Dict[str, Any]:
    """RETURNS (Dict[str, Any]): what the numbers depend on."""
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
    """RETURNS (str): the name that Linux gives, or what Python knows."""
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
    """Write results beside a description of the machine.

    **about: how the results were made.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    content = {"machine": describe_machine(), **about, "results": results}
    path.write_text(json.dumps(content, indent=2) + "\n", encoding="utf8")

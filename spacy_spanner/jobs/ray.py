"""Ray: the package, and a cluster to work on."""

import importlib
import logging
import os
import signal
import threading
from contextlib import contextmanager
from typing import Any, Iterator, Optional

from ..errors import Errors
from ..errors.install import install_command


def require_ray(library: str) -> Any:
    """RETURNS (Any): the package `ray`, with a library such as "data" imported.
    RAISES (ValueError): SP123 where it is not installed.
    """
    # Ray sends statistics of use, unless this is set before it is imported.
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    try:
        importlib.import_module(f"ray.{library}")
        return importlib.import_module("ray")
    except ImportError as error:
        message = Errors.SP123.format(
            what="The engine ray", package="ray", command=install_command("ray")
        )
        raise ValueError(message) from error


@contextmanager
def cluster(ray: Any, address: Optional[str] = None) -> Iterator[None]:
    """Work on a cluster: the one that this process has joined already, else the one of
    the address or of RAY_ADDRESS, else one on this machine.

    ray (Any): the package.
    address (Optional[str]): "auto" for the cluster that this machine belongs to.
    """
    joined = ray.is_initialized()
    if not joined:
        _join(ray, address or os.environ.get("RAY_ADDRESS"))
    try:
        yield
    finally:
        if not joined:
            ray.shutdown()


def _join(ray: Any, address: Optional[str]) -> None:
    """Join a cluster, or start one on this machine."""
    # A cluster that exists refuses options of a new one.
    options = {} if address else {"include_dashboard": False}
    handler = signal.getsignal(signal.SIGTERM)
    ray.init(
        address=address, log_to_driver=False, logging_level=logging.WARNING, **options
    )
    # Ray ends the process at once, which is better than the default, but not than a
    # handler of the command.
    on_main_thread = threading.current_thread() is threading.main_thread()
    if on_main_thread and handler is not signal.SIG_DFL:
        signal.signal(signal.SIGTERM, handler)

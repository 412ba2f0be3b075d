"""Torch in the children of a process that forks, as for `nlp.pipe(n_process=2)`."""

import os

import torch


def one_thread_after_fork() -> None:
    """Keep the children of this process from hanging.

    Under fork, libgomp's worker threads do not survive in the child, and the first
    parallel torch operation there would wait for them for ever.
    """
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=_use_one_thread)


def _use_one_thread() -> None:
    torch.set_num_threads(1)

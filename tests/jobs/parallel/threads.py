"""Several processes of a training, played by threads that wait for each other."""

import threading
from concurrent.futures import ThreadPoolExecutor
from copy import deepcopy
from typing import Any, Callable, List, Sequence

import torch
from torch import Tensor


class Board:
    """Where the threads of a team write what they have to say."""

    def __init__(self, size: int) -> None:
        self.barrier = threading.Barrier(size, timeout=60)
        self.said: List[Any] = [None] * size


class ThreadTeam:
    """Answers as `team.Team` does."""

    def __init__(self, board: Board, rank: int) -> None:
        self.board = board
        self.rank = rank
        self.size = len(board.said)

    def gather(self, value: Any) -> List[Any]:
        self.board.said[self.rank] = deepcopy(value)  # as if it were sent
        self.board.barrier.wait()
        found = list(self.board.said)
        self.board.barrier.wait()
        return found

    def total(self, count: int) -> int:
        return sum(self.gather(count))

    def any_of(self, flags: Sequence[bool]) -> List[bool]:
        return [any(column) for column in zip(*self.gather(list(flags)))]

    def first(self, value: Any) -> Any:
        return self.gather(value)[0]

    def add_up(self, tensors: Sequence[Tensor]) -> None:
        for tensor in tensors:
            shares = self.gather(tensor.clone())
            tensor.copy_(torch.stack(shares).sum(dim=0))


def in_threads(size: int, work: Callable[[ThreadTeam], Any]) -> List[Any]:
    """Let every member of a team do the same work."""
    board = Board(size)

    def guarded(rank: int) -> Any:
        try:
            return work(ThreadTeam(board, rank))
        except BaseException:
            board.barrier.abort()  # or the others would wait
            raise

    with ThreadPoolExecutor(size) as pool:
        done = [pool.submit(guarded, rank) for rank in range(size)]
    errors = [one.exception() for one in done]
    for error in errors:
        if error is not None and not isinstance(error, threading.BrokenBarrierError):
            raise error
    return [one.result() for one in done]

"""The processes of a training, connected by torch.distributed."""

import os
from contextlib import contextmanager
from datetime import timedelta
from typing import Any, Iterator, List, Sequence

import torch
import torch.distributed as dist
from torch import Tensor

from ...errors import Errors

# While one process evaluates or saves, the others wait, however long it takes. One
# that dies is noticed at once, because its connections close.
PATIENCE = timedelta(days=7)
# Larger tensors are reduced in place, smaller ones are sent together.
LARGE = 2**16


@contextmanager
def _explained() -> Iterator[None]:
    """Explain a broken connection.

    RAISES (ConnectionError): SP132.
    """
    try:
        yield
    except RuntimeError as error:
        rank = os.environ.get("RANK", "0")
        problem = str(error).splitlines()[0]
        message = Errors.SP132.format(rank=rank, problem=problem)
        raise ConnectionError(message) from error


class Team:
    """One process among several.

    Tensors are exchanged with NCCL on GPUs and gloo on CPUs, everything else with gloo.
    """

    @_explained()
    def __init__(self) -> None:
        """Connect to the other processes that torchrun has started.

        RAISES (ValueError): SP130 without torchrun.
        """
        if "RANK" not in os.environ:
            raise ValueError(Errors.SP130.format(variable="RANK"))
        if torch.cuda.is_initialized():
            device = torch.device("cuda", torch.cuda.current_device())
            dist.init_process_group("nccl", timeout=PATIENCE, device_id=device)
            self._messages = dist.new_group(backend="gloo", timeout=PATIENCE)
        else:
            dist.init_process_group("gloo", timeout=PATIENCE)
            self._messages = dist.group.WORLD

    @property
    def rank(self) -> int:
        """The number of this process, from 0."""
        return dist.get_rank()

    @property
    def size(self) -> int:
        """The number of processes."""
        return dist.get_world_size()

    @_explained()
    def total(self, count: int) -> int:
        """RETURNS (int): the sum over all processes."""
        numbers = torch.tensor([count])
        dist.all_reduce(numbers, group=self._messages)
        return int(numbers)

    @_explained()
    def any_of(self, flags: Sequence[bool]) -> List[bool]:
        """RETURNS (List[bool]): for each flag, whether it is set in any process."""
        numbers = torch.tensor(flags, dtype=torch.uint8)
        dist.all_reduce(numbers, dist.ReduceOp.MAX, group=self._messages)
        return [bool(number) for number in numbers.tolist()]

    @_explained()
    def gather(self, value: Any) -> List[Any]:
        """RETURNS (List[Any]): the values of all processes, in order."""
        values = [None] * self.size
        dist.all_gather_object(values, value, group=self._messages)
        return values

    @_explained()
    def first(self, value: Any) -> Any:
        """RETURNS (Any): the value of the first process; the others wait for it."""
        values = [value]
        dist.broadcast_object_list(values, src=0, group=self._messages)
        return values[0]

    @_explained()
    def take_first(self, tensors: Sequence[Tensor]) -> None:
        """Set tensors, in place, to their values in the first process."""
        for tensor in tensors:
            dist.broadcast(tensor, src=0)

    @_explained()
    def add_up(self, tensors: Sequence[Tensor]) -> None:
        """Set tensors, in place, to the sum of their values over all processes."""
        large = [one for one in tensors if one.numel() >= LARGE and one.is_contiguous()]
        alone = {id(one) for one in large}
        small = [one for one in tensors if id(one) not in alone]
        joined = [torch.cat([one.reshape(-1) for one in small])] if small else []
        for work in [dist.all_reduce(x, async_op=True) for x in [*large, *joined]]:
            work.wait()
        sizes = [one.numel() for one in small]
        for one, part in zip(small, joined[0].split(sizes) if joined else ()):
            one.copy_(part.view_as(one))

    def leave(self) -> None:
        """Close the connections."""
        dist.destroy_process_group()

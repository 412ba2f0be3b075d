"""How a batch is divided among processes."""

from typing import List, Sequence


def split_evenly(sizes: Sequence[int], n_parts: int) -> List[List[int]]:
    """Divide items so that all parts are about equally large.

    The largest item that is left goes to the part that has the least so far; of equals,
    the first.

    sizes (Sequence[int]): of each item, at least 0.
    n_parts (int): at least 1.
    RETURNS (List[List[int]]): indices of the items of each part, in their order. Parts
        differ by no more than the largest item; some may be empty.
    """
    parts: List[List[int]] = [[] for _ in range(n_parts)]
    loads = [(0, 0)] * n_parts  # size, and number of items
    for index in sorted(range(len(sizes)), key=lambda i: -sizes[i]):
        part = min(range(n_parts), key=loads.__getitem__)
        parts[part].append(index)
        size, n_items = loads[part]
        loads[part] = (size + sizes[index], n_items + 1)
    return [sorted(part) for part in parts]

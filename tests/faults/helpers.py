"""What stored pipelines predict, and disks that are full."""

import resource
from contextlib import contextmanager
from typing import Callable, Iterator, List

from spacy.language import Language

from ..helpers import Scored, predict_nested, scored_spans

Count = Callable[..., None]


def predictions(nlp: Language) -> List[List[Scored]]:
    return [scored_spans(doc) for doc in predict_nested(nlp)]


@contextmanager
def full_disk(n_bytes: int) -> Iterator[None]:
    """Let every file end after some bytes, as on a disk that is full."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (n_bytes, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)

"""Fixtures that all tests may use."""

from typing import Iterator

import pytest
import torch
from spacy.language import Language

from .helpers import FACTORIES, trained, trained_copy


@pytest.fixture(autouse=True, scope="session")
def one_torch_thread() -> Iterator[None]:
    """Keep threads of tiny operations from waiting for each other on busy machines."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(params=FACTORIES)
def factory(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture
def nlp(factory: str) -> Language:
    """A trained pipeline, shared by the session: not to be changed."""
    return trained(factory)


@pytest.fixture
def own_nlp(factory: str) -> Language:
    """A trained pipeline of the test's own."""
    return trained_copy(factory)

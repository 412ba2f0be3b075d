"""The plan of a search whose trainings are short."""

import pytest

from spacy_spanner.jobs.search.trials import Plan

from ...runs import make_config, write_corpus
from .helpers import SHORT


@pytest.fixture(scope="module")
def plan(tmp_path_factory: pytest.TempPathFactory) -> Plan:
    folder = tmp_path_factory.mktemp("plan")
    corpus = write_corpus(folder / "corpus.spacy")
    make_config(corpus, SHORT).to_disk(folder / "config.cfg")
    return Plan(folder / "config.cfg", {})

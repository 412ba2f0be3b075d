"""Fixtures that all tests may use."""

import os
from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any, Callable, Iterator

import pytest
import torch
from catalogue import Registry
from spacy.lang.en import English
from spacy.language import Language

from .generated import counting, register_profiles
from .helpers import FACTORIES, trained, trained_copy

TRIED = "cases tried"
EXCEPTIONS = English.Defaults.tokenizer_exceptions

register_profiles()


@pytest.hookimpl(optionalhook=True)  # the tests also run without xdist
def pytest_xdist_auto_num_workers(config: pytest.Config) -> int:
    """RETURNS (int): workers of `-n auto`: one more than cores, because tests wait for
    processes that they start. A worker that has nothing left takes tests from others,
    which a test of minutes may keep.
    """
    if config.option.dist == "no":
        config.option.dist = "worksteal"
    return (os.cpu_count() or 1) + 1


@pytest.fixture(autouse=True, scope="session")
def one_torch_thread() -> Iterator[None]:
    """Keep threads of tiny operations from waiting for each other on busy machines."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(autouse=True, scope="session")
def quick_pipelines() -> Iterator[None]:
    """Make pipelines in a third of the time, which most tests spend on little else.

    Entry points are read once for each registry, and the tokenizer of English knows no
    exceptions such as "don't", of which spaCy has more than a thousand.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Registry, "_get_entry_points", cache(Registry._get_entry_points))
        patch.setattr(English.Defaults, "tokenizer_exceptions", {})
        yield


@pytest.fixture
def whole_english(monkeypatch: pytest.MonkeyPatch) -> None:
    """Give English its exceptions back, for code of the documentation."""
    monkeypatch.setattr(English.Defaults, "tokenizer_exceptions", EXCEPTIONS)


@pytest.fixture
def tried(request: pytest.FixtureRequest) -> Iterator[Callable[[str], None]]:
    """Counts cases of a kind, which the summary of the tests adds up."""
    counts: Counter = Counter()

    def count(kind: str, n_cases: int = 1) -> None:
        counts[kind] += n_cases

    yield count
    # Reports carry these properties from other processes, too.
    request.node.user_properties.append((TRIED, dict(counts)))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    """Count generated cases, too."""
    with counting(getattr(item, "obj", None)) as counts:
        try:
            return (yield)
        finally:
            item.user_properties.append((TRIED, dict(counts)))


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Print how many cases were tried, by kind."""
    total: Counter = Counter()
    for reports in terminalreporter.stats.values():
        for report in reports:
            if getattr(report, "when", None) == "teardown":
                for name, counts in report.user_properties:
                    total.update(counts if name == TRIED else {})
    if total:
        kinds = [f"{total[kind]:,} {kind}" for kind in sorted(total)]
        terminalreporter.write_line(f"Cases tried: {', '.join(kinds)}")


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


@pytest.fixture(scope="session")
def tiny_bert(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A randomly initialized encoder of two layers, with a vocabulary of letters.

    It has no dropout, and weights large enough for words to influence each other.
    """
    transformers = pytest.importorskip("transformers")
    folder = tmp_path_factory.mktemp("bert")
    letters = [chr(code) for code in range(33, 127)]
    pieces = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *letters]
    pieces += [f"##{letter}" for letter in letters]
    (folder / "vocab.txt").write_text("\n".join(pieces), encoding="utf8")
    tokenizer = transformers.BertTokenizerFast(str(folder / "vocab.txt"))
    tokenizer.save_pretrained(folder)
    config = transformers.BertConfig(
        vocab_size=len(pieces),
        hidden_size=16,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=16,
        hidden_dropout_prob=0.0,
        attention_probs_dropout_prob=0.0,
        initializer_range=0.5,
    )
    with torch.random.fork_rng():
        torch.manual_seed(0)
        transformers.BertModel(config).save_pretrained(folder)
    return folder

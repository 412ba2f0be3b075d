"""Every code block of the documentation runs, or says that it is output."""

import re
from configparser import ConfigParser
from pathlib import Path

import pytest
import spacy
import yaml
from spacy.tokens import DocBin
from spacy.util import registry

from ..helpers import make_examples, train
from .code_blocks import PAGES, ROOT, Block, blocks_of, check_command, commands_of
from .test_public_names import COLUMNS, TEXTS

pytestmark = pytest.mark.usefixtures("whole_english")

# Pipelines that examples load, by factory.
TRAINED = {
    "span_offset": ("mine/model-best", "tuned", "offset/model-best"),
    "span_biaffine": ("biaffine/model-best",),
}
# Code, and the languages of output and of data.
RUNNING = {"python", "bash"}
OTHERS = {"ini", "yaml", "json", "text", "xml", "pycon", "html", "dockerfile"}
BLOCKS = [block for page in PAGES for block in blocks_of(page)]
# Pages whose Python other tests run, or whose calls they make: as one program, with a
# server that only they have.
ELSEWHERE = {
    "add_a_model.md": "tests/models/test_add_a_model.py",
    "scaling.md": "tests/jobs/annotate/test_docs.py",
    "guides": "tests/project/test_guides.py",
    "serving.md": "tests/jobs/serve/test_plain_json.py",
}


def of(language: str) -> list:
    """The blocks of a language, with the names of their tests."""
    found = [block for block in BLOCKS if block.language == language]
    names = [f"{block.page.stem}-{place}" for place, block in enumerate(found)]
    return [pytest.param(block, id=name) for block, name in zip(found, names)]


def runs_elsewhere(page: Path) -> bool:
    return page.name in ELSEWHERE or page.parent.name in ELSEWHERE


@pytest.fixture(scope="module")
def workplace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files that examples read: trained pipelines and corpora."""
    folder = tmp_path_factory.mktemp("blocks")
    for factory, names in TRAINED.items():
        nlp = spacy.blank("en")
        nlp.add_pipe(factory)
        examples = make_examples(nlp, TEXTS)
        train(nlp, examples, updates=40)
        for name in names:
            path = folder / "training" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            nlp.to_disk(path)
    DocBin(docs=[one.reference for one in examples]).to_disk(folder / "dev.spacy")
    (folder / "train.iob2").write_text(COLUMNS, encoding="utf8")
    return folder


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_blocks_say_what_they_are(page: Path) -> None:
    languages = {block.language for block in blocks_of(page)}
    assert languages - RUNNING - OTHERS == set()
    assert page.read_text(encoding="utf8").count("```") == 2 * len(blocks_of(page))


@pytest.mark.parametrize("block", of("python"))
def test_python_runs(
    block: Block, workplace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    code = compile(block.code, block.page.name, "exec")
    # A block that imports nothing is a part of a program that the reader has.
    is_part = "import" not in block.code
    if is_part or runs_elsewhere(block.page):
        return  # it compiles; the rest is in the test that ELSEWHERE names
    monkeypatch.chdir(workplace)
    exec(code, {"__name__": "page"})


def test_other_tests_run_what_is_left_out_here() -> None:
    for page, test in ELSEWHERE.items():
        exists = (ROOT / "docs" / page).exists()
        assert (ROOT / test).is_file() or not exists, test


@pytest.mark.parametrize("block", of("bash"))
def test_commands_exist_and_take_their_options(block: Block) -> None:
    commands = list(commands_of(block.code))
    assert commands
    for words in commands:
        check_command(words)
        configs = [word for word in words if word.startswith("configs/")]
        assert [word for word in configs if not (ROOT / word).exists()] == []


@pytest.mark.parametrize(
    "line",
    [
        "python -m spacy spanner evalute m d",
        "python -m spacy spanner evaluate m d --outptu x",
        "python -m spacy spanner evaluate m",
        "python -m spacy train c.cfg --outputs x",
        "python -m spacy project run all . --vars.modl biaffine",
        "python benchmarks/accuracy.py DATA --epoch 3",
        "python benchmarks/no_such.py",
        "spacyy train",
    ],
)
def test_wrong_commands_are_noticed(line: str) -> None:
    (words,) = commands_of(line)
    with pytest.raises(Exception, match=r".+"):
        check_command(words)


@pytest.mark.parametrize("block", of("yaml"))
def test_yaml_can_be_read(block: Block) -> None:
    assert yaml.safe_load(block.code)


@pytest.mark.parametrize("block", of("ini"))
def test_parts_of_configs_can_be_read_and_name_what_is_registered(block: Block) -> None:
    parser = ConfigParser(interpolation=None, allow_no_value=True)
    parser.read_string(block.code)
    assert parser.sections()
    pattern = r'@(\w+) = "(spacy_spanner\.[\w.]+)"'
    for kind, name in re.findall(pattern, block.code):
        assert registry.has(kind, name), name

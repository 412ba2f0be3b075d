"""Configs to start from: complete, commented, and they train."""

import io
import shlex
import shutil
from itertools import pairwise
from pathlib import Path
from typing import Any, Dict, List

import pytest
import spacy
import torch
from spacy.cli.train import train as spacy_train
from spacy.tokens import DocBin
from spacy.training.initialize import init_nlp
from spacy.training.loop import train
from spacy.util import load_config_from_str
from thinc.api import Config

from spacy_spanner.jobs.run.checkpoint import last_checkpoint
from spacy_spanner.preflight.config_text import TRAINING, capitalized, write_config
from spacy_spanner.preflight.starter_config import Wishes, build_config, find_factory

from ..cli.helpers import invoke, run
from ..helpers import FACTORIES, NESTED, make_examples


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("corpus") / "train.spacy"
    docs = [eg.reference for eg in make_examples(spacy.blank("en"), NESTED)]
    DocBin(docs=docs).to_disk(path)
    return str(path)


def text_of(**wishes: Any) -> str:
    wanted = Wishes(**{"model": "span_biaffine", **wishes})
    return write_config(build_config(wanted), wanted.heading("config.cfg"))


@pytest.mark.parametrize("model", FACTORIES)
@pytest.mark.parametrize("encoder", ["cnn", "minilm", "some/name"])
@pytest.mark.parametrize("gpu", [False, True])
def test_config_reads_back_as_it_was(model: str, encoder: str, gpu: bool) -> None:
    wishes = Wishes(model, encoder=encoder, gpu=gpu)
    text = write_config(build_config(wishes), wishes.heading("config.cfg"))
    expected = Config(build_config(wishes)).to_bytes(interpolate=False)
    read = load_config_from_str(text)
    assert Config().from_bytes(expected).interpolate() == read.interpolate()


@pytest.mark.parametrize("model", FACTORIES)
def test_config_explains_every_setting_of_the_component(model: str) -> None:
    lines = text_of(model=model, encoder="minilm").splitlines()
    section, bare = "", []
    for before, line in pairwise(lines):
        if line.startswith("["):
            section = line
        mine = section.startswith(f"[components.{model}") and " = " in line
        known = line.startswith(("@", "factory", "#"))
        if mine and not known and not before.startswith("# "):
            bare.append(line)
    assert bare == []
    assert max(map(len, lines)) <= 110


@pytest.mark.parametrize("model", FACTORIES)
@pytest.mark.parametrize("encoder", ["cnn", "bert"])
@pytest.mark.parametrize("window", ["sentence", "strided"])
def test_config_trains(
    model: str, encoder: str, window: str, corpus: str, tiny_bert: Path, tmp_path: Path
) -> None:
    name = str(tiny_bert) if encoder == "bert" else encoder
    text = text_of(model=model, encoder=name, window=window, steps=2, spans_key="ents")
    overrides = {"paths.train": corpus, "paths.dev": corpus}
    overrides["training.eval_frequency"] = 1
    nlp = init_nlp(load_config_from_str(text, overrides=overrides))
    train(nlp, tmp_path, stdout=io.StringIO(), stderr=io.StringIO())
    loaded = spacy.load(tmp_path / "model-last")
    assert loaded.pipe_names == ["sentencizer"] * (window == "sentence") + [model]
    assert loaded.meta["notes"].startswith("## Spans")
    weights = loaded.config["training"]["score_weights"]
    assert {name for name, weight in weights.items() if weight} == {"spans_ents_f"}


def test_config_of_wishes() -> None:
    text = text_of(labels=["A", "B"], lang="zh", gpu=True, spans_key="sc", steps=77)
    config = load_config_from_str(text).interpolate()
    assert config["initialize"]["components"]["span_biaffine"]["labels"] == ["A", "B"]
    assert config["nlp"]["lang"] == "zh"
    assert "zh" in config["nlp"]["tokenizer"]["@tokenizers"]
    assert config["system"]["gpu_allocator"] == "pytorch"
    assert config["components"]["span_biaffine"]["spans_key"] == "sc"
    assert config["training"]["score_weights"]["spans_sc_f"] == 1.0
    assert config["training"]["max_steps"] == 77


def overwrite(block: Any) -> None:
    """Change every value in a config."""
    for key, value in block.items():
        if isinstance(value, dict):
            overwrite(value)
        else:
            block[key] = "changed"


@pytest.mark.parametrize("encoder", ["cnn", "minilm"])
def test_changed_config_changes_no_other(encoder: str) -> None:
    wishes = Wishes("biaffine", encoder=encoder, labels=["A"], checkpoint=True)
    before = build_config(wishes).to_str(interpolate=False)
    overwrite(build_config(wishes))
    assert build_config(wishes).to_str(interpolate=False) == before


def test_config_can_be_trained_by_copying_one_line() -> None:
    wishes = Wishes("span_biaffine", gpu=True)
    text = write_config(build_config(wishes), wishes.heading("a_long_name.cfg"))
    (line,) = [line for line in text.splitlines() if "-m spacy train" in line]
    assert line == (
        "# python -m spacy train a_long_name.cfg --output training "
        "--paths.train train.spacy --paths.dev dev.spacy --gpu-id 0"
    )


def test_config_says_that_a_batch_is_cut() -> None:
    lines = text_of().splitlines()
    place = lines.index("accumulate_gradient = 1")
    assert lines[place - 1] == "# " + TRAINING["training"]["accumulate_gradient"]
    assert "a batch is cut" in lines[place - 1]


@pytest.mark.parametrize("steps", [1, 9, 100, 101, 997, 4000, 20_011])
@pytest.mark.parametrize("encoder", ["cnn", "minilm"])
def test_config_evaluates_its_last_step(steps: int, encoder: str) -> None:
    config = build_config(
        Wishes("biaffine", encoder=encoder, steps=steps)
    ).interpolate()
    training = config["training"]
    most, frequency = training["max_steps"], training["eval_frequency"]
    assert most % frequency == training["patience"] % frequency == 0
    assert steps <= most <= steps + steps // 100 + 1
    assert min(steps, 5) <= most // frequency <= max(10, steps // 70)
    schedule = training["optimizer"].get("head", {})
    assert schedule.get("total_steps", most) == most


@pytest.mark.parametrize(
    "lang, expected",
    [("en", True), ("ru", True), ("el", True), ("zh", False)],
)
def test_config_embeds_parts_of_words_where_there_are_letters(
    lang: str, expected: bool
) -> None:
    config = build_config(Wishes("biaffine", lang=lang))
    encoder = config["components"]["span_biaffine"]["model"]["tok2vec"]
    assert encoder["subword_features"] is expected


def test_config_of_a_language_whose_tokenizer_is_missing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fail(lang: str) -> None:
        raise ImportError("Install sudachipy.")

    monkeypatch.setattr(spacy, "blank", fail)
    with pytest.raises(ValueError, match=r"SP084.*'ja'.*Install sudachipy"):
        build_config(Wishes("biaffine", lang="ja"))


@pytest.mark.parametrize("model", FACTORIES)
def test_comments_keep_symbols_as_they_are(model: str) -> None:
    lines = text_of(model=model).splitlines()
    first = [line[2:].split()[0] for line in lines if line.startswith("# ")]
    assert not [word for word in first if not word.isascii() and word[0].isupper()]
    assert capitalized("λ1, λ2, λ3 of the losses.") == "λ1, λ2, λ3 of the losses."
    assert capitalized("k, the lowest one.") == "k, the lowest one."
    assert capitalized("a span is kept") == "A span is kept"


def test_run_of_a_config_with_checkpoints_can_be_resumed(
    corpus: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The commands of the heading, as they are written."""
    monkeypatch.chdir(tmp_path)
    for name in ("train.spacy", "dev.spacy"):
        shutil.copy(corpus, name)
    words = ("--lang", "xx", "--steps", 3, "--window", "doc", "--checkpoint")
    printed = run("init-config", "my config.cfg", *words)
    *_, check, train, resume = [
        shlex.split(line.removeprefix("python -m spacy "))
        for line in printed.splitlines()
        if line.startswith("python -m spacy ")
    ]
    assert [check[1], train[0], resume[1]] == ["debug-data", "train", "resume"]
    run(*check[1:], code=1)  # dev and train are the same
    spacy_train(Path(train[1]), Path(train[3]), overrides=overrides_of(train[4:]))
    assert last_checkpoint(Path("training/checkpoint")) is not None
    more = run(*resume[1:], "--training.max_steps", 5)
    assert "Resuming at epoch 3, step 3" in more
    assert Path("training/model-best").exists()


def overrides_of(words: List[str]) -> Dict[str, str]:
    return {key.strip("-"): value for key, value in zip(words[::2], words[1::2])}


def test_config_of_an_unknown_model_or_window() -> None:
    spacy.blank("en")
    assert find_factory("biaffine") == "span_biaffine"
    with pytest.raises(ValueError, match=r"SP076.*'x'.*span_biaffine"):
        find_factory("x")
    with pytest.raises(ValueError, match=r"SP002.*window"):
        build_config(Wishes("biaffine", window="page"))


def test_command_writes_a_file_or_prints(tmp_path: Path) -> None:
    path = tmp_path / "config.cfg"
    run("init-config", path, "--model", "biaffine", "--labels", "A, B")
    text = path.read_text(encoding="utf8")
    assert 'labels = ["A", "B"]' in text
    assert "python -m spacy train config.cfg" in text
    assert "SP070" in run("init-config", path, code=1)
    assert "SP076" in run("init-config", path, "-m", "x", "--force", code=1)
    assert "E048" in run("init-config", path, "-l", "xyz", "--force", code=1)
    assert path.read_text(encoding="utf8") == text
    assert "spacy train -" not in run("init-config", "-")
    printed = run("init-config", "-", "--model", "biaffine", "--labels", "A, B")
    assert load_config_from_str(printed) == load_config_from_str(text)


def test_command_warns_of_an_english_encoder(tmp_path: Path) -> None:
    for lang, encoder, warns in [
        ("ru", "minilm", True),
        ("en", "minilm", False),
        ("ru", "cnn", False),
    ]:
        done = invoke("init-config", "-", "-l", lang, "-e", encoder)
        assert done.exit_code == 0
        assert ("[SW073]" in done.stderr) is warns
        assert "SW073" not in done.stdout
        assert "--encoder cnn" in done.stderr or not warns


@pytest.mark.parametrize("capability,expected", [((7, 5), False), ((8, 0), True)])
def test_mixed_precision_only_where_the_gpu_has_bfloat16(
    capability: Any, expected: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda _: capability)
    config = build_config(Wishes("span_biaffine", encoder="minilm", gpu=True))
    block = config["components"]["span_biaffine"]
    assert block["model"]["tok2vec"]["mixed_precision"] is expected

"""Every config resolves, trains one step, and the workflow's bookkeeping is honest."""

import importlib
import sys
from pathlib import Path
from typing import Any, Dict, Iterator, List

import pytest
import spacy
import srsly
import typer
from spacy.tokens import DocBin
from spacy.training.initialize import init_nlp
from spacy.util import load_config, resolve_dot_names

ROOT = Path(__file__).parents[2]
CONFIGS = sorted((ROOT / "configs").rglob("*.cfg"))
PROJECT: Dict[str, Any] = srsly.read_yaml(ROOT / "project.yml")
COMMANDS: List[Dict[str, Any]] = PROJECT["commands"]


def ids(value: Any) -> str:
    return value.stem if isinstance(value, Path) else value["name"]


@pytest.fixture(scope="module")
def writer() -> Iterator[Any]:
    """The script that writes the configs."""
    sys.path.insert(0, str(ROOT / "scripts"))
    yield importlib.import_module("write_configs")
    sys.path.remove(str(ROOT / "scripts"))


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    nlp = spacy.blank("en")
    doc = nlp.make_doc("The US Supreme Court met. Nobody spoke.")
    doc.spans["ents"] = [doc.char_span(0, 20, "ORG"), doc.char_span(4, 6, "GPE")]
    path = tmp_path_factory.mktemp("corpus") / "train.spacy"
    DocBin(docs=[doc, doc]).to_disk(path)
    return path


def tiny_encoders(config: Dict[str, Any], folder: Path) -> Dict[str, Any]:
    """Point every pretrained encoder of a config at a tiny one."""
    found: Dict[str, Any] = {}
    for name, block in config["components"].items():
        if block.get("factory") == "transformer":
            pytest.importorskip("spacy_transformers")
            found[f"components.{name}.model.name"] = str(folder)
        path, block = f"components.{name}.model", block.get("model", {})
        while "tok2vec" in block:  # an encoder may stand on another one
            path, block = f"{path}.tok2vec", block["tok2vec"]
            if block.get("@architectures") == "spacy_spanner.Transformer.v1":
                found.update({f"{path}.name": str(folder), f"{path}.layers": 1})
    return found


def test_configs_are_what_the_table_gives(writer: Any, tmp_path: Path) -> None:
    writer.main(tmp_path, check=False)
    written = {path.relative_to(tmp_path): path for path in tmp_path.rglob("*.cfg")}
    assert set(written) == {path.relative_to(ROOT / "configs") for path in CONFIGS}
    for name, path in written.items():
        assert path.read_bytes() == (ROOT / "configs" / name).read_bytes(), name


def test_check_finds_configs_that_differ_from_the_table(
    writer: Any,
    tmp_path: Path,
    capsys: pytest.CaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # All configs take seconds to make; what they are is tested above.
    texts = {"offset_cnn.cfg": "a = 1\n", "paper/offset_ace04.cfg": "b = 20\n"}
    monkeypatch.setattr(writer, "make_configs", lambda: texts)

    def check() -> int:
        with pytest.raises(typer.Exit) as ended:
            writer.main(tmp_path, check=True)
        return ended.value.exit_code

    writer.main(tmp_path, check=False)
    assert check() == 0
    path = tmp_path / "paper" / "offset_ace04.cfg"
    text = path.read_text(encoding="utf8")
    path.write_text(text.replace("20", "21"), encoding="utf8")
    capsys.readouterr()
    assert check() == 1
    assert "paper/offset_ace04.cfg" in capsys.readouterr().out
    writer.main(tmp_path, check=False)
    assert path.read_text(encoding="utf8") == text
    (tmp_path / "typed.cfg").touch()
    assert check() == 1
    assert "typed.cfg" in capsys.readouterr().out


def test_comments_stand_above_their_values() -> None:
    text = (ROOT / "configs" / "paper" / "diffusion_ace05.cfg").read_text("utf8")
    for above, below in (
        ("# the authors' code has 1", "eta = 0.0"),
        ("# the authors' code", "ffn_width = 1024"),
        ("# Once an epoch of 7,194 examples", "eval_frequency = 900"),
        ("# 10% of the steps; own", "warmup_steps = 9000"),
        ("# The encoder learns from the sixth epoch on.", "[training.before_update]"),
    ):
        assert f"\n{above}\n{below}\n" in text


@pytest.mark.parametrize(
    "name, above, below",
    [
        # Table 6 of the paper has neither CoNLL 2003 nor Weibo.
        ("locate_label_conll03", "# own", "seed_iou = 0.7"),
        ("locate_label_weibo", "# own", "filter_focus = 2.0"),
        ("locate_label_genia", "# own", "grad_clip = 1.0"),
        (
            "biaffine_msra",
            "# own (paper: searched in 1 and 2)",
            "smoothing_distance = 1",
        ),
        ("offset_msra", "# own (paper: 1 to 3)", "max_offset = 2"),
        ("offset_ontonotes4", "# own", 'name = "hfl/chinese-bert-wwm"'),
        (
            "diffusion_genia",
            "# Train and dev joined, as in the paper: model-last is the result",
            "train = null",
        ),
    ],
)
def test_values_that_a_paper_does_not_state_are_marked(
    name: str, above: str, below: str
) -> None:
    text = (ROOT / "configs" / "paper" / f"{name}.cfg").read_text("utf8")
    assert f"\n{above}\n{below}\n" in text


def test_values_that_a_paper_states_are_not_marked() -> None:
    folder = ROOT / "configs" / "paper"
    for name, value in (
        ("locate_label_ace04", "window_sizes = [1, 2, 3, 4, 5, 6, 7, 9, 11, 13, 15]"),
        ("locate_label_kbp17", "size = 4"),
        ("offset_resume", "conv_layers = 3"),
        ("biaffine_conll03", "boundary_smoothing = 0.3"),
    ):
        lines = (folder / f"{name}.cfg").read_text("utf8").splitlines()
        assert not lines[lines.index(value) - 1].startswith("# own"), name
    heading = (folder / "offset_ontonotes4.cfg").read_text("utf8").split("[paths]")[0]
    assert "ours, not the paper's" in heading


@pytest.mark.parametrize("path", CONFIGS, ids=ids)
def test_config_names_every_setting(path: Path) -> None:
    config = load_config(path)
    nlp = spacy.blank("en")
    for name, block in config["components"].items():
        if block.get("factory", "").startswith("span_"):
            defaults = nlp.get_factory_meta(block["factory"]).default_config
            assert set(defaults) <= set(block), name


@pytest.mark.parametrize("path", CONFIGS, ids=ids)
def test_config_weighs_scores_of_its_spans_key(path: Path) -> None:
    config = load_config(path)
    key = config["vars"]["spans_key"]
    weights = config["training"]["score_weights"]
    assert weights[f"spans_{key}_f"] == 1.0
    assert {name for name, weight in weights.items() if weight} == {f"spans_{key}_f"}


@pytest.mark.parametrize("path", CONFIGS, ids=ids)
def test_config_evaluates_its_last_step(path: Path) -> None:
    training = load_config(path)["training"]
    assert training["max_steps"] > 0 == training["max_epochs"]
    assert training["max_steps"] % training["eval_frequency"] == 0
    schedules = [x for x in training["optimizer"].values() if isinstance(x, dict)]
    assert all(one["total_steps"] == training["max_steps"] for one in schedules)


@pytest.mark.parametrize("path", CONFIGS, ids=ids)
def test_config_has_no_averages_that_would_miss_the_head(path: Path) -> None:
    assert load_config(path)["training"]["optimizer"]["use_averages"] is False


@pytest.mark.parametrize("path", CONFIGS, ids=ids)
def test_config_initializes_and_takes_a_step(
    path: Path, corpus: Path, tiny_bert: Path, taggers: Dict[str, Path]
) -> None:
    config = load_config(path)
    tagger = taggers[config["nlp"]["lang"]]
    places = {"train": corpus, "dev": corpus, "vectors": tagger, "tagger": tagger}
    overrides: Dict[str, Any] = {
        f"paths.{name}": str(places[name]) for name in config["paths"] if name in places
    }
    overrides.update(tiny_encoders(config, tiny_bert))
    config = load_config(path, overrides=overrides)
    nlp = init_nlp(config)
    (reader,) = resolve_dot_names(config.interpolate(), ["corpora.train"])
    examples = list(reader(nlp))
    losses = nlp.update(
        examples,
        sgd=nlp.create_optimizer(),
        exclude=config["training"]["frozen_components"],
        annotates=config["training"]["annotating_components"],
    )
    assert all(loss > 0 for name, loss in losses.items() if name.startswith("span_"))


def test_train_command_depends_on_configs_and_corpus() -> None:
    (train,) = (command for command in COMMANDS if command["name"] == "train")
    assert {"configs", "scripts/train.py", "corpus/${vars.dataset}"} <= {*train["deps"]}


@pytest.mark.parametrize("command", COMMANDS, ids=ids)
def test_command_writes_nothing_that_it_depends_on(command: Dict[str, Any]) -> None:
    assert not set(command.get("deps", ())) & set(command.get("outputs", ()))


@pytest.mark.parametrize("command", COMMANDS, ids=ids)
def test_command_depends_on_the_script_that_it_runs(command: Dict[str, Any]) -> None:
    scripts = [word for line in command["script"] for word in line.split()[1:2]]
    assert all((ROOT / script).exists() for script in scripts)
    if command.get("outputs"):
        assert set(scripts) <= set(command["deps"])


def test_every_dependency_is_a_file_or_the_output_of_a_command() -> None:
    outputs = {path for command in COMMANDS for path in command.get("outputs", ())}
    for command in COMMANDS:
        for path in command.get("deps", ()):
            assert path in outputs or (ROOT / path).exists(), path


def test_the_test_part_is_only_seen_by_what_reports() -> None:
    readers = [c["name"] for c in COMMANDS if "test.spacy" in " ".join(c["script"])]
    assert readers == ["evaluate", "ablate"]

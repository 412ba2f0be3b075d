"""Model cards describe the pipeline they are generated from."""

import ast
import re
from pathlib import Path

import pytest
import spacy
import srsly
from spacy.cli.package import package
from spacy.language import Language

from spacy_spanner.evaluation.card import make_card_callback, render_card, render_notes

from ..cli.helpers import run
from ..helpers import NESTED, make_examples, small_model, trained_copy


@pytest.fixture
def nlp() -> Language:
    """A trained pipeline that knows its scores."""
    nlp = trained_copy("span_biaffine")
    nlp.meta["performance"] = nlp.evaluate(make_examples(nlp, NESTED))
    return nlp


def test_card_tells_labels_data_scores_and_settings(nlp: Language) -> None:
    card = render_card(nlp)
    assert "`GPE`, `ORG`, `PER`" in card
    # The empty document of the data is annotated: with nothing.
    assert "4 training documents, 4 of them annotated, with 6 spans" in card
    assert "| all | 100.0 | 100.0 | 100.0 |" in card
    assert "| GPE | 100.0 | 100.0 | 100.0 |" in card
    error = nlp.meta["performance"]["spans_ents_ece"]
    assert f"calibration error: {100 * error:.1f}." in card
    assert (
        f"| `threshold` | `{nlp.get_pipe('span_biaffine').cfg['threshold']}` |" in card
    )
    assert "at most 256 tokens" in card
    for title in (
        "Use",
        "Labels",
        "Data",
        "Scores",
        "Calibration",
        "Settings",
        "Limits",
    ):
        assert card.count(f"\n### {title}\n") == 1


def test_card_shows_code_that_is_python(nlp: Language) -> None:
    (code,) = re.findall(r"```python\n(.*?)```", render_card(nlp), flags=re.DOTALL)
    ast.parse(code)
    assert 'doc.spans["ents"]' in code


def loaded_name(card: str) -> str:
    (name,) = re.findall(r'spacy.load\("(.*?)"\)', card)
    return name


def test_card_loads_the_package_by_its_name(nlp: Language, tmp_path: Path) -> None:
    nlp.meta["name"] = "demo"
    assert loaded_name(render_card(nlp)) == "en_demo"
    assert render_card(nlp).startswith("# en_demo\n")
    assert loaded_name(render_card(nlp, "other")) == "en_other"
    nlp.to_disk(tmp_path / "model")
    run("model-card", tmp_path / "model", "--name", "third")
    readme = (tmp_path / "model" / "README.md").read_text(encoding="utf8")
    assert loaded_name(readme) == "en_third" and "en_demo" not in readme


def test_card_of_a_pipeline_without_a_name_loads_a_folder(nlp: Language) -> None:
    assert nlp.meta["name"] == "pipeline"
    assert loaded_name(render_card(nlp)) == "path/to/pipeline"


@pytest.mark.parametrize("named", ["pipeline", "demo"])
def test_notes_are_right_whatever_name_the_package_gets(
    nlp: Language, tmp_path: Path, named: str
) -> None:
    nlp.meta["name"] = named
    make_card_callback()(nlp).to_disk(tmp_path / "model")
    (tmp_path / "out").mkdir()
    package(tmp_path / "model", tmp_path / "out", name="mine", create_sdist=False)
    readme = (tmp_path / "out" / "en_mine-0.0.0" / "README.md").read_text("utf8")
    assert "`en_mine`" in readme
    assert f"en_{named}" not in readme
    assert loaded_name(readme) == "path/to/pipeline"


def test_card_shows_numbers_as_they_were_set(nlp: Language, tmp_path: Path) -> None:
    assert srsly.json_loads("0.3") != 0.3  # how spaCy reads configs
    settings = {"threshold": srsly.json_loads("0.3")}
    settings["label_thresholds"] = {"GPE": srsly.json_loads("0.6")}
    nlp.get_pipe("span_biaffine").cfg.update(settings)
    card = render_card(nlp)
    assert "| `threshold` | `0.3` |" in card
    assert "| `label_thresholds` | `{'GPE': 0.6}` |" in card
    assert not re.search(r"\d\.\d{12}", card)


def test_card_names_the_encoder_and_its_revision(tiny_bert: Path) -> None:
    nlp = spacy.blank("en")
    encoder = {"@architectures": "spacy_spanner.Transformer.v1", "name": "a/b"}
    encoder["revision"] = "c0ffee"
    nlp.add_pipe(
        "span_biaffine", config={"model": small_model("span_biaffine", encoder)}
    )
    assert "initialized with `a/b`, revision `c0ffee`" in render_card(nlp)
    encoder.update(name=str(tiny_bert), revision=None)
    nlp = spacy.blank("en")
    nlp.add_pipe("tok2vec", config={"model": encoder})
    listener = {"@architectures": "spacy.Tok2VecListener.v1", "width": 16}
    nlp.add_pipe(
        "span_biaffine", config={"model": small_model("span_biaffine", listener)}
    )
    card = render_card(nlp)
    assert f"initialized with `{tiny_bert.name}`" in card
    assert str(tiny_bert) not in card


def test_card_without_scores() -> None:
    nlp = trained_copy("span_biaffine")
    nlp.meta["performance"] = {}
    assert "Not measured." in render_card(nlp)
    blank = spacy.blank("en")
    blank.add_pipe("span_biaffine", config={"overlap": "flat"})
    card = render_card(blank)
    assert "none yet" in card and "Not recorded." in card
    assert "do not overlap" in card


def test_callback_fills_notes_but_not_those_of_a_user(nlp: Language) -> None:
    write = make_card_callback()
    assert write(nlp).meta["notes"] == render_notes(nlp)
    nlp.get_pipe("span_biaffine").cfg["threshold"] = 0.77
    assert "0.77" in write(nlp).meta["notes"]
    nlp.meta["notes"] = "mine"
    assert write(nlp).meta["notes"] == "mine"


def test_package_has_the_card_in_its_readme(nlp: Language, tmp_path: Path) -> None:
    make_card_callback()(nlp).to_disk(tmp_path / "model")
    (tmp_path / "out").mkdir()
    package(tmp_path / "model", tmp_path / "out", create_sdist=False)
    (folder,) = (tmp_path / "out").iterdir()
    assert render_notes(nlp) in (folder / "README.md").read_text(encoding="utf8")


def test_command_writes_the_readme_of_a_folder(nlp: Language, tmp_path: Path) -> None:
    nlp.to_disk(tmp_path / "model")
    run("model-card", tmp_path / "model")
    readme = tmp_path / "model" / "README.md"
    assert readme.read_text(encoding="utf8") == render_card(nlp)
    assert "SP070" in run("model-card", tmp_path / "model", code=1)
    run("model-card", tmp_path / "model", "--force")
    run("model-card", tmp_path / "model", "-o", tmp_path / "card.md")
    assert (tmp_path / "card.md").read_bytes() == readme.read_bytes()

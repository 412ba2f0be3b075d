"""Model cards describe the pipeline they are generated from."""

import ast
import re
from pathlib import Path

import pytest
import spacy
from spacy.cli.package import package
from spacy.language import Language

from spacy_spanner.evaluation.card import make_card_callback, render_card, render_notes

from ..cli.helpers import run
from ..helpers import NESTED, make_examples, trained_copy


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

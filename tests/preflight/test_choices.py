"""What the workflow is asked for is checked before work begins."""

from pathlib import Path
from typing import Any, Dict

import pytest
from spacy.util import load_config

from spacy_spanner.preflight.choices import (
    choose_parts,
    encoder_settings,
    find_papers,
    find_part,
    pipeline_settings,
)
from spacy_spanner.preflight.recipes import papers_of

CONFIGS = Path(__file__).parents[2] / "configs"


def config_of(name: str) -> Dict[str, Any]:
    return load_config(CONFIGS / f"{name}.cfg")


def test_models_without_recipe_for_a_dataset_are_left_out() -> None:
    with pytest.warns(UserWarning, match=r"SW080.*'biaffine'.*'genia'.*conll03"):
        found = find_papers(["biaffine", "span_diffusion", "offset"], "genia")
    assert {one.factory for one in found.values()} == {"span_diffusion", "span_offset"}
    assert all(one.path.endswith("_genia.cfg") for one in found.values())


def test_dataset_that_no_paper_has() -> None:
    with pytest.raises(ValueError, match=r"SP085.*'span_offset'.*'demo'.*conll03"):
        find_papers(["offset", "diffusion"], "demo")
    with pytest.raises(ValueError, match=r"SP076.*'ofset'"):
        find_papers(["ofset"], "conll03")


@pytest.mark.parametrize(
    "name, place",
    [
        ("biaffine_minilm", "span_biaffine.model.tok2vec"),
        ("paper/locate_label_genia", "span_locate_label.model.tok2vec.tok2vec"),
        ("diffusion_trf", "transformer.model"),
    ],
)
def test_encoder_of_a_config_is_replaced(
    name: str, place: str, tiny_bert: Path
) -> None:
    found = encoder_settings(config_of(name), str(tiny_bert), name)
    assert found.pop(f"components.{place}.name") == str(tiny_bert)
    if not name.endswith("trf"):
        layers = found.pop(f"components.{place}.layers")
        assert layers == (2 if "locate" in name else 1)  # it has two
        assert found.pop(f"components.{place}.revision") is None
    assert not found


def test_config_without_pretrained_encoder_has_none_to_replace() -> None:
    expected = r"SP088.*biaffine_cnn.*'minilm'.*HashEmbedCNN"
    with pytest.raises(ValueError, match=expected):
        encoder_settings(config_of("biaffine_cnn"), "minilm", "biaffine_cnn.cfg")


def test_encoder_that_does_not_exist(tmp_path: Path) -> None:
    pytest.importorskip("transformers")
    with pytest.raises(ValueError, match=r"SP015.*nowhere"):
        name = str(tmp_path / "nowhere")
        encoder_settings(config_of("biaffine_minilm"), name, "biaffine_minilm.cfg")


def test_pipelines_that_a_config_needs(tmp_path: Path) -> None:
    config = config_of("paper/locate_label_genia")
    given = {"vectors": str(tmp_path), "tagger": str(tmp_path)}
    assert pipeline_settings(config, given, "a.cfg") == {
        "paths.vectors": str(tmp_path),
        "paths.tagger": str(tmp_path),
    }
    with pytest.raises(ValueError, match=r"SP089.*a\.cfg.*word vectors.*vectors"):
        pipeline_settings(config, {}, "a.cfg")
    given["tagger"] = "no_such_tagger"
    with pytest.raises(ValueError, match=r"SP089.*tags.*'no_such_tagger'.*tagger"):
        pipeline_settings(config, given, "a.cfg")
    assert pipeline_settings(config_of("biaffine_cnn"), given, "b.cfg") == {}


def test_parts_are_those_of_the_recipe_or_those_asked_for() -> None:
    joined = papers_of("span_locate_label")["conll03"]
    alone = papers_of("span_biaffine")["conll03"]
    assert choose_parts("conll03", "", None) == "train"
    assert choose_parts("conll03", "", joined) == "train+dev"
    assert choose_parts("conll03", "", alone) == "train"
    assert choose_parts("conll03", "train", joined) == "train"
    assert choose_parts("conll03", "train+dev", alone) == "train+dev"
    for parts in ("dev", "train+test", "dev+train"):
        with pytest.raises(ValueError, match=r"SP090.*conll03.*train_parts"):
            choose_parts("conll03", parts, joined)


def test_parts_that_were_not_converted(tmp_path: Path) -> None:
    (tmp_path / "train.spacy").touch()
    assert find_part(tmp_path, "weibo", "train") == tmp_path / "train.spacy"
    with pytest.raises(ValueError, match=r"SP091.*weibo.*train\+dev\.spacy.*corpus"):
        find_part(tmp_path, "weibo", "train+dev")


JOINED = {"conll03", "genia", "msra"}


@pytest.mark.parametrize("model", ["biaffine", "locate_label", "diffusion", "offset"])
def test_dev_is_joined_where_the_papers_join_it(model: str) -> None:
    recipes = papers_of(f"span_{model}")
    joined = {name for name, one in recipes.items() if one.about("parts")}
    expected = {"msra"} if model == "biaffine" else JOINED
    assert joined == expected & set(recipes)

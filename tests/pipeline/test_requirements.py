"""Packages of pipelines with a pretrained encoder require what it needs."""

import shutil
from pathlib import Path
from typing import Any, Dict, List

import pytest
import spacy
import srsly
from spacy.cli.package import package
from spacy.language import Language

from ..helpers import blank_pipeline, small_model

OLD = Path(__file__).parents[1] / "compatibility" / "pipelines"
REQUIREMENT = "spacy_spanner[encoder]"


def transformer(folder: Path) -> Dict[str, Any]:
    return {"@architectures": "spacy_spanner.Transformer.v1", "name": str(folder)}


def owner(folder: Path, **options: Any) -> Language:
    nlp = spacy.blank("en", **options)
    model = small_model("span_biaffine", transformer(folder))
    nlp.add_pipe("span_biaffine", config={"model": model})
    return nlp


def packaged_requirements(nlp: Language, folder: Path) -> List[str]:
    """Package a pipeline, and read what its package requires."""
    nlp.to_disk(folder / "pipeline")
    (folder / "out").mkdir()
    package(folder / "pipeline", folder / "out", create_sdist=False)
    (meta,) = (folder / "out").glob("*/meta.json")
    return srsly.read_json(meta)["requirements"]


def test_package_with_an_encoder_requires_the_extra(
    tiny_bert: Path, tmp_path: Path
) -> None:
    found = packaged_requirements(owner(tiny_bert), tmp_path)
    assert found[0] == REQUIREMENT
    # spaCy adds the range of versions of this package.
    assert len(found) == 2 and found[1].startswith("spacy-spanner>=")


def test_package_without_an_encoder_does_not(tmp_path: Path) -> None:
    (found,) = packaged_requirements(blank_pipeline("span_biaffine"), tmp_path)
    assert found.startswith("spacy-spanner>=")


def test_package_with_a_shared_encoder_requires_the_extra(
    tiny_bert: Path, tmp_path: Path
) -> None:
    nlp = spacy.blank("en")
    nlp.add_pipe("tok2vec", config={"model": transformer(tiny_bert)})
    listener = {"@architectures": "spacy.Tok2VecListener.v1", "width": 16}
    model = small_model("span_biaffine", listener)
    nlp.add_pipe("span_biaffine", config={"model": model})
    assert REQUIREMENT in packaged_requirements(nlp, tmp_path)


def test_package_with_a_sourced_component_requires_the_extra(
    tiny_bert: Path, tmp_path: Path
) -> None:
    nlp = spacy.blank("en")
    nlp.add_pipe("span_biaffine", source=owner(tiny_bert))
    assert REQUIREMENT in packaged_requirements(nlp, tmp_path)


def test_package_of_an_old_pipeline_requires_the_extra(tmp_path: Path) -> None:
    pytest.importorskip("transformers")
    shutil.copytree(OLD / "span_offset_transformer", tmp_path / "old")
    assert "requirements" not in srsly.read_json(tmp_path / "old" / "meta.json")
    nlp = spacy.load(tmp_path / "old")
    assert REQUIREMENT in packaged_requirements(nlp, tmp_path)


def test_requirements_of_the_user_are_kept(tiny_bert: Path, tmp_path: Path) -> None:
    nlp = owner(tiny_bert, meta={"requirements": ["another"]})
    nlp.to_disk(tmp_path)
    for _ in range(2):
        assert nlp.meta["requirements"] == ["another", REQUIREMENT]
        nlp = spacy.load(tmp_path)

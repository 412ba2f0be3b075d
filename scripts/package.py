"""Package the trained pipelines of a dataset as wheels, each with its model card."""

import re
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import List

import runs
import spacy
import srsly
import typer
from datasets import DEMOS
from spacy.cli.package import has_build, package
from spacy.language import Language
from wasabi import msg

from spacy_spanner.evaluation.card import render_card
from spacy_spanner.evaluation.tables import percent

ABOUT_DEMO = (
    "It was trained on the demo corpus {dataset} of spacy-spanner, a small corpus of "
    "news that language models wrote for this project, about persons and companies "
    "that do not exist. It shows how a model works and is not meant for production."
)
ABOUT_OTHERS = (
    "It was trained on the corpus {dataset} with the workflow of spacy-spanner. Read "
    "the licence of the corpus before you share this pipeline."
)


def package_name(config: str, dataset: str, lang: str) -> str:
    """RETURNS (str): the name of a package, such as "en_span_biaffine_cnn_demo".

    config (str): name of the config, without its suffix.
    """
    corpus = dataset.removesuffix(f"_{lang}")
    stem = config if config.startswith("span_") else f"span_{config}"
    return re.sub(r"\W", "_", f"{lang}_{stem}_{corpus}")


def describe(nlp: Language, name: str, dataset: str, scores: Path) -> None:
    """Write to the meta of a pipeline what it is and how good it is.

    name (str): name of the package.
    dataset (str): what it was trained on.
    scores (Path): JSON file with its scores on the test part.
    """
    is_demo = dataset in DEMOS
    about = (ABOUT_DEMO if is_demo else ABOUT_OTHERS).format(dataset=dataset)
    found = srsly.read_json(scores)
    shown = ", ".join(
        f"{title} {percent(found.get(f'spans_ents_{key}'))}"
        for title, key in (("precision", "p"), ("recall", "r"), ("F1", "f"))
    )
    nlp.meta["name"] = name.removeprefix(f"{nlp.lang}_")
    nlp.meta["version"] = version("spacy-spanner")
    nlp.meta["description"] = f"{about} Scores on the test part, in percent: {shown}."


def make_package(nlp: Language, name: str, output: Path) -> Path:
    """Write the package of a pipeline as a folder, and build its wheel there.

    RETURNS (Path): the wheel.
    """
    with TemporaryDirectory() as folder:
        path = Path(folder) / name
        nlp.to_disk(path)
        (path / "README.md").write_text(render_card(nlp), encoding="utf8")
        package(path, output, create_sdist=False, force=True, require_parent=True)
    source = output / f"{name}-{nlp.meta['version']}"
    # Without isolation, nothing is downloaded: spaCy depends on setuptools.
    words = [sys.executable, "-m", "build", "--wheel", "--no-isolation", str(source)]
    done = subprocess.run(words, capture_output=True, text=True)
    if done.returncode:
        msg.fail("The wheel could not be built", done.stdout + done.stderr, exits=1)
    (wheel,) = (source / "dist").glob("*.whl")
    return wheel


def main(
    dataset: str = typer.Argument(..., help="Name of the dataset"),
    training: Path = typer.Argument(..., help="Folder with groups of pipelines"),
    metrics: Path = typer.Argument(..., help="Folder with their scores"),
    output: Path = typer.Argument(..., help="Folder to write packages to"),
    recipe: str = runs.RECIPE,
    encoder: str = runs.ENCODER,
) -> None:
    """Package every pipeline of the group in TRAINING that has scores in METRICS."""
    if not has_build():
        msg.fail("To build wheels, run: pip install build", exits=1)
    group = runs.group_of(recipe, encoder)
    output = output / group
    output.mkdir(parents=True, exist_ok=True)
    wheels: List[Path] = []
    for scores in sorted((metrics / group).glob("*.json")):
        nlp = spacy.load(runs.pipeline_of(training / group / scores.stem))
        name = package_name(scores.stem, dataset, nlp.lang)
        describe(nlp, name, dataset, scores)
        wheels.append(make_package(nlp, name, output))
        msg.good(f"{name}: {wheels[-1]}")
    if not wheels:
        msg.fail(f"There are no scores in {metrics / group}", exits=1)
    msg.info(f"To install one: pip install {wheels[0]}")


if __name__ == "__main__":
    typer.run(main)

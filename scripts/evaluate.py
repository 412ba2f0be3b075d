"""Score the trained pipelines of the workflow on the test part."""

from pathlib import Path

import runs
import srsly
import typer
from datasets import SPANS_KEY
from spacy.util import fix_random_seed, load_model
from wasabi import msg

from spacy_spanner.cli.shell import plain_errors
from spacy_spanner.evaluation.predicting import read_corpus
from spacy_spanner.jobs.spacy_commands import setup_gpu


def main(
    training: Path = typer.Argument(..., help="Folder with groups of pipelines"),
    test: Path = typer.Argument(..., help="The test part as .spacy file"),
    output: Path = typer.Argument(..., help="Folder to write one JSON per model to"),
    recipe: str = runs.RECIPE,
    encoder: str = runs.ENCODER,
    gpu: int = typer.Option(-1, help="GPU, or -1 for the CPU"),
) -> None:
    """Evaluate every pipeline in the group of TRAINING that recipe and encoder name."""
    setup_gpu(gpu, silent=True)
    group = runs.group_of(recipe, encoder)
    (output / group).mkdir(parents=True, exist_ok=True)
    for folder in sorted(
        path for path in (training / group).iterdir() if path.is_dir()
    ):
        fix_random_seed()
        nlp = load_model(runs.pipeline_of(folder))
        with plain_errors():
            scores = nlp.evaluate(read_corpus(test, nlp, SPANS_KEY))
        # The speed varies between runs; the written scores must not.
        speed = scores.pop("speed")
        about = runs.read_about(folder)
        srsly.write_json(output / group / f"{folder.name}.json", {**scores, **about})
        f_score = scores.get("spans_ents_f")
        shown = "nothing scored" if f_score is None else f"F1 {100 * f_score:.1f}"
        msg.good(f"{folder.name}: {shown}")
        msg.text(f"{speed:,.0f} words per second")


if __name__ == "__main__":
    typer.run(main)

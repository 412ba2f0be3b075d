"""Score the trained pipelines of the workflow on the test part."""

from pathlib import Path

import srsly
import typer
from spacy.cli.evaluate import evaluate
from wasabi import msg


def main(
    training: Path = typer.Argument(..., help="Folder with trained pipelines"),
    test: Path = typer.Argument(..., help="The test part as .spacy file"),
    output: Path = typer.Argument(..., help="Folder to write one JSON per model to"),
    gpu: int = typer.Option(-1, help="GPU, or -1 for the CPU"),
) -> None:
    """Evaluate every pipeline in TRAINING."""
    output.mkdir(parents=True, exist_ok=True)
    for folder in sorted(path for path in training.iterdir() if path.is_dir()):
        scores = evaluate(str(folder / "model-best"), test, use_gpu=gpu, silent=True)
        # The speed varies between runs; the written scores must not.
        speed = scores.pop("speed")
        srsly.write_json(output / f"{folder.name}.json", scores)
        f_score = scores.get("spans_ents_f")
        shown = "nothing scored" if f_score is None else f"F1 {100 * f_score:.1f}"
        msg.good(f"{folder.name}: {shown}")
        msg.text(f"{speed:,.0f} words per second")


if __name__ == "__main__":
    typer.run(main)

"""Print the spans that a trained pipeline finds in a text, with their scores.

    python examples/predict.py
    python examples/predict.py "Ana Ruiz sued the port of Lyon." --model PIPELINE

Without --model, it loads an English pipeline of the demo corpus: an installed package,
or what the workflow has trained in this checkout.
"""

from pathlib import Path
from typing import Optional

import spacy
import typer
from spacy.tokens import Doc
from wasabi import msg

ROOT = Path(__file__).resolve().parent.parent
TEXT = (
    "Governor Ana Ruiz of Ohio told the Supreme Court of Norway that the port of Lyon "
    "and Oslo's Central Station will close in May."
)
VARIABLES = "--vars.encoder cnn --vars.model biaffine"
MISSING = f"""There is no English pipeline of the demo corpus. To train one here, run
  python -m spacy project run all . {VARIABLES}
To make a package of it, which you can install elsewhere, run
  python -m spacy project run package . {VARIABLES}"""


def find_model() -> Optional[str]:
    """RETURNS (Optional[str]): an installed package, or the pipeline that the workflow
    trained last; None if there is none.
    """
    for name in sorted(spacy.util.get_installed_models()):
        if name.startswith("en_span_") and name.endswith("_demo"):
            return name
    trained = ROOT.glob("training/demo/*/*/model-best/meta.json")
    newest = max(trained, key=lambda path: path.stat().st_mtime, default=None)
    return str(newest.parent) if newest else None


def show(doc: Doc) -> None:
    """Print the spans of all groups of a document."""
    for key, group in doc.spans.items():
        msg.divider(f'doc.spans["{key}"]: {len(group)} spans')
        for span, score in zip(group, group.attrs["scores"]):
            print(f"{score:.2f}  {span.label_:5}  {span.text}")


def main(
    text: str = typer.Argument(TEXT, help="Text to annotate"),
    model: str = typer.Option("", help="Folder or package of a trained pipeline"),
) -> None:
    """Print the spans of TEXT with their scores."""
    found = model or find_model()
    if found is None:
        raise SystemExit(MISSING)
    msg.info(f"Loading {found}")
    show(spacy.load(str(found))(text))


if __name__ == "__main__":
    typer.run(main)

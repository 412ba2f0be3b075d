"""`python -m spacy spanner stats`: the tables of the papers for `.spacy` files."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Dict, List, Optional

import typer
from wasabi import msg

from .app import app
from .convert import parse_numbers

if TYPE_CHECKING:
    from ..corpus.statistics import Reach, Statistics

PATHS = typer.Argument(..., help=".spacy files, or folders of them; a column for each")
SPANS_KEY = typer.Option("ents", help="Group of doc.spans, or else doc.ents")
FORMAT = typer.Option("text", "--format", "-f", help="text, json, markdown")
OUTPUT = typer.Option(None, "--output", "-o", help="File to write instead of printing")
MAX_WIDTH = typer.Option(12, min=1, help="Longest span that a model scores, in tokens")
WINDOW = typer.Option("sentence", help="sentence, doc, strided: as the setting")
MAX_WINDOW = typer.Option(256, min=1, help="As the setting")
STRIDE = typer.Option(64, min=0, help="As the setting")
SEEDS = typer.Option("1,2,3,4,5,6,7,9,11,13,15", help="Widths of seed spans")
MIN_IOU = typer.Option(0.7, min=0.0, max=1.0, help="Overlap of seed and entity")


@app.command("stats")
def stats_cli(
    paths: List[Path] = PATHS,
    spans_key: str = SPANS_KEY,
    format: str = FORMAT,
    output: Optional[Path] = OUTPUT,
    max_width: int = MAX_WIDTH,
    window: str = WINDOW,
    max_window: int = MAX_WINDOW,
    stride: int = STRIDE,
    seeds: str = SEEDS,
    min_iou: float = MIN_IOU,
) -> None:
    """Count sentences, tokens and entities, their overlap, length and labels.

    The share within reach of a model depends on the longest span it scores, on its
    windows, and for models that start from seed spans on their widths.
    """
    from ..corpus.statistics import Reach
    from ..files import write_text

    try:
        reach = Reach(
            max_width=max_width,
            window=window,
            max_window=max_window,
            stride=stride,
            seeds=parse_numbers(seeds, "seeds"),
            min_iou=min_iou,
        )
        page = render(count_files(paths, spans_key, reach), format)
        if output is not None:
            write_text(output, page)
    except (ValueError, OSError) as error:
        msg.fail(str(error), exits=1)
    if output is None:
        typer.echo(page)
    else:
        msg.good(f"Wrote {output}")


def count_files(
    paths: List[Path], spans_key: str, reach: "Reach"
) -> "Dict[str, Statistics]":
    """Count files, or folders of files.

    RETURNS (Dict[str, Statistics]): by name; by whole path where names are equal.
    RAISES (ValueError): SP056 for a file that spaCy has not written, SP061 for nothing.
    """
    from ..corpus.conversion import read_plain_docs
    from ..corpus.statistics import count_docs

    names = [path.stem for path in paths]
    keys = names if len(set(names)) == len(names) else [str(path) for path in paths]
    return {
        key: count_docs(read_plain_docs(path), spans_key, reach)
        for key, path in zip(keys, paths)
    }


def render(counts: "Dict[str, Statistics]", format: str) -> str:
    """RETURNS (str): the counts as "text", "json" or "markdown".

    RAISES (ValueError): SP062 for another format.
    """
    from ..corpus.count_tables import as_markdown, as_text, lay_out
    from ..corpus.options import check_choice

    if check_choice("format", format, ("text", "json", "markdown")) == "json":
        values = {name: found.to_dict() for name, found in counts.items()}
        return json.dumps(values, indent=2, ensure_ascii=False) + "\n"
    tables = lay_out(counts)
    return as_text(tables) if format == "text" else as_markdown(tables)

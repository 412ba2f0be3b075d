"""The command `spanner stats`."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Dict, List, Optional

import typer
from wasabi import msg

from .app import app
from .convert import parse_numbers

if TYPE_CHECKING:
    from ..corpus.statistics import Reach, Statistics

PATHS = typer.Argument(..., help=".spacy files or folders of them, one column each")
SPANS_KEY = typer.Option("ents", help="Span group; doc.ents is used if it is missing")
FORMAT = typer.Option("text", "--format", "-f", help="Output: text, json, markdown")
OUTPUT = typer.Option(None, "--output", "-o", help="File to write instead of printing")
MAX_WIDTH = typer.Option(12, min=1, help="Maximum width of spans, in tokens")
WINDOW = typer.Option("sentence", help="Setting window: sentence, doc, strided")
MAX_WINDOW = typer.Option(256, min=1, help="Setting max_window, in tokens")
STRIDE = typer.Option(64, min=0, help="Setting stride, in tokens")
SEEDS = typer.Option("1,2,3,4,5,6,7,9,11,13,15", help="Widths of seed spans")
MIN_IOU = typer.Option(0.7, min=0.0, max=1.0, help="Minimum IoU of seed and entity")


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
    """Count sentences, tokens and entities, and their overlap, lengths and labels.

    The share of entities that a model can predict depends on its maximum span width, on
    its windows and, for models with seed spans, on the widths of the seeds.
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
    """Compute the statistics of files, or folders of files.

    RETURNS (Dict[str, Statistics]): by file name, or by path if names are not unique.
    RAISES (ValueError): SP056 for a file that spaCy did not write, SP061 if there is no
        file.
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
    """RETURNS (str): the counts in the format "text", "json" or "markdown".

    RAISES (ValueError): SP062 for any other format.
    """
    from ..corpus.count_tables import as_markdown, as_text, lay_out
    from ..corpus.options import check_choice

    if check_choice("format", format, ("text", "json", "markdown")) == "json":
        values = {name: found.to_dict() for name, found in counts.items()}
        return json.dumps(values, indent=2, ensure_ascii=False) + "\n"
    tables = lay_out(counts)
    return as_text(tables) if format == "text" else as_markdown(tables)

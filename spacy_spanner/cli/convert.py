"""The commands `spanner convert` and `spanner stats`, for annotated corpora."""

import json
import os
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, Dict, List, Optional

import typer

from ..errors import Errors
from ..evaluation.tables import amount
from .shell import app, fail, msg, parse_numbers, plain_errors

if TYPE_CHECKING:
    from ..corpus.conversion import Summary
    from ..corpus.statistics import Reach, Statistics

# At the end of the name of a folder.
SLASHES = tuple(filter(None, (os.sep, os.altsep)))
SOURCE = typer.Argument(..., help="File or folder to read")
TARGET = typer.Argument(
    ..., help="File to write, or folder: no suffix, or a slash at the end"
)
FORMAT = typer.Option("", "--format", "-f", help="Source format; default: detected")
TO = typer.Option("", help="spacy, jsonl, conll, brat; default: from the target's name")
LANG = typer.Option("en", "--lang", "-l", help="Language code, for the tokenizer")
SPANS_KEY = typer.Option("ents", help="Span group in doc.spans")
FROM_KEY = typer.Option("", help="spacy: copy this span group to --spans-key")
PREDICTIONS = typer.Option(
    False, "--predictions", help="Label Studio: read predictions of unannotated tasks"
)
MIN_SCORE = typer.Option(None, help="Leave out entities with a lower score")
ENCODING = typer.Option("utf-8", help="Encoding of the source")
ENDS = typer.Option("auto", help="json: ends are inclusive, exclusive, or auto")
TAG_COLUMNS = typer.Option("", help="conll: such as 1,2, from 0; -1 is the last")
DISCONTINUOUS = typer.Option("skip", help="brat, json: skip, split, flag")
MENTION = typer.Option("extent", help="ace: extent, head")
GENIA_CLASSES = typer.Option("five", help="genia: five, all")
LABEL_NAMES = typer.Option("", help="rows: names of numeric tags: O,B-PER,I-PER")
DOCUMENTS = typer.Option(None, help="ace, kbp: file with names of documents to read")
ALIGN = typer.Option("strict", help="Boundaries in tokens: strict, contract, expand")
SENTENCES = typer.Option("given", help="Sentences: given, one, lines, rules, none")
WINDOW = typer.Option("sentence", help="Unit that entities cannot cross: sentence, doc")
CHARACTERS = typer.Option(False, "--characters", help="Make every character a token")
SPLIT = typer.Option(False, "--split-sentences", help="Make every sentence a document")
CONTEXT = typer.Option(
    0, help="Sentences around each to store with it, with --split-sentences"
)
SET_ENTS = typer.Option("off", help="Also write doc.ents: off, longest")
SHARD = typer.Option(500_000, min=1, help="Tokens per file, if the target is a folder")
LOST = typer.Option(None, help="CSV file for lost entities; default: TARGET.lost.csv")
TOLERANCE = typer.Option(0.0, min=0.0, max=1.0, help="Share that may be lost")


@app.command("convert")
def convert_cli(
    source: Path = SOURCE,
    target: str = TARGET,
    format: str = FORMAT,
    to: str = TO,
    lang: str = LANG,
    spans_key: str = SPANS_KEY,
    from_key: str = FROM_KEY,
    predictions: bool = PREDICTIONS,
    min_score: Optional[float] = MIN_SCORE,
    encoding: str = ENCODING,
    ends: str = ENDS,
    tag_columns: str = TAG_COLUMNS,
    discontinuous: str = DISCONTINUOUS,
    mention: str = MENTION,
    genia_classes: str = GENIA_CLASSES,
    label_names: str = LABEL_NAMES,
    documents: Optional[Path] = DOCUMENTS,
    align: str = ALIGN,
    sentences: str = SENTENCES,
    window: str = WINDOW,
    characters: bool = CHARACTERS,
    split_sentences: bool = SPLIT,
    context: int = CONTEXT,
    set_ents: str = SET_ENTS,
    shard_tokens: int = SHARD,
    lost: Optional[Path] = LOST,
    tolerance: float = TOLERANCE,
) -> None:
    """Convert an annotated corpus, and list every entity that is lost.

    Entities that cannot be represented are written to a CSV file with file, line, text,
    label and reason. If their share exceeds --tolerance, the exit code is 1, but the
    output is still written.
    """
    choices = dict(locals())
    if target.endswith(SLASHES) and not to:
        choices["to"] = "spacy"
    path = choices["target"] = Path(target)
    with plain_errors():
        summary = convert(**choices)
    report(summary, path, lost_path(path, lost), tolerance)


def lost_path(target: Path, given: Optional[Path]) -> Path:
    """RETURNS (Path): the table of lost entities, by default next to the target."""
    if target.name in ("", ".."):  # such as "."
        target = target.resolve()
    # With the suffix, as a.spacy and a.conll lose different entities.
    return given or target.parent / f"{target.name}.lost.csv"


def convert(
    *,
    source: Path,
    target: Path,
    format: str,
    to: str,
    lang: str,
    shard_tokens: int,
    lost: Optional[Path],
    **choices: Any,
) -> "Summary":
    """Convert with the options of the command.

    RAISES (ValueError): an error that names file and line, if it concerns a file.
    """
    from ..corpus.bare_language import BareLanguage
    from ..corpus.conversion import convert_corpus
    from ..corpus.options import DocOptions, ReadOptions
    from ..corpus.records import LostSpans
    from ..corpus.text_files import read_text

    choices["tag_columns"] = parse_numbers(choices["tag_columns"], "tag-columns")
    choices["label_names"] = tuple(choices["label_names"].replace(",", " ").split())
    if choices["documents"] is not None:
        names = read_text(choices["documents"]).split("\n")
        choices["documents"] = tuple(name for name in names if name.strip())
    return convert_corpus(
        source,
        target,
        BareLanguage(lang),
        format=format or None,
        to=to or None,
        read_options=ReadOptions(**_fields_of(ReadOptions, choices)),
        doc_options=DocOptions(**_fields_of(DocOptions, choices)),
        shard_tokens=shard_tokens,
        lost=LostSpans(lost_path(target, lost)),
        note=msg.info,
    )


def _fields_of(options: Any, choices: Dict[str, Any]) -> Dict[str, Any]:
    names = {field.name for field in fields(options)}
    return {name: value for name, value in choices.items() if name in names}


def report(summary: "Summary", target: Path, table: Path, tolerance: float) -> None:
    """Print the numbers of written and lost entities, with reasons.

    RAISES (Exit): with code 1 if more entities are lost than tolerated.
    """
    msg.good(
        f"{amount(summary.documents, 'document')}, {amount(summary.tokens, 'token')}, "
        f"{amount(summary.spans, 'entity', 'entities')}",
        f"in {target}",
    )
    if summary.empty:
        skipped = amount(summary.empty, "document was", "documents were")
        msg.info(f"{skipped} skipped, for lack of tokens")
    if summary.lost.reasons:
        rows = summary.lost.reasons.most_common()
        msg.warn(f"Some entities were not written; they are listed in {table}")
        msg.table([(reason, f"{count:,}") for reason, count in rows])
    if summary.share_lost > tolerance:
        message = Errors.SP054.format(
            lost=summary.lost.n_lost,
            total=summary.n_total,
            tolerance=tolerance,
            path=table,
        )
        fail(message)


PATHS = typer.Argument(..., help=".spacy files or folders of them, one column each")
STATS_KEY = typer.Option("ents", help="Span group; doc.ents is used if it is missing")
PAGE_FORMAT = typer.Option(
    "text", "--format", "-f", help="Output: text, json, markdown"
)
OUTPUT = typer.Option(None, "--output", "-o", help="File to write instead of printing")
MAX_WIDTH = typer.Option(12, min=1, help="Maximum width of spans, in tokens")
STATS_WINDOW = typer.Option("sentence", help="Setting window: sentence, doc, strided")
MAX_WINDOW = typer.Option(256, min=1, help="Setting max_window, in tokens")
STRIDE = typer.Option(64, min=0, help="Setting stride, in tokens")
SEEDS = typer.Option("1,2,3,4,5,6,7,9,11,13,15", help="Widths of seed spans")
MIN_IOU = typer.Option(0.7, min=0.0, max=1.0, help="Minimum IoU of seed and entity")


@app.command("stats")
def stats_cli(
    paths: List[Path] = PATHS,
    spans_key: str = STATS_KEY,
    format: str = PAGE_FORMAT,
    output: Optional[Path] = OUTPUT,
    max_width: int = MAX_WIDTH,
    window: str = STATS_WINDOW,
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
    from ..output_checks import require_writable

    with plain_errors():
        if output is not None:
            require_writable(output, folder=False)
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
    if output is None:
        typer.echo(page)
    else:
        msg.good(f"Wrote {output}")


def count_files(
    paths: List[Path], spans_key: str, reach: "Reach"
) -> "Dict[str, Statistics]":
    """RETURNS (Dict[str, Statistics]): by file name, or by path if names are the same.
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

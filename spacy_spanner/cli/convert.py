"""The command `spanner convert`."""

from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, Dict, Optional, Tuple

import typer
from wasabi import msg

from ..errors import Errors
from .app import app

if TYPE_CHECKING:
    from ..corpus.conversion import Summary

SOURCE = typer.Argument(..., help="File or folder to read")
TARGET = typer.Argument(..., help="File or folder to write")
FORMAT = typer.Option("", "--format", "-f", help="Source format; default: detected")
TO = typer.Option("", help="spacy, jsonl, conll, brat; default: by the target's name")
LANG = typer.Option("en", "--lang", "-l", help="Language, for its tokenizer")
SPANS_KEY = typer.Option("ents", help="Span group in doc.spans")
ENCODING = typer.Option("utf-8", help="Encoding of the source")
ENDS = typer.Option("auto", help="json: auto, inclusive, exclusive")
TAG_COLUMNS = typer.Option("", help="conll: such as 1,2, from 0; -1 is the last")
DISCONTINUOUS = typer.Option("skip", help="brat, json: skip, split, flag")
MENTION = typer.Option("extent", help="ace: extent, head")
GENIA_CLASSES = typer.Option("five", help="genia: five, all")
LABEL_NAMES = typer.Option("", help="rows: names of numeric tags: O,B-PER,I-PER")
DOCUMENTS = typer.Option(None, help="ace, kbp: file with names of documents to read")
ALIGN = typer.Option("strict", help="Boundaries in tokens: strict, contract, expand")
SENTENCES = typer.Option("given", help="Sentences: given, lines, rules, none")
WINDOW = typer.Option("sentence", help="Unit that entities cannot cross: sentence, doc")
CHARACTERS = typer.Option(False, "--characters", help="Every character is a token")
SPLIT = typer.Option(False, "--split-sentences", help="Every sentence is a document")
SET_ENTS = typer.Option("off", help="Also write doc.ents: off, longest")
SHARD = typer.Option(500_000, min=1, help="Tokens per file, if the target is a folder")
LOST = typer.Option(None, help="CSV file for lost entities; default: by the target")
TOLERANCE = typer.Option(0.0, min=0.0, max=1.0, help="Share that may be lost")


@app.command("convert")
def convert_cli(
    source: Path = SOURCE,
    target: Path = TARGET,
    format: str = FORMAT,
    to: str = TO,
    lang: str = LANG,
    spans_key: str = SPANS_KEY,
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
    try:
        summary = convert(**choices)
    except (ValueError, OSError, ImportError) as error:  # ImportError: of a language
        msg.fail(str(error), exits=1)
    report(summary, target, lost_path(target, lost), tolerance)


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

    **choices (Any): all other options.
    RETURNS (Summary): counts.
    RAISES (ValueError): an error that names file and line, if it concerns a file.
    """
    import spacy

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
        spacy.blank(lang),
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


def parse_numbers(text: str, name: str) -> Tuple[int, ...]:
    """RETURNS (Tuple[int, ...]): the integers of a comma-separated list.

    RAISES (ValueError): SP062 if there is anything else.
    """
    parts = text.replace(",", " ").split()
    if not all(part.lstrip("-").isdecimal() for part in parts):
        message = Errors.SP062.format(
            name=name, choices="whole numbers with commas", value=text
        )
        raise ValueError(message)
    return tuple(map(int, parts))


def report(summary: "Summary", target: Path, table: Path, tolerance: float) -> None:
    """Print the numbers of written and lost entities, with reasons.

    RAISES (SystemExit): with code 1 if more entities are lost than tolerated.
    """
    msg.good(
        f"{summary.documents:,} documents, {summary.tokens:,} tokens, "
        f"{summary.spans:,} entities",
        f"in {target}",
    )
    if summary.empty:
        msg.info(f"{summary.empty:,} documents without tokens were skipped")
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
        msg.fail(message, exits=1)

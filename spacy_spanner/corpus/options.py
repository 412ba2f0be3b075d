"""The choices that are left to the user; what is not given is detected or asked."""

from dataclasses import dataclass, fields
from typing import Any, Dict, Optional, Tuple

from ..errors import Errors

_CHOICES: Dict[str, Tuple[str, ...]] = {
    "ends": ("auto", "inclusive", "exclusive"),
    "discontinuous": ("skip", "split", "flag"),
    "mention": ("extent", "head"),
    "genia_classes": ("five", "all"),
    "align": ("strict", "contract", "expand"),
    "sentences": ("given", "lines", "rules", "none"),
    "window": ("sentence", "doc"),
    "set_ents": ("off", "longest"),
}


def check_choice(name: str, value: str, choices: Tuple[str, ...]) -> str:
    """RETURNS (str): the value.

    RAISES (ValueError): SP062 where it is none of the choices.
    """
    if value not in choices:
        raise ValueError(
            Errors.SP062.format(name=name, value=value, choices=", ".join(choices))
        )
    return value


def _check(options: Any) -> None:
    for field in fields(options):
        if field.name in _CHOICES:
            value = getattr(options, field.name)
            check_choice(field.name.replace("_", "-"), value, _CHOICES[field.name])


@dataclass(frozen=True)
class ReadOptions:
    """How files are read.

    encoding (str): of the text.
    tag_columns (Tuple[int, ...]): columns with tags, counted from 0, from the back if
        negative; empty for detection.
    ends (str): whether the end of an entity is its last token or the one behind it.
    discontinuous (str): entities in several parts: left out ("skip"), each part an
        entity ("split"), or parts with the entity's id in a group of their own
        ("flag").
    mention (str): "extent" or "head" of ACE's mentions.
    genia_classes (str): the "five" classes of the usual task, or "all" of the ontology.
    label_names (Tuple[str, ...]): names of tags that are numbers.
    documents (Optional[Tuple[str, ...]]): names of the documents to read; None for all.
    separator (Optional[str]): what stands between two sentences that a file has on two
        lines; None for a space, or nothing in languages that are written without.
    spans_key (str): group of existing documents.
    """

    encoding: str = "utf-8"
    tag_columns: Tuple[int, ...] = ()
    ends: str = "auto"
    discontinuous: str = "skip"
    mention: str = "extent"
    genia_classes: str = "five"
    label_names: Tuple[str, ...] = ()
    documents: Optional[Tuple[str, ...]] = None
    separator: Optional[str] = None
    spans_key: str = "ents"

    def __post_init__(self) -> None:
        _check(self)


@dataclass(frozen=True)
class DocOptions:
    """How documents are built.

    spans_key (str): the group that gets the entities.
    align (str): boundaries inside tokens: lost ("strict"), or moved to the tokens
        inside ("contract") or around ("expand").
    sentences (str): sentence boundaries as the file has them ("given"), those and by
        punctuation ("rules"), at line breaks ("lines"), or "none".
    window (str): "sentence" loses entities that cross a sentence boundary, which a
        component with this window can neither learn nor predict; "doc" keeps them.
    characters (bool): every character becomes a token.
    split_sentences (bool): every sentence becomes a document.
    set_ents (str): "longest" writes entities that do not overlap to `doc.ents` too.
    """

    spans_key: str = "ents"
    align: str = "strict"
    sentences: str = "given"
    window: str = "sentence"
    characters: bool = False
    split_sentences: bool = False
    set_ents: str = "off"

    def __post_init__(self) -> None:
        _check(self)


READ_DEFAULTS = ReadOptions()
DOC_DEFAULTS = DocOptions()

"""Options for reading corpora and building documents."""

from dataclasses import dataclass, fields
from typing import Any, Dict, Optional, Tuple

from ..errors import Errors

_CHOICES: Dict[str, Tuple[str, ...]] = {
    "ends": ("auto", "inclusive", "exclusive"),
    "discontinuous": ("skip", "split", "flag"),
    "mention": ("extent", "head"),
    "genia_classes": ("five", "all"),
    "align": ("strict", "contract", "expand"),
    "sentences": ("given", "one", "lines", "rules", "none"),
    "window": ("sentence", "doc"),
    "set_ents": ("off", "longest"),
}


def check_choice(name: str, value: str, choices: Tuple[str, ...]) -> str:
    """RETURNS (str): the value.

    RAISES (ValueError): SP062 if it is not one of the choices.
    """
    if value not in choices:
        raise ValueError(
            Errors.SP062.format(
                name=name, value=value, choices=f"one of {', '.join(choices)}"
            )
        )
    return value


def _check(options: Any) -> None:
    for field in fields(options):
        if field.name in _CHOICES:
            value = getattr(options, field.name)
            check_choice(field.name.replace("_", "-"), value, _CHOICES[field.name])


@dataclass(frozen=True)
class ReadOptions:
    """How to read files.

    encoding (str): encoding of the text.
    tag_columns (Tuple[int, ...]): columns with tags, counted from 0, or from the last
        if negative; empty to detect them.
    ends (str): whether the ends of entities are "inclusive" or "exclusive"; "auto" to
        detect it.
    discontinuous (str): discontinuous entities are skipped ("skip"), split into one
        entity per part ("split"), or their parts are written to a separate group, with
        the entity's id ("flag").
    mention (str): "extent" or "head" of ACE's mentions.
    genia_classes (str): the "five" classes of the usual task, or "all" of the ontology.
    label_names (Tuple[str, ...]): names of numeric tags.
    documents (Optional[Tuple[str, ...]]): names of the documents to read; None for all.
    separator (Optional[str]): text between two sentences of a file with one sentence
        per line; None for a space, or nothing in languages written without spaces.
    spans_key (str): span group of existing documents.
    from_key (str): another span group of existing documents, which is copied to
        `spans_key`; empty to read `spans_key` or, without this group, `doc.ents`.
    predictions (bool): read the predictions of Label Studio's tasks that nobody has
        annotated.
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
    from_key: str = ""
    predictions: bool = False

    def __post_init__(self) -> None:
        _check(self)


@dataclass(frozen=True)
class DocOptions:
    """How to build documents.

    spans_key (str): span group for the entities.
    align (str): entities with boundaries inside tokens are lost ("strict"), reduced to
        the tokens inside ("contract") or expanded to whole tokens ("expand").
    sentences (str): sentence boundaries of the file ("given"), also by punctuation
        ("rules"), at line breaks ("lines"), or "none"; with "one", each document is a
        single sentence.
    window (str): "sentence" drops entities that cross a sentence boundary, which a
        component with this window can neither learn nor predict; "doc" keeps them.
    characters (bool): make every character a token.
    split_sentences (bool): make every sentence a document.
    context (int): with `split_sentences`, the number of sentences on each side to store
        with each document, for encoders that read them as context.
    set_ents (str): "longest" also writes the longest non-overlapping entities to
        `doc.ents`.
    min_score (Optional[float]): leave out entities with a lower score, but keep those
        without a score.
    """

    spans_key: str = "ents"
    align: str = "strict"
    sentences: str = "given"
    window: str = "sentence"
    characters: bool = False
    split_sentences: bool = False
    context: int = 0
    set_ents: str = "off"
    min_score: Optional[float] = None

    def __post_init__(self) -> None:
        _check(self)
        if self.context < 0:
            raise ValueError(
                Errors.SP062.format(
                    name="context", value=self.context, choices="at least 0"
                )
            )
        if self.context and not self.split_sentences:
            raise ValueError(
                Errors.SP030.format(
                    first=f"--context {self.context}",
                    second="no --split-sentences",
                    why="whole documents contain the neighbours of their sentences",
                )
            )


READ_DEFAULTS = ReadOptions()
DOC_DEFAULTS = DocOptions()

"""Choose which texts to annotate next, and write them with their predictions."""

from pathlib import Path
from typing import Any, Dict, List, NamedTuple, Optional, Sequence, Tuple

from spacy.language import Language

from ..corpus.tasks import Task, write_tasks
from ..errors import Errors
from ..evaluation.predicting import (
    SpanSource,
    Track,
    labels_of,
    lowered_threshold,
    untracked,
)
from ..files import staged_folder
from ..review.candidates import find_scored_source, without_scores
from ..review.reports import write_jsonl
from ..review.selection import (
    DEFAULTS,
    FLOOR,
    Chosen,
    Decision,
    Preferences,
    choose,
    decisions_of,
)
from .annotate.messages import Document, Fields, Part, Piece
from .annotate.plan import find_sources
from .annotate.readers import read_part

TEXT = Fields()


class Selected(NamedTuple):
    """The chosen documents.

    key (str): the span group with the predictions.
    tasks (List[Task]): the documents with their predictions, in the order of choice.
    pool (int): documents to choose from.
    """

    key: str
    tasks: List[Task]
    pool: int


def read_texts(
    inputs: Sequence[str],
    nlp: Language,
    *,
    fields: Fields = TEXT,
    by_line: bool = False,
) -> List[Document]:
    """Read texts as `spanner annotate` does.

    inputs (Sequence[str]): files, folders and globs.
    fields (Fields): names of the fields of JSON Lines and Parquet.
    by_line (bool): each line of a text file is a document, instead of the whole file.
    RETURNS (List[Document]): without empty texts.
    RAISES (ValueError): SP120 without files, SP187 without texts, or why a document
        cannot be read.
    """
    sources = find_sources(inputs, by_line=by_line)
    pieces = tuple(Piece(str(one.path), one.name, one.format) for one in sources)
    found = list(read_part(Part(0, 0, pieces), fields, nlp.vocab))
    broken = [document.problem for document in found if document.problem]
    if broken:
        raise ValueError(broken[0])
    found = [
        one for one in found if (one.text if one.doc is None else one.doc.text).strip()
    ]
    if not found:
        raise ValueError(Errors.SP187.format(inputs=", ".join(inputs)))
    return found


def select_texts(
    nlp: Language,
    documents: Sequence[Document],
    number: int,
    *,
    key: Optional[str] = None,
    preferences: Preferences = DEFAULTS,
    track: Track = untracked,
) -> Selected:
    """Choose documents, and predict them.

    nlp (Language): the pipeline.
    documents (Sequence[Document]): the pool.
    number (int): documents to choose.
    key (Optional[str]): the span group; see `find_source`.
    RETURNS (Selected): the chosen ones.
    RAISES (ValueError): SP185 for a component without scores, SP188 for weights of
        labels that it does not have.
    """
    source = find_scored_source(nlp, key)
    _check_labels(preferences, labels_of(nlp, source))
    pool, sizes = expect_errors(nlp, documents, source, track=track)
    chosen = choose(pool, sizes, number, preferences)
    predicted = nlp.pipe(_input(documents[one.place]) for one in chosen)
    tasks = [
        Task(doc, _about(documents[one.place], one, rank))
        for rank, (doc, one) in enumerate(zip(predicted, chosen), start=1)
    ]
    return Selected(source.key, tasks, len(pool))


def expect_errors(
    nlp: Language,
    documents: Sequence[Document],
    source: SpanSource,
    *,
    track: Track = untracked,
) -> Tuple[List[List[Decision]], List[int]]:
    """Predict documents with a low threshold.

    source (SpanSource): the component; see `find_scored_source`.
    RETURNS (Tuple[List[List[Decision]], List[int]]): the decisions about the candidates
        of each document, and its number of tokens.
    RAISES (ValueError): SP185 for a component without scores.
    """
    pool: List[List[Decision]] = []
    sizes: List[int] = []
    with lowered_threshold(source, FLOOR, keep_all=True):
        docs = nlp.pipe(map(_input, documents))
        for doc in track(docs, total=len(documents), what="Predicting"):
            decisions = decisions_of(doc, source.key)
            if decisions is None:
                raise ValueError(without_scores(source))
            pool.append(decisions)
            sizes.append(len(doc))
    return pool, sizes


def _input(document: Document) -> Any:
    """RETURNS (Any): what `nlp.pipe` takes: a text, or a copy of a document."""
    return document.text if document.doc is None else document.doc.copy()


def _about(document: Document, chosen: Chosen, rank: int) -> Dict[str, Any]:
    return {
        "id": document.id,
        "rank": rank,
        "expected_errors": round(chosen.expected_errors, 3),
        "gain": round(chosen.gain, 3),
    }


def _check_labels(preferences: Preferences, labels: Sequence[str]) -> None:
    """RAISES (ValueError): SP188."""
    unknown = sorted(set(preferences.weights) - set(labels))
    if unknown:
        message = Errors.SP188.format(
            unknown=", ".join(unknown), labels=", ".join(labels)
        )
        raise ValueError(message)


def write_selected(found: Selected, output: Path, tools: Sequence[str]) -> None:
    """Write `selection.jsonl` and the tasks of annotation tools.

    output (Path): folder; files with other names stay.
    tools (Sequence[str]): keys of `corpus.tasks.TOOLS`.
    """
    with staged_folder(output) as folder:
        rows = ({**task.about, "text": task.doc.text} for task in found.tasks)
        write_jsonl(folder / "selection.jsonl", rows)
        for tool in tools:
            write_tasks(found.tasks, folder, tool, found.key)

"""Submitted tasks: one file each, so that a restart loses nothing.

The files have the format of Label Studio's export, so that `spanner convert` reads the
folder, too.
"""

import json
from pathlib import Path
from threading import Lock
from typing import Any, Dict, Iterator, List, NamedTuple, Sequence, Set

from spacy.language import Language
from spacy.tokens import Doc

from ...corpus.conversion import read_docs
from ...corpus.options import DocOptions
from ...corpus.records import LostSpans
from ...files import read_json, write_text

FORMAT = "jsonl"


class AnnotatedTasks(NamedTuple):
    """The annotated documents of all tasks, and the spans that do not fit them."""

    docs: List[Doc]
    lost: LostSpans


class SubmittedTasks:
    """The tasks in a folder, with their annotations.

    folder (Path): has a file for each task; created with the first one.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.fresh = 0  # annotations that came or changed since they were counted
        self._lock = Lock()
        self._tasks: Dict[int, Dict[str, Any]] = {}
        for path in sorted(folder.glob("*.json")):
            task = read_json(path)
            self._tasks[task["id"]] = task

    def __len__(self) -> int:
        return len(self._tasks)

    def add(
        self, number: int, text: str, annotations: Sequence[Dict[str, Any]]
    ) -> None:
        """Store a task, or add annotations to it; those with known ids are replaced.

        number (int): id of the task.
        text (str): its text.
        annotations (Sequence[Dict[str, Any]]): with `id`, `was_cancelled` and `result`.
        """
        with self._lock:
            known = self._tasks.get(number)
            same = known is not None and known["data"]["text"] == text
            before = known["annotations"] if known is not None and same else []
            rows = {one["id"]: one for one in [*before, *annotations]}
            self._store(number, text, list(rows.values()))
            self.fresh += len(annotations)

    def remove(self, numbers: Set[int]) -> None:
        """Delete annotations.

        numbers (Set[int]): their ids; unknown ones are ignored.
        """
        with self._lock:
            for task in list(self._tasks.values()):
                before = task["annotations"]
                rows = [one for one in before if one["id"] not in numbers]
                if len(rows) < len(before):
                    self._store(task["id"], task["data"]["text"], rows)
                    self.fresh += len(before) - len(rows)

    def _store(self, number: int, text: str, rows: List[Dict[str, Any]]) -> None:
        task = {"id": number, "data": {"text": text}, "annotations": rows}
        line = json.dumps(task, ensure_ascii=False)
        write_text(self.folder / f"{number}.json", line + "\n")
        self._tasks[number] = task

    def count(self) -> int:
        """RETURNS (int): annotations that came since this was called last."""
        with self._lock:
            fresh, self.fresh = self.fresh, 0
            return fresh

    def annotated(self, nlp: Language, key: str) -> AnnotatedTasks:
        """RETURNS (AnnotatedTasks): the tasks that nobody cancelled, as documents.

        nlp (Language): tokenizes them.
        key (str): the span group.
        """
        lost = LostSpans()
        with self._lock:  # no file changes meanwhile
            docs = list(self._read(nlp, key, lost))
        return AnnotatedTasks(
            [doc for doc in docs if len(doc) and key in doc.spans], lost
        )

    def _read(self, nlp: Language, key: str, lost: LostSpans) -> Iterator[Doc]:
        options = DocOptions(spans_key=key, window="doc")
        for path in sorted(self.folder.glob("*.json")):
            yield from read_docs(
                path, nlp, format=FORMAT, doc_options=options, lost=lost
            )

"""The account of entities that are not in the output: a table, counts, a verdict."""

import csv
from collections import Counter
from pathlib import Path
from typing import Any, Iterable, List, Optional

from .records import Lost

# A repeated entity is in the table, but nothing of it is missing in the output.
DUPLICATE = "duplicate"
COLUMNS = ("file", "line", "text", "label", "reason")
# Rows that are kept for whoever asks; the table has them all.
N_EXAMPLES = 5


class LostSpans:
    """Count lost entities, and write each to a CSV file as soon as it is known.

    path (Optional[Path]): the file, which is made when there is something to write;
        None counts only.
    """

    def __init__(self, path: Optional[Path] = None) -> None:
        self.path = path
        self.reasons: Counter = Counter()
        self.examples: List[Lost] = []
        self._file: Any = None
        if path is not None:
            path.unlink(missing_ok=True)

    def add(self, rows: Iterable[Lost]) -> None:
        """Take note of lost entities."""
        for row in rows:
            self.reasons[row.reason] += 1
            if len(self.examples) < N_EXAMPLES:
                self.examples.append(row)
            if self.path is not None:
                self._writer().writerow(row)

    def _writer(self) -> Any:
        if self._file is None and self.path is not None:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self._file = self.path.open("w", encoding="utf8", newline="")
            csv.writer(self._file).writerow(COLUMNS)
        return csv.writer(self._file)

    @property
    def n_listed(self) -> int:
        """Rows of the table."""
        return sum(self.reasons.values())

    @property
    def n_lost(self) -> int:
        """Entities that are missing in the output; repeated ones are not."""
        return sum(n for reason, n in self.reasons.items() if reason != DUPLICATE)

    def close(self) -> None:
        """Finish the file."""
        if self._file is not None:
            self._file.close()
            self._file = None

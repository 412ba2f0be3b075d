"""Record the entities that are missing from the output, in a table and as counts."""

import csv
from collections import Counter
from pathlib import Path
from typing import Any, Iterable, List, Optional

from .records import Lost

# Duplicates are listed in the table, but do not count as lost.
DUPLICATE = "duplicate"
COLUMNS = ("file", "line", "text", "label", "reason")
# Number of lost entities to keep in memory.
N_EXAMPLES = 5


class LostSpans:
    """Count lost entities, and write each to a CSV file immediately.

    path (Optional[Path]): the file, created with the first lost entity; None to only
        count.
    """

    def __init__(self, path: Optional[Path] = None) -> None:
        self.path = path
        self.reasons: Counter = Counter()
        self.examples: List[Lost] = []
        self._file: Any = None
        if path is not None:
            path.unlink(missing_ok=True)

    def add(self, rows: Iterable[Lost]) -> None:
        """Record lost entities."""
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
        """Number of rows in the table."""
        return sum(self.reasons.values())

    @property
    def n_lost(self) -> int:
        """Number of entities that are missing from the output, without duplicates."""
        return sum(n for reason, n in self.reasons.items() if reason != DUPLICATE)

    def close(self) -> None:
        """Close the file."""
        if self._file is not None:
            self._file.close()
            self._file = None

"""The account of lost entities."""

import csv
from pathlib import Path

from spacy_spanner.corpus.records import Lost, LostSpans

ROWS = [
    Lost("a.txt", 3, 'a "b",\nc', "X", "empty"),
    Lost("a.txt", 4, "d", "Y", "duplicate"),
    Lost("b.txt", 1, "北京", "Y", "empty"),
]


def test_rows_go_to_the_table(tmp_path: Path) -> None:
    lost = LostSpans(tmp_path / "deep" / "lost.csv")
    lost.add(ROWS)
    lost.close()
    with (tmp_path / "deep" / "lost.csv").open(encoding="utf8", newline="") as file:
        header, *rows = csv.reader(file)
    assert header == ["file", "line", "text", "label", "reason"]
    assert rows == [[str(value) for value in row] for row in ROWS]


def test_repeated_entities_are_listed_but_not_missing() -> None:
    lost = LostSpans()
    lost.add(ROWS)
    assert lost.reasons == {"empty": 2, "duplicate": 1}
    assert lost.n_lost == 2
    assert lost.examples == ROWS


def test_no_table_where_nothing_is_lost_and_an_old_one_goes(tmp_path: Path) -> None:
    path = tmp_path / "lost.csv"
    path.write_text("old")
    LostSpans(path).close()
    assert not path.exists()

"""Numbers and tables as text."""

from spacy_spanner.evaluation.tables import markdown_table, percent


def test_percent() -> None:
    assert percent(0.1234) == "12.3"
    assert percent(None) == "-"


def test_markdown_table() -> None:
    table = markdown_table(["a", "b"], [["x|y", "1"]])
    assert table == "| a | b |\n| --- | --: |\n| x\\|y | 1 |"
    assert markdown_table(["a", "b"], [], numbers=False).endswith("| --- | --- |")

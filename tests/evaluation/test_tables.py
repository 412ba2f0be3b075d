"""Numbers and tables as text."""

from spacy_spanner.evaluation.tables import amount, markdown_table, percent


def test_percent() -> None:
    assert percent(0.1234) == "12.3"
    assert percent(None) == "-"


def test_amount_is_one_or_many() -> None:
    assert [amount(n, "span") for n in (0, 1, 2)] == ["0 spans", "1 span", "2 spans"]
    assert amount(1, "entity", "entities") == "1 entity"
    assert amount(1_000, "entity", "entities") == "1,000 entities"


def test_markdown_table() -> None:
    table = markdown_table(["a", "b"], [["x|y", "1"]])
    assert table == "| a | b |\n| --- | --: |\n| x\\|y | 1 |"
    assert markdown_table(["a", "b"], [], numbers=False).endswith("| --- | --- |")

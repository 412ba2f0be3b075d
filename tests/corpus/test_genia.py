"""GENIA XML: nested and coordinated entities."""

from pathlib import Path

import pytest

from .util import docs_and_lost, read_all, spans_of, write_file

XML = """\
<?xml version="1.0" encoding="UTF-8"?>
<set>
<article><articleinfo><bibliomisc>MEDLINE:1</bibliomisc></articleinfo>
<title><sentence><cons lex="IL-2_gene" sem="G#DNA_domain_or_region"><cons lex="IL-2"
sem="G#protein_molecule">IL-2</cons> gene</cons> of <cons sem="G#other_name">us</cons>
.</sentence></title>
<abstract>
<sentence>Both <cons sem="(AND G#protein_molecule G#protein_molecule)"><cons>p50</cons>
and <cons>p65</cons> units</cons> in <cons sem="G#cell_type">T cells</cons>.</sentence>
</abstract></article>
<article><abstract><sentence>&lt; <cons sem="G#RNA_family">mRNA</cons></sentence>
</abstract></article>
</set>
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return write_file(tmp_path, "genia.xml", XML)


def test_read_of_nested_entities_and_sentences(path: Path) -> None:
    first, second = read_all("genia", path).records
    found = [(first.text[m.start : m.end], m.label) for m in first.mentions or ()]
    assert found == [
        ("IL-2", "protein"),
        ("IL-2 gene", "DNA"),
        ("T cells", "cell_type"),
    ]
    assert [first.text[i : i + 4] for i in first.sentence_starts or ()] == [
        "IL-2",
        "Both",
    ]
    assert (second.text, second.line) == ("< mRNA", 11)


def test_coordinated_entities_are_listed_as_lost(path: Path) -> None:
    (row,) = read_all("genia", path).lost
    assert row.text == "p50 and p65 units"
    assert row.label == "protein+protein"
    assert row.line == 8
    assert "coordinated" in row.reason


def test_other_classes_are_counted_or_read(path: Path) -> None:
    assert "1 entity belongs to no class" in read_all("genia", path).notes[0]
    labels = [m[2] for m in read_all("genia", path, genia_classes="all").mentions]
    assert labels == [
        "protein_molecule",
        "DNA_domain_or_region",
        "other_name",
        "cell_type",
        "RNA_family",
    ]


def test_documents_have_entities_on_tokens(path: Path) -> None:
    docs, _ = docs_and_lost("genia", path)
    assert spans_of(docs[1]) == [(1, 2, "RNA")]
    assert len(list(docs[0].sents)) == 2


@pytest.mark.parametrize(
    "text, line",
    [
        pytest.param("<set>\n<article>\n</set>", 3, id="not closed"),
        pytest.param("<set>\n<article>&nbsp;</article></set>", 2, id="entity"),
        pytest.param("<set>\n" + 300 * "<a>", 2, id="deep"),
        pytest.param('<?xml version="1.0" encoding="x-y"?><set/>', 1, id="encoding"),
        pytest.param('<?xml version="1.0" encoding="utf-7"?><set/>', 1, id="utf-7"),
        pytest.param("", 1, id="empty"),
    ],
)
def test_what_is_no_xml_is_found(tmp_path: Path, text: str, line: int) -> None:
    path = write_file(tmp_path, "a.xml", text)
    with pytest.raises(ValueError, match=rf"SP001.*a\.xml, line {line},"):
        read_all("genia", path)


def test_read_of_an_unknown_entity_of_a_dtd_loses_no_text(tmp_path: Path) -> None:
    head = '<!DOCTYPE set SYSTEM "gpml.dtd">\n'
    path = write_file(tmp_path, "a.xml", head + "<article>a&beta;b</article>")
    with pytest.raises(ValueError, match=r"SP001.*line 2.*&beta;"):
        read_all("genia", path)

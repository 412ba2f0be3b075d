"""Any bytes in: documents, or a coded error with the line; never a traceback."""

import json
import re
from pathlib import Path
from typing import Dict, List

import pytest
import spacy
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from spacy_spanner.corpus.conversion import read_docs
from spacy_spanner.corpus.formats.catalogue import FORMATS, detect_format

from .test_ace import PER, SGM, apf
from .test_brat import ANN, TEXT
from .test_genia import XML
from .test_kbp import SOURCE, row
from .test_nested_json import TOKENS
from .test_offsets import SHAPES
from .test_ontonotes import CONLL, NAME
from .util import write_file

NLP = spacy.blank("en")
CODED = re.compile(r"\[SP\d{3}\] ", flags=re.DOTALL)
LINE, DOCUMENT = re.compile(r"line \d+"), re.compile(r"document \d+")

# A sound file of each format; what comes out is bitten, cut and mixed.
ENTITY = {"start": 0, "end": 4, "type": "X"}
SOUND: Dict[str, List[str]] = {
    "conll": ["a NN O\nb B-X I-Y\n\n-DOCSTART- O\n\nc S-X O\n", "科0\tO\n技1\tB-X\n"],
    "json": [
        json.dumps({"tokens": TOKENS, "entities": [ENTITY]}),
        json.dumps([{"sentence": TOKENS, "ner": [{"index": [0, 2], "type": "X"}]}]),
    ],
    "jsonl": [json.dumps(shape) for shape in SHAPES.values()],
    "brackets": ["[the [US](GPE) Court](ORG) met.\n\n# note\n[a](X) b\n"],
    "genia": [XML],
    "ontonotes": [CONLL],
    "ontonotes-name": [NAME],
    "rows": ['{"tokens": ["a", "b"], "ner_tags": ["B-X", "O"]}\n'],
    "spacy": ["abc"],
    "brat": [ANN],
    "ace": [apf(PER)],
    "kbp": [row("Ann")],
}
# Files that a format wants beside the one with the entities.
BESIDE = {
    "brat": ("data.txt", TEXT),
    "ace": ("data.sgm", SGM),
    "kbp": ("D1.xml", SOURCE),
}
NAMES = {
    "brat": "data.ann",
    "ace": "data.apf.xml",
    "kbp": "data.tab",
    "spacy": "data.spacy",
    "ontonotes": "data_gold_conll",
    "ontonotes-name": "data.name",
}


@st.composite
def damaged(draw: st.DrawFn, format: str) -> bytes:
    """Bytes of a sound file with pieces cut, repeated or replaced; or any bytes."""
    if draw(st.integers(0, 4)) == 0:
        return draw(st.binary(max_size=60))
    data = draw(st.sampled_from(SOUND[format])).encode("utf8")
    for _ in range(draw(st.integers(0, 3))):
        start = draw(st.integers(0, len(data)))
        end = min(len(data), start + draw(st.integers(0, 12)))
        pieces = [
            b"",
            b"\n",
            b"\t",
            b'"',
            b"<",
            b">",
            b"-1",
            b"9" * 30,
            b"\xff",
            b"\x00",
        ]
        pieces += [data[start:end] * 2, b"\\ud800", b"&x;", b"[", b"{", b"null", b"\r"]
        data = data[:start] + draw(st.sampled_from(pieces)) + data[end:]
    return data


@pytest.mark.parametrize("format", FORMATS)
@settings(
    max_examples=150,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(data=st.data())
def test_any_bytes_give_documents_or_a_coded_error(
    tmp_path: Path, format: str, data: st.DataObject
) -> None:
    path = write_file(tmp_path, NAMES.get(format, "data"), data.draw(damaged(format)))
    if format in BESIDE:
        write_file(tmp_path, *BESIDE[format])
    source = tmp_path if FORMATS[format].folder and format != "rows" else path
    try:
        docs = list(read_docs(source, NLP, format=format))
    except ValueError as error:
        assert CODED.match(str(error)), error
        # Where there is nothing at all, there is no line either.
        place = DOCUMENT if format == "spacy" else LINE
        assert place.search(str(error)) or "SP061" in str(error), error
    else:
        for doc in docs:
            assert all(span.label_ and len(span) for span in doc.spans.get("ents", ()))


@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_any_bytes_have_a_format_or_a_coded_error(
    tmp_path: Path, data: st.DataObject
) -> None:
    format = data.draw(st.sampled_from(sorted(SOUND)))
    path = write_file(tmp_path, "data", data.draw(damaged(format)))
    try:
        assert detect_format(path) in FORMATS
    except ValueError as error:
        assert str(error).startswith(("[SP053]", "[SP061]"))

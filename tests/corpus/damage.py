"""Sound files of every format, damaged ones, and what a reader may make of them."""

import json
import re
from pathlib import Path
from typing import Dict, List, NamedTuple

import spacy
from hypothesis import strategies as st
from spacy.tokens import DocBin

from spacy_spanner.corpus.conversion import read_docs
from spacy_spanner.corpus.formats.catalogue import FORMATS

from ..helpers import doc_of
from .test_ace import PER, SGM, apf
from .test_brat import ANN, TEXT
from .test_genia import XML
from .test_kbp import SOURCE, row
from .test_nested_json import TOKENS
from .test_offsets import SHAPES
from .test_ontonotes import CONLL, NAME
from .util import write_file

# Cases of former runs: see docs/reliability.md.
KEPT = Path(__file__).with_name("cases.jsonl")
DOCUMENTS = "documents"
NLP = spacy.blank("en")
CODED = re.compile(r"\[(SP\d{3})\] ")
LINE, DOCUMENT = re.compile(r"line \d+"), re.compile(r"document \d+")

# Sound files of each format, to be damaged.
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
    "brat": [ANN],
    "ace": [apf(PER)],
    "kbp": [row("Ann")],
}
FILES = {name: [text.encode("utf8") for text in SOUND[name]] for name in SOUND}
FILES["spacy"] = [DocBin(docs=[doc_of(["a", "b"], [(0, 1, "X")])]).to_bytes()]
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
    data = draw(st.sampled_from(FILES[format]))
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


def read_any(folder: Path, format: str, data: bytes) -> str:
    """Read a file of any bytes: there are documents, or a coded error with the line.

    RETURNS (str): the code, or `DOCUMENTS`.
    """
    path = write_file(folder, NAMES.get(format, "data"), data)
    if format in BESIDE:
        write_file(folder, *BESIDE[format])
    source = folder if FORMATS[format].folder and format != "rows" else path
    try:
        docs = list(read_docs(source, NLP, format=format))
    except ValueError as error:
        coded = CODED.match(str(error))
        assert coded, error
        # Where there is nothing at all, there is no line either.
        place = DOCUMENT if format == "spacy" else LINE
        assert place.search(str(error)) or coded[1] == "SP061", error
        return coded[1]
    for doc in docs:
        assert all(span.label_ and len(span) for span in doc.spans.get("ents", ()))
    return DOCUMENTS


class Case(NamedTuple):
    """The bytes of a file that was tried, and what a reader gives for them."""

    format: str
    data: bytes
    gives: str

    def line(self) -> str:
        """RETURNS (str): a line of the kept cases. Each byte is a character."""
        text = self.data.decode("latin-1")
        return json.dumps({"format": self.format, "gives": self.gives, "bytes": text})


def kept_cases() -> List[Case]:
    """RETURNS (List[Case]): the cases in the repository."""
    rows = map(json.loads, KEPT.read_text(encoding="utf8").splitlines())
    return [
        Case(row["format"], row["bytes"].encode("latin-1"), row["gives"])
        for row in rows
    ]

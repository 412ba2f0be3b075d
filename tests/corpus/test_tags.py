"""Tags of layers, in all schemes, and back."""

import re
from typing import Any, Dict, List, Sequence, Set, Tuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spacy_spanner.corpus.tags import decode_tags, encode_layers, tag_problem

Rows = List[Tuple[int, int, str]]

SCHEMES: Dict[str, Tuple[str, Rows]] = {
    "outside only": ("O O O", []),
    "IOB1": ("I-A I-A O I-B", [(0, 2, "A"), (3, 4, "B")]),
    "IOB1, B parts neighbours": ("I-A I-A B-A O", [(0, 2, "A"), (2, 3, "A")]),
    "IOB1, label parts neighbours": ("I-A I-B I-B", [(0, 1, "A"), (1, 3, "B")]),
    "IOB2": ("B-A I-A O B-B", [(0, 2, "A"), (3, 4, "B")]),
    "IOB2 neighbours": ("B-A B-A I-A", [(0, 1, "A"), (1, 3, "A")]),
    "IOB2 at the end": ("O B-A I-A", [(1, 3, "A")]),
    "BILUO": ("B-A I-A L-A U-B O", [(0, 3, "A"), (3, 4, "B")]),
    "BILUO, pairs": ("B-A L-A B-A L-A", [(0, 2, "A"), (2, 4, "A")]),
    "BILUO, units": ("U-A U-A", [(0, 1, "A"), (1, 2, "A")]),
    "BMES": ("B-A M-A E-A S-B O", [(0, 3, "A"), (3, 4, "B")]),
    "BMES, pairs": ("B-A E-A B-A E-A", [(0, 2, "A"), (2, 4, "A")]),
    "BMES, units": ("S-A S-A", [(0, 1, "A"), (1, 2, "A")]),
    "BIOES": ("B-A I-A E-A S-B", [(0, 3, "A"), (3, 4, "B")]),
    "label with hyphen": ("B-A-1 I-A-1", [(0, 2, "A-1")]),
    "label like a prefix": ("B-S I-S O B-L", [(0, 2, "S"), (3, 4, "L")]),
}


@pytest.mark.parametrize("tags, expected", SCHEMES.values(), ids=SCHEMES.keys())
def test_decode_tags_of_scheme(tags: str, expected: Rows) -> None:
    assert decode_tags(tags.split()) == expected


@pytest.mark.parametrize(
    "tags, spans",
    [
        pytest.param("I-A L-A", [(0, 2, "A")], id="no begin"),
        pytest.param("O M-A E-A", [(1, 3, "A")], id="no begin in BMES"),
        pytest.param("E-A O", [(0, 1, "A")], id="last alone"),
        pytest.param("B-A O S-B", [(0, 1, "A"), (2, 3, "B")], id="no last"),
        pytest.param("B-A I-A O U-B", [(0, 2, "A"), (3, 4, "B")], id="no last, longer"),
        pytest.param("B-A I-B", [(0, 1, "A"), (1, 2, "B")], id="label changes"),
        pytest.param("B-A E-A I-A", [(0, 2, "A"), (2, 3, "A")], id="inside after last"),
    ],
)
def test_decode_tags_of_an_irregular_sequence_loses_nothing(
    tags: str, spans: List[Tuple[int, int, str]]
) -> None:
    assert decode_tags(tags.split()) == spans


@pytest.mark.parametrize(
    "tag, problem",
    [
        ("O", ""),
        ("B-X", ""),
        ("B-X|Y", ""),
        ("B-X|Y-Z", ""),
        ("X", "'X' is not a tag such as O, B-X, I-X or S-X"),
        (3, "3 is not a tag"),
        ("I-ORG|U-GPE", "'I-ORG|U-GPE' contains several tags: .* a separate column"),
    ],
)
def test_tag_problem(tag: Any, problem: str) -> None:
    found = tag_problem(tag)
    assert bool(found) == bool(problem)
    assert re.match(problem.replace("|", r"\|"), found)


def test_encode_layers_of_flat_entities_is_one_layer() -> None:
    spans = [(0, 2, "A"), (2, 3, "B")]
    assert encode_layers(4, spans) == [["B-A", "I-A", "B-B", "O"]]


def test_encode_layers_puts_the_longer_of_nested_entities_first() -> None:
    spans = [(0, 1, "B"), (0, 3, "A"), (1, 3, "C"), (3, 4, "D")]
    assert encode_layers(4, spans) == [
        ["B-A", "I-A", "I-A", "B-D"],
        ["B-B", "B-C", "I-C", "O"],
    ]


def test_encode_layers_of_crossing_entities_needs_two() -> None:
    layers = encode_layers(3, [(0, 2, "A"), (1, 3, "A")])
    assert layers == [["B-A", "I-A", "O"], ["O", "B-A", "I-A"]]


def test_encode_layers_without_entities_has_a_layer() -> None:
    assert encode_layers(2, []) == [["O", "O"]]


# ----------------------------------------------------------------- properties


@st.composite
def flat_entities(draw: st.DrawFn) -> Tuple[int, Rows]:
    """Length of a sentence, and entities that do not overlap."""
    found, position = [], 0
    for _ in range(draw(st.integers(0, 4))):
        start = position + draw(st.integers(0, 2))
        position = start + draw(st.integers(1, 3))
        found.append((start, position, draw(st.sampled_from(["A", "B"]))))
    return max(position + draw(st.integers(0, 2)), 1), found


def write(length: int, entities: Rows, letters: Sequence[str]) -> List[str]:
    """letters: for first, inside, last and single token."""
    first, inside, last, single = letters
    tags = ["O"] * length
    for start, end, label in entities:
        tags[start:end] = [f"{inside}-{label}"] * (end - start)
        tags[start], tags[end - 1] = f"{first}-{label}", f"{last}-{label}"
        if end - start == 1:
            tags[start] = f"{single}-{label}"
    return tags


@given(flat_entities(), st.sampled_from(["BIIB", "BILU", "BMES", "BIES"]))
def test_decode_tags_reads_back_what_was_written(
    case: Tuple[int, Rows], letters: str
) -> None:
    length, entities = case
    assert decode_tags(write(length, entities, letters)) == entities


any_spans = st.sets(
    st.tuples(st.integers(0, 5), st.integers(1, 4), st.sampled_from("AB")).map(
        lambda row: (row[0], row[0] + row[1], row[2])
    ),
    max_size=8,
)


@given(any_spans)
def test_encode_layers_keeps_all_entities(spans: Set[Tuple[int, int, str]]) -> None:
    layers = encode_layers(9, spans)
    decoded = [span for tags in layers for span in decode_tags(tags)]
    assert sorted(decoded) == sorted(spans)
    deepest = max(
        sum(start <= token < end for start, end, _ in spans) for token in range(9)
    )
    assert len(layers) >= max(deepest, 1)

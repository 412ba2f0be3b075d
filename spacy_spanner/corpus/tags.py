"""Convert tags to entities (from any common scheme) and back (to IOB2)."""

import re
from typing import Any, Iterable, List, Sequence, Tuple

TokenSpan = Tuple[int, int, str]

TAG = re.compile(r"O|[BIMELSU]-\S+")
# Some files have the tags of nested entities in one column: "B-ORG|B-GPE".
_SEVERAL = re.compile(r"\|[BIMELSU]-")
# Prefixes that begin or end an entity in BIO, BILUO, BIOES and BMES.
OPENING, CLOSING = frozenset("BSU"), frozenset("ELSU")


def tag_problem(tag: Any) -> str:
    """RETURNS (str): what is wrong with a tag, and what to do; empty if nothing is."""
    if not isinstance(tag, str) or not TAG.fullmatch(tag):
        return f"{tag!r} is not a tag such as O, B-X, I-X or S-X"
    if _SEVERAL.search(tag):
        return (
            f"{tag!r} contains several tags: write each into a separate column, with O "
            "where there are fewer"
        )
    return ""


def decode_tags(tags: Sequence[str]) -> List[TokenSpan]:
    """Read the entities of one layer, in any common scheme.

    An entity begins at an opening tag, and at any other tag that cannot continue the
    previous one. So irregular sequences lose no entity, and IOB1 needs no special rule.

    tags (Sequence[str]): one tag per token.
    RETURNS (List[TokenSpan]): start, exclusive end and label.
    """
    spans: List[TokenSpan] = []
    if tags.count("O") == len(tags):
        return spans
    closed = True
    for index, tag in enumerate(tags):
        if tag == "O":
            closed = True
            continue
        action, label = tag[0], tag[2:]
        if closed or action in OPENING or label != spans[-1][2]:
            spans.append((index, index, label))
        spans[-1] = (spans[-1][0], index + 1, label)
        closed = action in CLOSING
    return spans


def encode_layers(length: int, spans: Iterable[TokenSpan]) -> List[List[str]]:
    """Write entities as layers of IOB2 tags, in as few layers as possible.

    Entities that share a token are in different layers, longer ones first.

    length (int): number of tokens.
    spans (Iterable[TokenSpan]): entities without exact duplicates.
    RETURNS (List[List[str]]): at least one layer, each with a tag per token.
    """
    layers = [["O"] * length]
    for start, end, label in sorted(spans, key=lambda span: (span[0], -span[1])):
        free = (tags for tags in layers if set(tags[start:end]) == {"O"})
        tags = next(free, None)
        if tags is None:
            tags = ["O"] * length
            layers.append(tags)
        tags[start:end] = [f"B-{label}", *[f"I-{label}"] * (end - start - 1)]
    return layers

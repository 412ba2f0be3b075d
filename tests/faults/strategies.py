"""Documents and gold as nobody would write them."""

from typing import Dict, List, Sequence, Tuple

from hypothesis import strategies as st
from spacy.tokens import Doc
from spacy.vocab import Vocab

Gold = List[Tuple[int, int, str]]

ODD_LABELS = [
    " ",
    "\n",
    "a.b",
    "a=b",
    "{curly}",
    "%s",
    "ünïcødé",
    "人",
    "\u202eright to left",
    "\u200b",
    "😀👩\u200d👩\u200d👧",
    "null",
    "x" * 1000,
    "../model",
    '"quoted"',
    "I-PER",
]

ODD_PIECES = [
    "a" * 10_000,
    "ab" * 50,
    "👩\u200d👩\u200d👧\u200d👦",
    "🇺🇸🏴\U000e0067\U000e0062\U000e007f",
    "שלום עולם",
    "مرحبا بالعالم",
    "\u202e\u202d\u2066",
    "\u200b\u200c\u200d\ufeff\u00ad",
    "\x00\x01\x07\x08\x1b\x7f\x85",
    "e\u0301\u0327" * 20,
    "\ufdd0\uffff\U0010ffff",
    " ",
    "\n\n\t\r\u00a0\u2028\u2029\u3000",
    "北京大学",
    "ǅﬃß",
    "https://x.y/?q=%00#-",
    "Mr. U.S. ... ?! ;-)",
    "The US Supreme Court will hear Leon County.",
]

# Surrogates alone are no text: spaCy cannot store them.
characters = st.characters(exclude_categories=("Cs",))
texts = st.one_of(
    st.text(characters, max_size=40),
    st.lists(st.sampled_from(ODD_PIECES), max_size=4).map(" ".join),
    st.lists(st.sampled_from(ODD_PIECES), max_size=4).map("".join),
    st.text(st.sampled_from(" \t\n\u00a0\u2003"), max_size=12),
)
words = st.one_of(
    st.text(characters, min_size=1, max_size=6),
    st.sampled_from(["a", "Leon", " ", "\n", "a b", "\u200b", "."]),
)


@st.composite
def gold_of(draw: st.DrawFn, n_tokens: int, labels: Sequence[str]) -> Gold:
    """Draw spans that nest, cross, repeat, share a place, or are everything."""
    if not n_tokens:
        return []
    start = st.integers(0, n_tokens - 1)
    label = st.sampled_from(list(labels))
    spans = draw(st.lists(st.tuples(start, start, label), max_size=12))
    gold = [(min(a, b), max(a, b) + 1, name) for a, b, name in spans]
    if draw(st.booleans()):
        gold += [(0, n_tokens, name) for name in labels]
    if draw(st.booleans()):
        depth = min(10, n_tokens)
        gold += [(0, end, draw(label)) for end in range(n_tokens - depth + 1, n_tokens)]
    return gold


@st.composite
def documents(draw: st.DrawFn, labels: Sequence[str]) -> Dict:
    """Draw the tokens of a document, where its sentences begin, and its gold."""
    tokens = draw(st.lists(words, max_size=25))
    starts = draw(
        st.one_of(
            st.none(),
            st.lists(st.booleans(), min_size=len(tokens), max_size=len(tokens)),
        )
    )
    return {
        "words": tokens,
        "sent_starts": starts,
        "gold": draw(gold_of(len(tokens), labels)),
    }


def doc_of(vocab: Vocab, content: Dict) -> Doc:
    """Make a document of what was drawn, without its gold."""
    starts = content["sent_starts"]
    return Doc(vocab, words=content["words"], sent_starts=starts or None)

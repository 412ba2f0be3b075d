"""Records to documents: tokens, sentences, entities, and what is lost on the way."""

from typing import Any, List, Optional, Tuple

import pytest
import spacy
from hypothesis import given
from hypothesis import strategies as st
from spacy.language import Language
from spacy.tokens import Doc

from spacy_spanner.corpus.documents import to_docs
from spacy_spanner.corpus.options import DocOptions, ReadOptions
from spacy_spanner.corpus.records import Lost, LostSpans, Mention, Record, by_characters
from spacy_spanner.encoders.surroundings import NEIGHBOURS, set_neighbours

from .util import spans_of

NLP = spacy.blank("en")
WORDS = ["The", "US", "won", ".", "It", "slept", "."]


@pytest.fixture(scope="module")
def blank() -> Language:
    return NLP


def tokens(*mentions: Tuple[int, int, str], **fields: Any) -> Record:
    rows = [Mention(*mention, line=7) for mention in mentions]
    settings = {"words": WORDS, "sentence_starts": [0, 4], **fields}
    return Record("a.txt", 3, rows, **settings)


def text(content: str, *mentions: Tuple[int, int, str], **fields: Any) -> Record:
    rows = [Mention(*mention) for mention in mentions]
    return Record("a.txt", 3, rows, text=content, **fields)


def build(record: Record, nlp: Language, **options: Any) -> Tuple[List[Doc], LostSpans]:
    lost = LostSpans()
    return list(to_docs(record, nlp, DocOptions(**options), lost)), lost


def sentences(doc: Doc) -> List[Tuple[int, int]]:
    return [(sent.start, sent.end) for sent in doc.sents]


# ------------------------------------------------------------------- entities


def test_entities_stand_in_document_order(blank: Language) -> None:
    (doc,), lost = build(tokens((1, 2, "B"), (0, 2, "A"), (1, 2, "A")), blank)
    assert spans_of(doc) == [(0, 2, "A"), (1, 2, "A"), (1, 2, "B")]
    assert not lost.reasons


@pytest.mark.parametrize(
    "mention, text, reason",
    [
        pytest.param((1, 1, "X"), "", "empty", id="empty"),
        pytest.param((2, 1, "X"), "", "empty", id="backwards"),
        pytest.param((6, 8, "X"), ".", "outside of the text", id="after"),
        pytest.param((-1, 1, "X"), "The", "outside of the text", id="before"),
        pytest.param(
            (3, 5, "X"), ". It", "crosses a sentence boundary", id="two sentences"
        ),
        pytest.param((0, 2, "A"), "The US", "duplicate", id="duplicate"),
    ],
)
def test_entity_without_a_place_is_listed(
    blank: Language, mention: Tuple[int, int, str], text: str, reason: str
) -> None:
    (doc,), lost = build(tokens((0, 2, "A"), mention), blank)
    assert spans_of(doc) == [(0, 2, "A")]
    assert lost.examples == [Lost("a.txt", 7, text, mention[2], reason)]


@pytest.mark.parametrize("mention", [(0, 4, "X"), (4, 7, "X"), (3, 4, "X")])
def test_entity_may_fill_its_sentence(
    blank: Language, mention: Tuple[int, int, str]
) -> None:
    (doc,), lost = build(tokens(mention), blank)
    assert spans_of(doc) == [mention]
    assert not lost.reasons


def test_entity_across_sentences_stays_where_windows_are_documents(
    blank: Language,
) -> None:
    (doc,), lost = build(tokens((3, 5, "X")), blank, window="doc")
    assert spans_of(doc) == [(3, 5, "X")]
    assert not lost.reasons


def test_what_the_reader_lost_is_listed(blank: Language) -> None:
    row = Lost("a.txt", 1, "x", "X", "discontinuous")
    _, lost = build(tokens(lost=[row]), blank)
    assert lost.examples == [row]


def test_document_without_entities_has_an_empty_group(blank: Language) -> None:
    (doc,), _ = build(tokens(), blank, spans_key="gold")
    assert spans_of(doc, "gold") == []


def test_document_without_annotation_has_no_group(blank: Language) -> None:
    (doc,), _ = build(tokens()._replace(mentions=None), blank)
    assert "ents" not in doc.spans


def test_document_without_annotation_is_split_too(blank: Language) -> None:
    record = tokens()._replace(mentions=None)
    docs, _ = build(record, blank, split_sentences=True)
    assert [len(doc) for doc in docs] == [4, 3]


def test_parts_of_discontinuous_entities_are_a_group_of_their_own(
    blank: Language,
) -> None:
    parts = [Mention(0, 1, "X", id="T1"), Mention(2, 3, "X", id="T1")]
    same = [Mention(0, 1, "X", id="T2"), Mention(1, 2, "X", id="T2")]
    (doc,), lost = build(tokens((1, 2, "A"), fragments=parts + same), blank)
    assert spans_of(doc) == [(1, 2, "A")]
    group = doc.spans["ents_discontinuous"]
    assert [(span.start, span.id_) for span in group] == [
        (0, "T1"),
        (0, "T2"),
        (1, "T2"),
        (2, "T1"),
    ]
    assert not lost.reasons


def test_set_ents_keeps_the_longest_and_lists_the_others(blank: Language) -> None:
    record = tokens((0, 2, "A"), (1, 2, "B"), (5, 6, "C"))
    (doc,), lost = build(record, blank, set_ents="longest")
    assert [(ent.start, ent.end, ent.label_) for ent in doc.ents] == [
        (0, 2, "A"),
        (5, 6, "C"),
    ]
    assert lost.examples[0][2:] == ("US", "B", "overlaps an entity of doc.ents")
    assert len(spans_of(doc)) == 3


# --------------------------------------------------------- tokens and sentences


def test_tokens_keep_their_sentences(blank: Language) -> None:
    (doc,), _ = build(tokens(), blank)
    assert [token.text for token in doc] == WORDS
    assert sentences(doc) == [(0, 4), (4, 7)]
    assert doc.has_unknown_spaces


def test_chinese_tokens_have_no_spaces() -> None:
    record = Record("a", 1, [], words=["北京", "市"])
    (doc,), _ = build(record, spacy.blank("zh"))
    assert doc.text == "北京市"
    assert not doc.has_unknown_spaces


@pytest.mark.parametrize(
    "choice, starts, expected",
    [
        ("given", [0, 8], [(0, 3), (3, 6)]),
        ("given", None, None),
        ("given", [1], [(0, 1), (1, 6)]),
        ("none", [0, 8], None),
        ("rules", [0, 6], [(0, 2), (2, 3), (3, 6)]),
        ("rules", None, [(0, 3), (3, 6)]),
        ("lines", None, [(0, 6)]),
        ("one", [0, 8], [(0, 6)]),
        ("one", None, [(0, 6)]),
    ],
)
def test_sentences_of_text(
    blank: Language,
    choice: str,
    starts: Optional[List[int]],
    expected: Optional[List[Tuple[int, int]]],
) -> None:
    record = text("We won. They lost.", sentence_starts=starts)
    (doc,), _ = build(record, blank, sentences=choice)
    known = doc.has_annotation("SENT_START")
    assert (sentences(doc) if known else None) == expected


def test_sentences_by_rules_keep_paragraphs_of_the_file(blank: Language) -> None:
    record = text("A title We won. They lost.", sentence_starts=[0, 8])
    (doc,), _ = build(record, blank, sentences="rules")
    assert [sent.text for sent in doc.sents] == ["A title", "We won.", "They lost."]


def neighbours(doc: Doc) -> Any:
    return doc.user_data.get(NEIGHBOURS)


@pytest.mark.parametrize("existing", [False, True])
def test_split_sentences_keeps_neighbours(blank: Language, existing: bool) -> None:
    record = tokens(words=["a", "b", "c", "d"], sentence_starts=[0, 1, 3])
    if existing:
        whole = Doc(blank.vocab, words=record.words, sent_starts=[1, 1, 0, 1])
        set_neighbours(whole, [["of", "another"]], [["split"]])
        record = Record("a.spacy", 1, (), doc=whole)
    docs, _ = build(record, blank, split_sentences=True, context=1)
    assert [neighbours(doc) for doc in docs] == [
        [[], [["b", "c"]]],
        [[["a"]], [["d"]]],
        [[["b", "c"]], []],
    ]
    docs, _ = build(record, blank, split_sentences=True, context=2)
    assert neighbours(docs[2]) == [[["a"], ["b", "c"]], []]
    docs, _ = build(record, blank, split_sentences=True)
    assert [neighbours(doc) for doc in docs] == [None] * 3


def test_neighbours_without_sentences_of_their_own() -> None:
    with pytest.raises(ValueError, match=r"SP030.*--context 1.*--split-sentences"):
        DocOptions(context=1)
    with pytest.raises(ValueError, match=r"SP062.*--context.*-1"):
        DocOptions(context=-1, split_sentences=True)


def test_split_sentences_makes_documents_with_their_entities(blank: Language) -> None:
    record = tokens((1, 2, "A"), (4, 6, "B"), (3, 5, "C"))
    docs, lost = build(record, blank, split_sentences=True, window="doc")
    assert [doc.text.strip() for doc in docs] == ["The US won .", "It slept ."]
    assert [spans_of(doc) for doc in docs] == [[(1, 2, "A")], [(0, 2, "B")]]
    assert [sentences(doc) for doc in docs] == [[(0, 4)], [(0, 3)]]
    assert lost.reasons == {"crosses a sentence boundary": 1}


def test_characters_move_everything() -> None:
    record = Record(
        "a",
        1,
        [Mention(1, 3, "X"), Mention(2, 9, "Y")],
        words=["ab", "c", "de"],
        spaces=[True, False, False],
        sentence_starts=[0, 2],
    )
    moved = by_characters(record)
    assert moved.words == list("abcde")
    assert moved.spaces == [False, True, False, False, False]
    assert moved.sentence_starts == [0, 3]
    assert [m[:2] for m in moved.mentions or ()] == [(2, 5), (3, 6)]
    (doc,), lost = build(record, spacy.blank("zh"), characters=True, window="doc")
    assert spans_of(doc) == [(2, 5, "X")]
    assert lost.reasons == {"outside of the text": 1}


def test_characters_of_text_are_tokens(blank: Language) -> None:
    record = text("We  won. So", (1, 2, "A"), (4, 8, "B"), sentence_starts=[0, 9])
    (doc,), lost = build(record, blank, characters=True)
    assert [token.text for token in doc] == [*"We", " ", *"won.", *"So"]
    assert doc.text == record.text
    assert spans_of(doc) == [(1, 2, "A"), (3, 7, "B")]
    assert sentences(doc) == [(0, 7), (7, 9)]
    assert not lost.reasons


def test_characters_of_a_document_with_other_annotation_are_refused(
    blank: Language,
) -> None:
    record = Record("a.spacy", 3, [], doc=blank.make_doc("US"))
    with pytest.raises(ValueError, match=r"SP063.*a\.spacy, document 3.*\.jsonl"):
        build(record, blank, characters=True)


# -------------------------------------------------------------------- options


@pytest.mark.parametrize(
    "make, name, value",
    [
        (DocOptions, "align", "loose"),
        (DocOptions, "sentences", "yes"),
        (DocOptions, "window", "strided"),
        (DocOptions, "set_ents", "score"),
        (ReadOptions, "ends", "both"),
        (ReadOptions, "discontinuous", "fuse"),
        (ReadOptions, "mention", "tail"),
        (ReadOptions, "genia_classes", "six"),
    ],
)
def test_option_that_does_not_exist_names_those_that_do(
    make: Any, name: str, value: str
) -> None:
    message = rf"SP062.*--{name.replace('_', '-')} must be one of .*'{value}'"
    with pytest.raises(ValueError, match=message):
        make(**{name: value})


# ----------------------------------------------------------------- properties


@given(
    st.lists(
        st.tuples(st.integers(-2, 9), st.integers(-2, 9), st.sampled_from("AB")),
        max_size=6,
    ),
    st.sets(st.integers(0, 6)),
    st.sampled_from(["sentence", "doc"]),
    st.booleans(),
)
def test_every_entity_is_written_or_listed(
    mentions: List[Tuple[int, int, str]], starts: set, window: str, split: bool
) -> None:
    record = tokens(*mentions, sentence_starts=sorted(starts))
    docs, lost = build(record, NLP, window=window, split_sentences=split)
    written = sum(len(doc.spans["ents"]) for doc in docs)
    assert written + sum(lost.reasons.values()) == len(mentions)
    assert sum(map(len, docs)) == len(WORDS)

"""Which spans become `doc.ents`, beside entities that are there."""

from typing import List, Tuple

import pytest
from spacy.language import Language
from spacy.tokens import Doc, Span

from ...helpers import DATA, FACTORIES, NESTED, spans_of, texts, trained_copy
from .helpers import GPE, ORG, OVERLAPPING, with_settings, words_doc, write


def entities(doc: Doc) -> List[Tuple[int, int, str]]:
    return [(span.start, span.end, span.label_) for span in doc.ents]


def test_set_ents_off_leaves_entities_alone(own_nlp: Language) -> None:
    doc = words_doc(own_nlp)
    doc.set_ents([Span(doc, 2, 3, label="X")])
    write(doc, OVERLAPPING, own_nlp, set_ents="off")
    assert entities(doc) == [(2, 3, "X")]


def test_set_ents_score_prefers_confident(own_nlp: Language) -> None:
    doc = write(words_doc(own_nlp), OVERLAPPING, own_nlp, set_ents="score")
    assert entities(doc) == [(1, 2, "GPE"), (8, 10, "GPE")]
    assert spans_of(doc) == [(0, 4, "ORG"), (1, 2, "GPE"), (8, 10, "GPE")]


def test_set_ents_longest_prefers_long(own_nlp: Language) -> None:
    doc = write(words_doc(own_nlp), OVERLAPPING, own_nlp, set_ents="longest")
    assert entities(doc) == [(0, 4, "ORG"), (8, 10, "GPE")]


@pytest.mark.parametrize("mode", ["score", "longest"])
def test_set_ents_one_of_two_labels_of_a_span(own_nlp: Language, mode: str) -> None:
    spans = [(0, 1, GPE, 0.5), (0, 1, ORG, 0.75)]
    doc = write(words_doc(own_nlp), spans, own_nlp, set_ents=mode)
    assert entities(doc) == [(0, 1, "ORG")]


@pytest.mark.parametrize("mode", ["score", "longest"])
def test_set_ents_overwrite_replaces_entities(own_nlp: Language, mode: str) -> None:
    doc = words_doc(own_nlp)
    doc.set_ents([Span(doc, 2, 5, label="X"), Span(doc, 6, 7, label="Y")])
    write(doc, [(3, 4, ORG, 0.5)], own_nlp, set_ents=mode, overwrite=True)
    assert entities(doc) == [(3, 4, "ORG")]


@pytest.mark.parametrize(
    "mode,added", [("score", [(1, 2, "GPE")]), ("longest", [(1, 2, "GPE")])]
)
def test_set_ents_without_overwrite_keeps_entities(
    own_nlp: Language, mode: str, added: List
) -> None:
    doc = words_doc(own_nlp)
    doc.set_ents([Span(doc, 7, 9, label="X"), Span(doc, 5, 6, label="Y")])
    spans = [(1, 2, GPE, 0.4), (8, 10, GPE, 0.9)]
    write(doc, spans, own_nlp, set_ents=mode, overwrite=False)
    assert entities(doc) == [*added, (5, 6, "Y"), (7, 9, "X")]


def test_set_ents_without_overwrite_fills_in_second_choice(own_nlp: Language) -> None:
    doc = words_doc(own_nlp)
    doc.set_ents([Span(doc, 3, 4, label="X")])
    write(doc, OVERLAPPING, own_nlp, set_ents="longest", overwrite=False)
    # (0, 4) is longest, but meets X; what it would have shut out takes its place.
    assert entities(doc) == [(1, 2, "GPE"), (3, 4, "X"), (8, 10, "GPE")]


def test_set_ents_without_overwrite_keeps_ids_of_entities(own_nlp: Language) -> None:
    doc = words_doc(own_nlp)
    doc.set_ents([Span(doc, 1, 2, label="X", kb_id="Q30", span_id="usa")])
    write(doc, OVERLAPPING, own_nlp, set_ents="score", overwrite=False)
    assert [(ent.kb_id_, ent.id_) for ent in doc.ents] == [("Q30", "usa"), ("", "")]


@pytest.mark.parametrize("mode", ["score", "longest"])
@pytest.mark.parametrize("overwrite", [True, False])
def test_set_ents_in_pipeline_after_entity_ruler(
    own_nlp: Language, mode: str, overwrite: bool
) -> None:
    with_settings(own_nlp, set_ents=mode, overwrite=overwrite)
    ruler = own_nlp.add_pipe("entity_ruler", first=True)
    patterns = ["Court will", "hear", "Boston met"]
    ruler.add_patterns([{"label": "RULE", "pattern": text} for text in patterns])
    own_nlp.get_pipe(own_nlp.pipe_names[1]).cfg.update(
        set_ents=mode, overwrite=overwrite
    )
    docs = list(own_nlp.pipe([*texts(NESTED)]))
    rules = [ent for doc in docs for ent in doc.ents if ent.label_ == "RULE"]
    assert len(rules) == (0 if overwrite else 3)
    assert all(doc.ents for doc in docs[:2])


@pytest.mark.parametrize("factory", FACTORIES)
def test_set_ents_without_overwrite_leaves_blocked_tokens(factory: str) -> None:
    nlp = trained_copy(factory)
    nlp.get_pipe(factory).cfg.update(overwrite=False, set_ents="longest")
    doc = nlp.make_doc(texts(DATA["nested"])[0])
    doc.set_ents([], blocked=[doc[0 : len(doc)]])
    nlp(doc)
    assert doc.ents == ()
    assert len(doc.spans["ents"]) > 0


@pytest.mark.parametrize("spans", [[], [(1, 2, GPE, 0.4)]])
def test_set_ents_without_overwrite_says_of_all_other_tokens_that_they_are_outside(
    own_nlp: Language, spans: List
) -> None:
    doc = words_doc(own_nlp)
    doc.set_ents([Span(doc, 5, 6, label="Y")], default="missing")
    write(doc, spans, own_nlp, set_ents="score", overwrite=False)
    tags = ["B" if token.i == 5 or (spans and token.i == 1) else "O" for token in doc]
    assert [token.ent_iob_ for token in doc] == tags
    assert doc.has_annotation("ENT_IOB")


def test_set_ents_without_overwrite_leaves_blocked_tokens_blocked(
    own_nlp: Language,
) -> None:
    doc = words_doc(own_nlp)
    doc.set_ents([], blocked=[doc[1:3]], default="missing")
    write(
        doc,
        [(1, 2, GPE, 0.4), (8, 9, GPE, 0.4)],
        own_nlp,
        set_ents="score",
        overwrite=False,
    )
    assert entities(doc) == [(8, 9, "GPE")]
    assert [doc[place].ent_iob for place in (0, 1, 2, 3)] == [2, 3, 3, 2]

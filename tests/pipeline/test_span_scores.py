"""Scores belong to spans, wherever these go and whoever else writes to their group."""

import json
from typing import Any, Dict, Iterator, List, Optional

import numpy as np
import pytest
import spacy
from spacy.language import Language
from spacy.tokens import Doc, DocBin, Span
from spacy.tokens.underscore import Underscore

from spacy_spanner import scores_of

from ..helpers import (
    COURT_WORDS,
    FACTORIES,
    NESTED,
    blank_pipeline,
    predict_nested,
    scored_spans,
    spans_of,
    texts,
    trained,
    trained_copy,
)

COURT = NESTED[0][0]
EXTRA = (5, 6, "X")


@pytest.fixture
def nlp() -> Language:
    return trained("span_offset")


@pytest.fixture
def extensions() -> Iterator[None]:
    """No attributes of spans and documents; those of other tests come back after it."""
    saved = Underscore.get_state()
    Underscore.load_state(({}, {}, {}))
    yield
    Underscore.load_state(saved)


def found(doc: Doc, key: str = "ents") -> Dict[Any, Optional[float]]:
    """The scores by span, the same from both accessors."""
    scores = scores_of(doc, key)
    assert scores == [span._.score for span in doc.spans[key]]
    assert len(scores) == len(doc.spans[key])
    return dict(zip(spans_of(doc, key), scores))


def expected(doc: Doc) -> Dict[Any, Optional[float]]:
    return {span[:3]: span[3] for span in scored_spans(doc)}


def add_span(doc: Doc, place: int) -> None:
    spans: List[Span] = list(doc.spans["ents"])
    spans.insert(place, Span(doc, *EXTRA[:2], label=EXTRA[2]))
    doc.spans["ents"] = spans


@pytest.mark.parametrize("factory", FACTORIES)
def test_scores_of_a_prediction(factory: str) -> None:
    docs = predict_nested(trained(factory))
    assert all(found(doc) == expected(doc) for doc in docs)
    assert sum(len(found(doc)) for doc in docs) == 6
    assert scores_of(docs[0], "missing") == []


def test_spans_added_anywhere_have_no_score(nlp: Language) -> None:
    for place in range(4):
        doc = nlp(COURT)
        before = expected(doc)
        add_span(doc, place)
        assert "scores" not in doc.spans["ents"].attrs
        assert found(doc) == {**before, EXTRA: None}


def test_spans_appended_to_the_group_have_no_score(nlp: Language) -> None:
    doc = nlp(COURT)
    before = expected(doc)
    doc.spans["ents"].append(Span(doc, *EXTRA[:2], label=EXTRA[2]))
    stored = DocBin(docs=[doc]).get_docs(nlp.vocab)
    for one in (doc, *stored):
        assert one.spans["ents"].attrs["scores"].shape == (3,)
        assert found(one) == {**before, EXTRA: None}


@pytest.mark.parametrize("settings", [{}, {"overwrite": True}])
def test_a_ruler_that_writes_to_the_group(settings: Dict[str, Any]) -> None:
    nlp = trained_copy("span_offset")
    alone = expected(nlp(COURT))
    config = {"spans_key": "ents", "overwrite": False, **settings}
    ruler: Any = nlp.add_pipe("span_ruler", config=config)
    ruler.add_patterns([{"label": "X", "pattern": "hear"}])
    kept = {} if settings else alone
    assert found(nlp(COURT)) == {**kept, EXTRA: None}


def test_spans_removed_take_their_scores_with_them(nlp: Language) -> None:
    doc = nlp(COURT)
    before = expected(doc)
    doc.spans["ents"] = list(doc.spans["ents"])[1:]
    del before[spans_of(nlp(COURT))[0]]
    assert found(doc) == before


def test_scores_changed_in_the_attributes_count(nlp: Language) -> None:
    doc = nlp(COURT)
    doc.spans["ents"].attrs["scores"] = [0.25, 0.5, 0.75]
    assert list(found(doc).values()) == [0.25, 0.5, 0.75]


def test_more_scores_than_spans_are_given_to_none() -> None:
    doc = Doc(spacy.blank("en").vocab, words=COURT_WORDS)
    doc.spans["ents"] = [doc[0:1]]
    doc.spans["ents"].attrs["scores"] = np.asarray([0.5, 0.25], "f")
    assert scores_of(doc) == [None]


def test_groups_of_spancat() -> None:
    nlp = blank_pipeline("span_offset")  # registers the attribute
    doc = nlp.make_doc(COURT)
    doc.spans["sc"] = [Span(doc, 0, 4, label="ORG"), Span(doc, 1, 2, label="GPE")]
    doc.spans["sc"].attrs["scores"] = np.asarray([0.5, 0.25], "f")
    assert found(doc, "sc") == {(0, 4, "ORG"): 0.5, (1, 2, "GPE"): 0.25}


def test_two_groups_with_the_same_spans(nlp: Language) -> None:
    doc = nlp(COURT)
    before = expected(doc)
    other = trained("span_biaffine", spans_key="other")
    copy = Doc.from_docs([other.get_pipe("span_biaffine")(doc)])
    assert dict(zip(spans_of(copy), scores_of(copy))) == before
    scores = {span[:3]: span[3] for span in scored_spans(doc, "other")}
    assert dict(zip(spans_of(copy, "other"), scores_of(copy, "other"))) == scores
    assert scores.keys() == before.keys()
    assert scores != before
    for span in copy.spans["ents"]:
        place = span.start, span.end, span.label_
        assert span._.score == max(before[place], scores[place])


def test_two_labels_of_one_span() -> None:
    doc = trained("span_offset", "two_labels")("Georgia beat Spain in Turin.")
    before = expected(doc)
    assert len({span[:2] for span in before}) < len(before) == 5
    add_span(doc, 0)
    assert found(doc) == {**before, EXTRA: None}


def test_entities_have_the_scores_of_their_spans() -> None:
    nlp = trained_copy("span_offset")
    nlp.get_pipe("span_offset").cfg["set_ents"] = "score"
    doc = nlp(COURT)
    before = expected(doc)
    doc.spans.clear()
    scores = {(e.start, e.end, e.label_): e._.score for e in doc.ents}
    assert scores
    assert scores.items() <= before.items()
    assert doc[0:1]._.score is None


def test_predicting_again_forgets_old_scores() -> None:
    nlp = trained_copy("span_offset")
    doc = nlp(COURT)
    gone = spans_of(doc)[0]
    nlp.get_pipe("span_offset").cfg["label_thresholds"] = {gone[2]: 1.0}
    nlp.get_pipe("span_offset")(doc)
    assert gone not in spans_of(doc)
    doc.spans["ents"] = [Span(doc, *gone[:2], label=gone[2]), *doc.spans["ents"]]
    assert found(doc)[gone] is None
    assert len([score for score in scores_of(doc) if score is not None]) == 2


# ------------------------------------------------- what spaCy does with documents


def changed_docs(nlp: Language) -> List[Doc]:
    """Predicted documents, to the first of which another component has added a span."""
    docs = [doc for doc in predict_nested(nlp) if len(doc)]
    add_span(docs[0], 1)
    return docs


def test_scores_survive_what_copies_documents(nlp: Language) -> None:
    for doc in changed_docs(nlp):
        copies = [doc.copy(), Doc(nlp.vocab).from_bytes(doc.to_bytes())]
        copies += DocBin(docs=[doc], store_user_data=True).get_docs(nlp.vocab)
        for copy in copies:
            assert found(copy) == found(doc)


def test_scores_survive_several_processes(nlp: Language) -> None:
    docs = nlp.pipe(texts(NESTED), n_process=2, batch_size=2)
    for doc, alone in zip(docs, predict_nested(nlp)):
        add_span(doc, 0) if len(doc) > 6 else None
        assert {k: v for k, v in found(doc).items() if k != EXTRA} == found(alone)


def test_scores_survive_joining(nlp: Language, recwarn: Any) -> None:
    docs = changed_docs(nlp)
    joined = Doc.from_docs(docs)
    assert not recwarn
    assert scores_of(joined) == [score for doc in docs for score in scores_of(doc)]
    assert "scores" not in joined.spans["ents"].attrs
    assert [s._.score for s in joined.spans["ents"]] == scores_of(joined)


@pytest.mark.parametrize("changed", [False, True])
def test_scores_survive_json(nlp: Language, changed: bool) -> None:
    for doc in changed_docs(nlp) if changed else predict_nested(nlp):
        data = json.loads(json.dumps(doc.to_json(underscore=["span_scores"])))
        again = Doc(nlp.vocab).from_json(data, validate=True)
        assert found(again) == found(doc)
    assert changed or "scores" in doc.spans["ents"].attrs


def test_scores_survive_cutting_as_documentation_says(nlp: Language) -> None:
    doc = nlp(COURT)
    score = expected(doc)[(8, 10, "GPE")]
    part = doc[6:].as_doc(copy_user_data=True)
    assert Span(part, 2, 4, label="GPE")._.score == score
    assert Span(doc[6:].as_doc(), 2, 4, label="GPE")._.score is None


def test_documents_joined_from_one_keep_their_own_scores(nlp: Language) -> None:
    doc = nlp(COURT)
    joined = Doc.from_docs([doc, doc])
    pipe: Any = trained_copy("span_offset").get_pipe("span_offset")
    before = found(doc)
    pipe.cfg["threshold"] = 1.0
    pipe(joined)
    assert scores_of(joined) == []
    doc.spans["ents"] = list(doc.spans["ents"])
    assert found(doc) == before


# --------------------------------------------------------------- the attributes


@pytest.mark.usefixtures("extensions")
def test_attributes_of_others_are_left_alone() -> None:
    Span.set_extension("score", default="mine")
    Doc.set_extension("span_scores", default="mine")
    nlp = trained("span_offset")
    blank_pipeline("span_offset")
    doc = nlp(COURT)
    assert {span._.score for span in doc.spans["ents"]} == {"mine"}
    assert doc._.span_scores == "mine"
    assert None not in scores_of(doc)


@pytest.mark.usefixtures("extensions")
def test_attributes_are_registered_with_the_first_component() -> None:
    spacy.blank("en")
    assert not Span.has_extension("score")
    for _ in range(2):
        blank_pipeline("span_offset")
    assert Span.has_extension("score")
    assert Doc.has_extension("span_scores")

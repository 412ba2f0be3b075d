"""The key of spans, from gold to scores."""

from spacy.language import Language

from ...helpers import NESTED, make_examples, spans_of, trained
from .helpers import COURT, with_settings


def test_spans_key_custom_from_gold_to_scores(factory: str) -> None:
    nlp = trained(factory, spans_key="sc")
    doc = nlp(COURT)
    assert list(doc.spans) == ["sc"]
    assert spans_of(doc, "sc") == [(0, 4, "ORG"), (1, 2, "GPE"), (8, 10, "GPE")]
    scores = nlp.evaluate(make_examples(nlp, NESTED, "sc"))
    assert scores["spans_sc_f"] == 1.0
    assert set(scores["spans_sc_per_type"]) == {"GPE", "ORG", "PER"}
    assert not [key for key in scores if key.startswith("spans_ents")]


def test_spans_key_default_names_every_score_weight(
    nlp: Language, factory: str
) -> None:
    scores = nlp.evaluate(make_examples(nlp, NESTED))
    weights = Language.get_factory_meta(factory).default_score_weights
    assert set(weights) <= set(scores)


def test_spans_key_changed_after_training(own_nlp: Language) -> None:
    expected = spans_of(own_nlp(COURT))
    with_settings(own_nlp, spans_key="found")
    doc = own_nlp(COURT)
    assert list(doc.spans) == ["found"]
    assert spans_of(doc, "found") == expected

"""Tokens and vocabulary of a language, as in a blank pipeline."""

import pytest
import spacy
from spacy.lang.en import English
from spacy.tokens import DocBin

from spacy_spanner.corpus.bare_language import BareLanguage
from spacy_spanner.corpus.documents import written_with_spaces

TEXT = "Dr. Ana-María d'Orsay lives in St. Gallen (3,5 km), or not? 他在北京。 Жив."


@pytest.mark.parametrize("lang", ["en", "eng", "de", "fr", "zh", "ru", "xx"])
def test_bare_language_makes_the_documents_of_a_blank_pipeline(lang: str) -> None:
    bare, blank = BareLanguage(lang), spacy.blank(lang)
    assert bare.lang == blank.lang
    assert written_with_spaces(bare) == written_with_spaces(blank)  # type: ignore
    docs = [bare.make_doc(TEXT), blank.make_doc(TEXT)]
    ours, theirs = (DocBin(docs=[doc]).to_bytes() for doc in docs)
    assert ours == theirs
    for word, other in zip(*docs):
        assert (word.norm_, word.is_stop, word.lang_) == (
            other.norm_,
            other.is_stop,
            other.lang_,
        )


def test_bare_language_has_no_longest_text() -> None:
    text = "ab " * 400_000
    assert len(BareLanguage("xx").make_doc(text)) == 400_000


def test_unknown_language_is_named() -> None:
    with pytest.raises(ImportError, match="E048"):
        BareLanguage("qqq")


def test_language_of_another_package_is_found() -> None:
    class Dialect(English):
        lang = "en_dialect"

    spacy.registry.languages.register("en_dialect", func=Dialect)
    assert BareLanguage("en_dialect").lang == "en_dialect"

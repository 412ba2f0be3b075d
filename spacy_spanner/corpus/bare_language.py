"""The vocabulary and tokenizer of a language, without the rest of a pipeline.

`spacy.blank` imports the factories of all installed packages. With spacy-transformers,
this takes seconds, and reading a corpus needs none of them.
"""

from typing import Any, Union

from spacy.language import Language
from spacy.tokens import Doc
from spacy.util import get_lang_class, registry
from spacy.vocab import create_vocab


class BareLanguage:
    """Makes documents from texts like `spacy.blank(lang)`, but has no pipeline.

    lang (str): language code.
    RAISES (ImportError): spaCy's E048 for an unknown language.
    """

    def __init__(self, lang: str) -> None:
        found: Any = get_lang_class(lang)
        self.lang: str = found.lang
        self.Defaults: Any = found.Defaults
        self.vocab = create_vocab(found.lang, found.Defaults)
        self.max_length = 10**6
        block = {"tokenizer": found.default_config["nlp"]["tokenizer"]}
        self.tokenizer: Any = registry.resolve(block)["tokenizer"](self)

    def make_doc(self, text: str) -> Doc:
        """RETURNS (Doc): the tokens of a text of any length."""
        return self.tokenizer(text)


# What readers of a corpus accept.
AnyLanguage = Union[Language, BareLanguage]

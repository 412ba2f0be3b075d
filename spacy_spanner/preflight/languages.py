"""What the language of a pipeline means for its encoder."""

from typing import Any, Dict

from spacy.language import Language

from ..errors import Warnings

# Encoders that were pretrained on English alone.
ENGLISH_ENCODERS = ("minilm",)
# Was pretrained on 104 languages, among them all those of spaCy's trained pipelines.
MULTILINGUAL_ENCODER = "bert-base-multilingual-cased"


def language_warning(encoder: str, lang: str) -> str:
    """RETURNS (str): a warning (SW073) if an encoder was not pretrained on a language;
    empty if nothing is known against it.
    """
    if encoder not in ENGLISH_ENCODERS or lang == "en":
        return ""
    return Warnings.SW073.format(
        encoder=encoder, lang=lang, better=MULTILINGUAL_ENCODER
    )


def adapted_encoder(block: Dict[str, Any], nlp: Language) -> Dict[str, Any]:
    """RETURNS (Dict[str, Any]): the block of an encoder, without prefixes, suffixes and
    shapes if the language is written without letters, such as Chinese.
    """
    if "subword_features" not in block or nlp.Defaults.writing_system["has_letters"]:
        return block
    return {**block, "subword_features": False}

"""Settings after training, and documents in which a component writes given spans."""

from typing import Any, Sequence, Tuple

from spacy.language import Language
from spacy.tokens import Doc

from spacy_spanner.spans.table import SpanTable

from ...helpers import COURT_WORDS, NESTED

COURT, MAYOR = NESTED[0][0], NESTED[1][0]
GPE, ORG, PER = 0, 1, 2
OVERLAPPING = [(0, 4, ORG, 0.6), (1, 2, GPE, 0.9), (8, 10, GPE, 0.8)]


def with_settings(nlp: Language, **settings: Any) -> Language:
    """Change settings of the only component after training."""
    nlp.get_pipe(nlp.pipe_names[0]).cfg.update(settings)
    return nlp


def write(
    doc: Doc, spans: Sequence[Tuple[int, int, int, float]], nlp: Language, **config: Any
) -> Doc:
    """Let the component write these spans."""
    with_settings(nlp, **config)
    pipe = nlp.get_pipe(nlp.pipe_names[0])
    assert pipe.labels == ("GPE", "ORG", "PER")
    pipe.set_annotations([doc], [SpanTable.of(spans)])
    return doc


def words_doc(nlp: Language, words: Sequence[str] = COURT_WORDS, **kwargs: Any) -> Doc:
    return Doc(nlp.vocab, words=list(words), **kwargs)

"""A corpus of documents that another pipeline has predicted, with soft labels."""

from itertools import chain, zip_longest
from pathlib import Path
from typing import Any, Callable, Iterable, Iterator, List, Optional

from spacy.language import Language
from spacy.tokens import Doc, Span
from spacy.training import Corpus, Example
from spacy.util import registry

from ..pipeline.soft_labels import SOFT
from ..pipeline.span_scores import scores_of, write_scores

Reader = Callable[[Language], Iterable[Example]]
NOTHING: Any = object()


@registry.readers("spacy_spanner.taught_corpus.v1")
def make_taught_corpus(
    path: Path, source: str, targets: List[str], gold: Optional[Reader] = None
) -> Reader:
    """Read what a teacher has predicted as soft labels, in turn with annotated
    documents. `spanner distill` writes this block.

    path (Path): folder of documents that the teacher has predicted.
    source (str): the span group that the teacher has written.
    targets (List[str]): the span groups that components of the student write.
    gold (Optional[Callable]): another corpus; one of its documents follows each taught
        one, as long as both have some.
    RETURNS (Callable): the corpus, for `[corpora.train]`.
    """
    corpus = Corpus(path)

    def read(nlp: Language) -> Iterator[Example]:
        taught = (
            Example(example.predicted, with_soft_labels(example.y, source, targets))
            for example in corpus(nlp)
        )
        pairs = zip_longest(taught, gold(nlp) if gold else (), fillvalue=NOTHING)
        return (one for one in chain.from_iterable(pairs) if one is not NOTHING)

    return read


def with_soft_labels(doc: Doc, source: str, targets: Iterable[str]) -> Doc:
    """RETURNS (Doc): a document with the same tokens and sentences, and the spans of a
        group as soft labels, without all other annotation: it is not gold.

    source (str): the group.
    targets (Iterable[str]): keys of the entities.
    """
    starts: Any = [token.is_sent_start for token in doc]
    words, spaces = [token.text for token in doc], [bool(t.whitespace_) for t in doc]
    new = Doc(doc.vocab, words=words, spaces=spaces, sent_starts=starts)
    new.has_unknown_spaces = doc.has_unknown_spaces
    spans, scores = doc.spans.get(source, ()), scores_of(doc, source)
    for target in targets:
        new.spans[target + SOFT] = [Span(new, s.start, s.end, s.label) for s in spans]
        write_scores(new, target + SOFT, scores)
    return new

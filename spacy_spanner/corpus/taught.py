"""A corpus of documents that another pipeline has predicted, with soft labels."""

from itertools import chain, zip_longest
from pathlib import Path
from typing import Any, Callable, Iterable, Iterator, List, Optional

from spacy.language import Language
from spacy.tokens import Doc, Span
from spacy.training import Corpus, Example
from spacy.util import registry

from ..encoders.surroundings import copy_neighbours
from ..pipeline.soft_labels import LABELS, SOFT
from ..pipeline.span_scores import scores_of, write_scores

Reader = Callable[[Language], Iterable[Example]]
NOTHING: Any = object()


@registry.readers("spacy_spanner.taught_corpus.v1")
def make_taught_corpus(
    path: Path,
    source: str,
    targets: List[str],
    labels: Optional[List[str]] = None,
    gold: Optional[Reader] = None,
) -> Reader:
    """Read what a teacher has predicted as soft labels, and annotated documents.
    `spanner distill` writes this block.

    path (Path): folder of documents that the teacher has predicted.
    source (str): the span group that the teacher has written.
    targets (List[str]): the span groups that components of the student write.
    labels (Optional[List[str]]): the labels of the teacher; the texts teach nothing
        about others. If they are not given, the texts have no other entities.
    gold (Optional[Callable]): a corpus of annotated documents. It is read in turn with
        the texts, one by one; spaCy shuffles both, unless `max_epochs` is -1.
    RETURNS (Callable): the corpus, for `[corpora.train]`.
    """
    corpus = Corpus(path)

    def read(nlp: Language) -> Iterator[Example]:
        taught = (taught_example(example) for example in corpus(nlp))
        pairs = zip_longest(taught, gold(nlp) if gold else (), fillvalue=NOTHING)
        return (one for one in chain.from_iterable(pairs) if one is not NOTHING)

    def taught_example(example: Example) -> Example:
        reference = with_soft_labels(example.y, source, targets, labels)
        copy_neighbours(reference, example.predicted)
        return Example(example.predicted, reference)

    return read


def with_soft_labels(
    doc: Doc,
    source: str,
    targets: Iterable[str],
    labels: Optional[List[str]] = None,
) -> Doc:
    """RETURNS (Doc): a document with the same tokens and sentences, and the spans of a
        group as soft labels, without all other annotation: it is not gold.

    source (str): the group.
    targets (Iterable[str]): keys of the entities.
    labels (Optional[List[str]]): those that are known about; all if not given.
    """
    starts: Any = [token.is_sent_start for token in doc]
    words, spaces = [token.text for token in doc], [bool(t.whitespace_) for t in doc]
    new = Doc(doc.vocab, words=words, spaces=spaces, sent_starts=starts)
    new.has_unknown_spaces = doc.has_unknown_spaces
    copy_neighbours(doc, new)
    spans, scores = doc.spans.get(source, ()), scores_of(doc, source)
    for target in targets:
        new.spans[target + SOFT] = [Span(new, s.start, s.end, s.label) for s in spans]
        write_scores(new, target + SOFT, scores)
        if labels is not None:
            new.spans[target + SOFT].attrs[LABELS] = list(labels)
    return new

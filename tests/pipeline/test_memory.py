"""What stays in memory: no tensor on documents, nothing of documents that are gone."""

import gc
import weakref
from itertools import cycle, islice
from pathlib import Path
from typing import Any, Iterator, List, Set

import pytest
import torch
from spacy.language import Language
from spacy.tokens import Doc
from spacy.tokens.underscore import Underscore
from spacy.training import Example

from ..helpers import DATA, LONG, NESTED, make_examples, trained_copy

RESIDENT = Path("/proc/self/statm")
N_DOCUMENTS = 20_000
AT_ONCE = 1_000
ALLOWED_MB = 8.0


def reachable(thing: Any, seen: Set[int]) -> Iterator[Any]:
    """Yield what a container holds, at any depth."""
    if id(thing) in seen:
        return
    seen.add(id(thing))
    yield thing
    if isinstance(thing, dict):
        parts: List[Any] = [*thing.keys(), *thing.values()]
    elif isinstance(thing, (list, tuple, set, frozenset)):
        parts = list(thing)
    else:
        parts = list(vars(thing).values()) if hasattr(thing, "__dict__") else []
    for part in parts:
        yield from reachable(part, seen)


def things_on(doc: Doc) -> List[Any]:
    """List everything that a document and its spans carry."""
    extensions = {name: doc._.get(name) for name in Underscore.doc_extensions}
    groups = [group.attrs for group in doc.spans.values()]
    of_spans = [span.id for group in doc.spans.values() for span in group]
    roots = [doc.user_data, extensions, doc.tensor, groups, of_spans, doc.cats]
    return list(reachable(roots, set()))


@pytest.mark.parametrize("data", [NESTED, LONG], ids=["short", "long"])
def test_prediction_leaves_no_tensor_on_a_document(
    own_nlp: Language, data: Any
) -> None:
    own_nlp.get_pipe(own_nlp.pipe_names[0]).cfg.update(set_ents="score")
    for doc in own_nlp.pipe([text for text, _ in data]):
        found = things_on(doc)
        assert not [thing for thing in found if isinstance(thing, torch.Tensor)]
        # Nor are the encoder's vectors stored; scores are no view of something larger.
        assert doc.tensor.size == 0
        for group in doc.spans.values():
            scores = group.attrs["scores"]
            assert scores.base is None and len(scores) == len(group)


def test_things_on_a_document_include_tensors_that_somebody_put_there(
    own_nlp: Language,
) -> None:
    doc = own_nlp("The mayor of Boston.")
    doc.user_data["mine"] = [{"deep": torch.zeros(1)}]
    assert any(isinstance(thing, torch.Tensor) for thing in things_on(doc))


def test_training_and_prediction_keep_no_document_and_no_tensor(
    own_nlp: Language,
) -> None:
    def tensors() -> int:
        gc.collect()
        return sum(type(thing) is torch.Tensor for thing in gc.get_objects())

    optimizer = own_nlp.resume_training()

    def work() -> List[Any]:
        examples = make_examples(own_nlp, DATA["nested"])
        own_nlp.update(examples, sgd=optimizer)
        docs = [own_nlp(example.reference.text) for example in examples]
        own_nlp.evaluate(examples)
        return [weakref.ref(doc) for doc in docs]

    work()
    before = tensors()
    references = [reference for _ in range(3) for reference in work()]
    assert tensors() == before
    assert [reference() for reference in references] == [None] * len(references)


@pytest.mark.slow
@pytest.mark.skipif(not RESIDENT.exists(), reason="reads the memory from Linux")
def test_evaluating_many_documents_keeps_memory_flat(factory: str) -> None:
    nlp = trained_copy(factory)
    if factory == "span_diffusion":  # with all of them, it takes a minute
        pipe: Any = nlp.get_pipe(factory)
        pipe.cfg.update(steps=2, spans=10)
    examples = cycle([text_and_spans for text_and_spans in NESTED[:3]])
    sizes = []
    for _ in range(N_DOCUMENTS // AT_ONCE):
        portion: List[Example] = make_examples(nlp, list(islice(examples, AT_ONCE)))
        nlp.evaluate(portion)
        del portion
        sizes.append(int(RESIDENT.read_text().split()[1]) * 4096 / 2**20)
    early = max(sizes[: len(sizes) // 5])
    assert sizes[-1] - early < ALLOWED_MB, sizes

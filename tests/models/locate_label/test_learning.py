"""Components learn entities by heart that are no seeds."""

from typing import Any, Dict, List, Tuple

import pytest
import spacy
from spacy.tokens import Doc, Span
from spacy.training import Example
from thinc.api import fix_random_seed

N_TOKENS = 32


def found_after_training(width: int, **settings: Any) -> List[Tuple[int, int]]:
    """Train on one document with an entity of some tokens and one of two inside, until
    both are found: at a constant rate, single steps lose one again.
    """
    fix_random_seed(0)
    nlp = spacy.blank("en")
    nlp.add_pipe("span_locate_label", config=settings)
    words = [f"w{number}" for number in range(N_TOKENS)]
    gold = Doc(nlp.vocab, words=words)
    gold.spans["ents"] = [Span(gold, 3, 3 + width, "A"), Span(gold, 4, 6, "B")]
    example = Example(Doc(nlp.vocab, words=words), gold)
    nlp.initialize(lambda: [example])
    found: List[Tuple[int, int]] = []
    for _ in range(8):
        for _ in range(20):
            nlp.update([example])
        doc = nlp(Doc(nlp.vocab, words=words))
        found = [(span.start, span.end) for span in doc.spans["ents"]]
        if found == [(3, 3 + width), (4, 6)]:
            break
    return found


@pytest.mark.parametrize(
    "width, offsets", [(8, "linear"), (26, "linear"), (26, "squashed")]
)
def test_regressor_reaches_entities_of_any_length(width: int, offsets: str) -> None:
    found = found_after_training(width, model={"offsets": offsets})
    assert found == [(3, 3 + width), (4, 6)]


@pytest.mark.parametrize("settings", [{}, {"use_filter": False}])
def test_without_regressor_lengths_between_those_of_seeds_are_learned(
    settings: Dict[str, Any],
) -> None:
    found = found_after_training(8, use_regressor=False, **settings)
    assert found == [(3, 11), (4, 6)]

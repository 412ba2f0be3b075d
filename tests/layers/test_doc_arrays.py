"""Arrays of documents."""

import pytest
import torch
from spacy.tokens import Doc
from spacy.vocab import Vocab

from spacy_spanner.layers.doc_arrays import sentence_starts, split_rows


def test_rows_are_split_by_document_without_copies() -> None:
    flat = torch.arange(10.0).view(5, 2)
    first, empty, last = split_rows(flat, [2, 0, 3])
    assert first.tolist() == [[0, 1], [2, 3]]
    assert empty.shape == (0, 2)
    assert last.tolist() == [[4, 5], [6, 7], [8, 9]]
    flat[0, 0] = 7.0
    assert first[0, 0] == 7.0


@pytest.mark.parametrize(
    "starts, expected", [(None, None), ([True, False, True], [0, 2])]
)
def test_sentences_start_where_the_document_says(starts: list, expected: list) -> None:
    doc = Doc(Vocab(), words=["a", "b", "c"], sent_starts=starts)
    assert sentence_starts(doc) == expected

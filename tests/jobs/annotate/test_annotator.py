"""The annotator travels, loads itself, and quarantines what fails."""

import pickle
from pathlib import Path
from typing import Any, Dict, List

import numpy as np
import pytest
import spacy
from spacy.tokens import Doc

from spacy_spanner.jobs.annotate.annotator import (
    BATCH_CHARACTERS,
    SpanAnnotator,
    find_key,
)
from spacy_spanner.jobs.annotate.frames import SPARK_COLUMNS
from spacy_spanner.jobs.annotate.messages import Document

from ...helpers import scored_spans, trained
from .helpers import TEXTS, annotator
from .trouble import POISON

POISONED = f"This text is {POISON}."


def expected_rows() -> List[List[Dict[str, Any]]]:
    docs = trained("span_biaffine").pipe(TEXTS)
    return [
        [
            {
                "start": doc[start].idx,
                "end": doc[end - 1].idx + len(doc[end - 1]),
                "token_start": start,
                "token_end": end - 1,
                "label": label,
                "text": doc[start:end].text,
                "score": pytest.approx(score, abs=1e-5),
            }
            for start, end, label, score in scored_spans(doc)
        ]
        for doc in docs
    ]


def check_columns(spans: Any, errors: Any) -> None:
    """Expect the spans of `NESTED`, followed by the poisoned text."""
    *found, none = [[dict(span) for span in row] for row in spans]
    assert found == expected_rows()
    assert none == []
    *free, error = list(errors)
    assert all(one is None for one in free)
    assert error == "ArithmeticError: a poisoned document"


def test_dict_of_columns_gets_spans_and_errors(model: Path) -> None:
    batch = {"text": [*TEXTS, POISONED], "id": [1, 2, 3, 4]}
    found = annotator(model)(batch)
    assert list(found) == ["text", "id", "spans", "error"]
    assert found["id"] == [1, 2, 3, 4]
    assert list(batch) == ["text", "id"]
    check_columns(found["spans"], found["error"])


def test_arrays_of_numpy_are_columns(model: Path) -> None:
    found = annotator(model)({"text": np.array([*TEXTS, POISONED], dtype=object)})
    check_columns(found["spans"], found["error"])


def test_pickled_annotator_holds_no_pipeline(model: Path) -> None:
    one = annotator(model)
    small = len(pickle.dumps(one))
    one({"text": TEXTS})
    assert len(pickle.dumps(one)) == small < 1000
    again = pickle.loads(pickle.dumps(one))
    check_columns(**renamed(again({"text": [*TEXTS, POISONED]})))


def renamed(found: Dict[str, Any]) -> Dict[str, Any]:
    return {"spans": found["spans"], "errors": found["error"]}


def test_frames_of_pandas_keep_index_and_columns(model: Path) -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"id": list("abcd"), "text": [*TEXTS, POISONED]})
    frame.index = [7, 7, 3, 1]
    found = annotator(model)(frame)
    assert list(found.columns) == ["id", "text", "spans", "error"]
    assert list(found.index) == [7, 7, 3, 1]
    assert list(frame.columns) == ["id", "text"]
    check_columns(found["spans"], found["error"])


def test_frames_of_spark_are_mapped_one_by_one(model: Path) -> None:
    pandas = pytest.importorskip("pandas")
    texts = [*TEXTS, POISONED]
    frames = (pandas.DataFrame({"text": [text]}) for text in texts)
    mapped = annotator(model).map_in_pandas(frames)
    first = next(mapped)
    assert list(first.columns) == ["text", "spans", "error"]
    found = pandas.concat([first, *mapped])
    check_columns(found["spans"], found["error"])


def test_empty_frame_gives_an_empty_frame(model: Path) -> None:
    pandas = pytest.importorskip("pandas")
    found = annotator(model)(pandas.DataFrame({"text": []}))
    assert list(found.columns) == ["text", "spans", "error"]
    assert len(found) == 0


def test_tables_of_arrow_get_typed_columns(model: Path) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    one = annotator(model)
    found = one(pyarrow.table({"text": [*TEXTS, POISONED]}))
    names = [field.name for field in found.schema.field("spans").type.value_type]
    assert names == [
        c.split(":")[0] for c in SPARK_COLUMNS[19:].split(">")[0].split(",")
    ]
    check_columns(found["spans"].to_pylist(), found["error"].to_pylist())
    assert one(found).schema == found.schema  # columns are replaced
    assert one(found.slice(0, 0)).schema == found.schema


def test_missing_text_is_an_error_of_the_row_or_of_the_table(model: Path) -> None:
    one = annotator(model, text_field="body")
    found = one({"body": [None, 3, TEXTS[0]]})
    assert ["SP121" in (error or "") for error in found["error"]] == [True, True, False]
    with pytest.raises(ValueError, match=r"SP121.*body.*text, n"):
        one({"text": TEXTS, "n": [1, 2, 3]})


@pytest.mark.parametrize("batch_size", [1, 2, 7])
def test_batches_do_not_change_order_or_results(model: Path, batch_size: int) -> None:
    documents = [Document(str(n), text) for n, text in enumerate(2 * TEXTS)]
    documents[2:2] = [Document("p", POISONED), Document("q", problem="broken")]
    one = annotator(model)
    found = list(one.annotate(documents, batch_size=batch_size))
    assert [x.id for x in found] == ["0", "1", "p", "q", "2", "3", "4", "5"]
    assert [bool(x.problem) for x in found].index(True) == 2
    assert [x.problem for x in found if x.problem][1] == "broken"
    good = [x.doc for x in found if not x.problem]
    expected = list(trained("span_biaffine").pipe(2 * TEXTS))
    assert [scored_spans(doc) for doc in good] == [
        pytest.approx(scored_spans(doc)) if not doc.spans["ents"] else _near(doc)
        for doc in expected
    ]


def _near(doc: Doc) -> List[Any]:
    return [(*row[:3], pytest.approx(row[3], abs=1e-5)) for row in scored_spans(doc)]


def test_long_documents_make_short_batches(model: Path) -> None:
    one = annotator(model)
    sizes = []

    class Spy:
        batch_size = 100

        def pipe(self, texts: List[str], **_: Any) -> List[Doc]:
            sizes.append(len(texts))
            return [Doc(trained("span_biaffine").vocab) for _ in texts]

    one._nlp = Spy()  # type: ignore[assignment]
    long = Document("a", "x" * (BATCH_CHARACTERS // 2))
    list(one.annotate([long] * 5 + [Document("b", "x")]))
    assert sizes == [2, 2, 2]


def test_document_is_as_it_was_after_a_batch_has_failed(model: Path) -> None:
    nlp = trained("span_biaffine")
    docs = [Doc(nlp.vocab, words=text.split()) for text in [TEXTS[0], POISONED]]
    documents = [Document(str(n), doc=doc) for n, doc in enumerate(docs)]
    first, second = annotator(model).annotate(documents)
    assert first.doc.text == docs[0].text
    assert "ents" not in docs[0].spans
    assert second.problem


def test_pipeline_that_leaves_documents_out_says_which(model: Path) -> None:
    one = annotator(model)
    one.nlp.set_error_handler(lambda *_: None)
    documents = [Document("a", TEXTS[0]), Document("b", POISONED)]
    found = list(one.annotate(documents))
    assert [bool(x.problem) for x in found] == [False, True]


def test_words_of_a_table_are_forgotten(model: Path) -> None:
    one = annotator(model)
    one({"text": TEXTS})
    before = len(one.nlp.vocab.strings)
    one({"text": [f"word{n}" for n in range(1000)]})
    assert len(one.nlp.vocab.strings) == before
    keeping = annotator(model, memory_zone=False)
    keeping({"text": [f"word{n}" for n in range(1000)]})
    assert len(keeping.nlp.vocab.strings) >= before + 1000


def test_gpu_that_is_not_there_is_an_error(model: Path) -> None:
    import torch

    if torch.cuda.is_available():
        pytest.skip("there is a GPU")
    with pytest.raises(ValueError, match=r"SP128.*--num-gpus"):
        annotator(model, gpu_id=0)({"text": TEXTS})


def test_pipeline_of_entities_gives_them_without_scores(tmp_path: Path) -> None:
    nlp = spacy.blank("en")
    nlp.add_pipe("entity_ruler").add_patterns([{"label": "GPE", "pattern": "Boston"}])  # type: ignore[attr-defined]
    nlp.to_disk(tmp_path)
    found = SpanAnnotator(str(tmp_path))({"text": ["In Boston."]})
    assert found["spans"] == [
        [
            {
                "start": 3,
                "end": 9,
                "token_start": 1,
                "token_end": 1,
                "label": "GPE",
                "text": "Boston",
                "score": None,
            }
        ]
    ]


def test_pipeline_of_several_groups_needs_a_key() -> None:
    nlp = spacy.blank("en")
    for key in ("a", "b"):
        nlp.add_pipe("span_ruler", name=key, config={"spans_key": key})
    with pytest.raises(ValueError, match="SP071"):
        find_key(nlp)
    assert find_key(nlp, "b") == "b"
    assert find_key(spacy.blank("en")) is None

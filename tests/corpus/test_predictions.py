"""Predictions of other tools become training data, and keep their scores."""

import json
import warnings
from pathlib import Path
from typing import Any, Dict, List, Optional

import pytest
import spacy
from spacy.tokens import Doc, DocBin, Span
from spacy.training import Corpus

from spacy_spanner.corpus.conversion import convert_corpus, read_plain_docs
from spacy_spanner.corpus.options import DocOptions, ReadOptions
from spacy_spanner.corpus.records import LostSpans

from .util import docs_and_lost, read_all, spans_of, write_file

NLP = spacy.blank("en")
TEXT = "Ana Ruiz left the US Court."
ANA = {"start": 0, "end": 8}
COURT = {"start": 18, "end": 26}
PLACES = [(0, 2, "person"), (4, 6, "org")]


def save(tmp_path: Path, *items: Any) -> Path:
    return write_file(tmp_path, "a.jsonl", "\n".join(map(json.dumps, items)))


def scores(doc: Doc) -> List[float]:
    return [float(score) for score in doc.spans["ents"].attrs["scores"]]


def result(span: Dict[str, int], label: str, **more: Any) -> Dict[str, Any]:
    return {"value": {**span, "labels": [label]}, "type": "labels", **more}


GLINER = {
    "text": TEXT,
    "entities": [
        {**ANA, "text": "Ana Ruiz", "label": "person", "score": 0.9},
        {**COURT, "text": "US Court", "label": "org", "score": 0.4},
    ],
}
GLINER_2 = {
    "text": TEXT,
    "entities": {
        "person": [{**ANA, "text": "Ana Ruiz", "confidence": 0.9}],
        "org": [{**COURT, "text": "US Court", "confidence": 0.4}],
        "date": [],
    },
}
TRANSFORMERS = {
    "text": TEXT,
    "entities": [
        {**ANA, "entity_group": "person", "score": 0.9, "word": "ana ruiz"},
        # Some tokenizers count the space before a word to it.
        {"start": 17, "end": 26, "entity_group": "org", "score": 0.4, "word": " US"},
    ],
}
PRODIGY = {
    "text": TEXT,
    "spans": [
        {**ANA, "label": "person", "score": 0.9},
        {**COURT, "label": "org", "score": 0.4},
    ],
    "answer": "accept",
}
LABEL_STUDIO = {
    "data": {"text": TEXT},
    "predictions": [
        {
            "model_version": "one",
            "score": 0.1,  # of the whole task
            "result": [
                result(ANA, "person", score=0.9),
                result(COURT, "org", score=0.4),
                {"value": {"choices": ["good"]}, "type": "choices"},
            ],
        },
        {"model_version": "two", "result": [result(ANA, "org")]},
    ],
}
SHAPES = {
    "GLiNER": GLINER,
    "GLiNER2": GLINER_2,
    "transformers": TRANSFORMERS,
    "Prodigy": PRODIGY,
    "Label Studio": LABEL_STUDIO,
}


def convert(source: Path, **options: Any) -> List[Doc]:
    """Convert to `.spacy`, with the options of `ReadOptions` and `DocOptions`."""
    target = source.with_name("out.spacy")
    own = {name: options.pop(name) for name in ("from_key", "predictions")}
    read_options = ReadOptions(**own)
    convert_corpus(
        source,
        target,
        NLP,
        read_options=read_options,
        doc_options=DocOptions(**options),
        lost=LostSpans(),
    )
    return list(read_plain_docs(target))


def converted(source: Path, **options: Any) -> Doc:
    (doc,) = convert(source, **{"from_key": "", "predictions": True, **options})
    return doc


# ------------------------------------------------------------------------- JSON Lines


@pytest.mark.parametrize("item", SHAPES.values(), ids=SHAPES.keys())
def test_predictions_of_a_tool_keep_their_scores(tmp_path: Path, item: Any) -> None:
    doc = converted(save(tmp_path, item))
    assert spans_of(doc) == PLACES
    assert scores(doc) == [0.9, 0.4]


@pytest.mark.parametrize("item", SHAPES.values(), ids=SHAPES.keys())
def test_min_score_leaves_out_what_is_unsure(tmp_path: Path, item: Any) -> None:
    doc = converted(save(tmp_path, item), min_score=0.5)
    assert spans_of(doc) == PLACES[:1]
    assert scores(doc) == [0.9]


def test_unsure_entities_are_listed_but_not_lost(tmp_path: Path) -> None:
    inside = {"start": 19, "end": 26, "label": "org", "score": 0.3}  # of a token
    item = {"text": TEXT, "entities": [*GLINER["entities"], inside]}
    _, lost = docs_and_lost("jsonl", save(tmp_path, item), min_score=0.5)
    assert lost.reasons == {"score too low": 2}
    assert [row.text for row in lost.examples] == ["US Court", "S Court"]
    assert lost.n_lost == 0


@pytest.mark.parametrize("score", [None, "high", float("nan")])
def test_spans_without_a_score_are_kept_and_certain(tmp_path: Path, score: Any) -> None:
    spans = [{**ANA, "label": "person", "score": score}, GLINER["entities"][1]]
    doc = converted(save(tmp_path, {"text": TEXT, "spans": spans}), min_score=0.2)
    assert spans_of(doc) == PLACES
    assert scores(doc) == [1.0, 0.4]


@pytest.mark.parametrize("score", [93.0, "1.01", -3.5])
def test_scores_that_are_no_probabilities_are_kept_with_a_warning(
    tmp_path: Path, score: Any
) -> None:
    """Percent, or the outputs of a model before its sigmoid."""
    item = {"text": TEXT, "spans": [{**ANA, "label": "person", "score": score}]}
    path = save(tmp_path, item, item)
    with pytest.warns(UserWarning, match=r"SW182.* 2 scores in a\.jsonl"):
        docs = convert(path, from_key="", predictions=True)
    assert [scores(doc) for doc in docs] == [[float(score)]] * 2


def test_scores_that_are_rounded_beyond_limits_need_no_warning(tmp_path: Path) -> None:
    places = zip((ANA, COURT), (1.0000002, 0.0))
    spans = [{**place, "label": "person", "score": score} for place, score in places]
    path = save(tmp_path, {"text": TEXT, "spans": spans})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert len(scores(converted(path))) == 2


def test_scores_written_as_strings_are_scores(tmp_path: Path) -> None:
    spans = [{**ANA, "label": "person", "score": "0.1"}, GLINER["entities"][1]]
    path = save(tmp_path, {"text": TEXT, "spans": spans})
    assert scores(converted(path)) == [0.1, 0.4]
    assert scores(converted(path, min_score=0.2)) == [0.4]


def test_annotation_by_hand_has_no_scores(tmp_path: Path) -> None:
    item = {"text": TEXT, "spans": [{**ANA, "label": "person"}]}
    doc = converted(save(tmp_path, item))
    assert spans_of(doc) == PLACES[:1]
    assert "scores" not in doc.spans["ents"].attrs


def test_scores_survive_the_way_to_jsonl_and_back(tmp_path: Path) -> None:
    target = tmp_path / "b.jsonl"
    convert_corpus(save(tmp_path, GLINER), target, NLP)
    rows = json.loads(target.read_text(encoding="utf8"))["spans"]
    assert [row["score"] for row in rows] == [0.9, 0.4]
    assert scores(converted(target)) == [0.9, 0.4]


def test_gliner_2_without_offsets_says_what_is_needed(tmp_path: Path) -> None:
    item = {"text": TEXT, "entities": {"person": ["Ana Ruiz"]}}
    with pytest.raises(ValueError, match=r"SP001.*line 1.*include_spans=True"):
        read_all("jsonl", save(tmp_path, item))


def test_word_pieces_of_transformers_say_what_is_needed(tmp_path: Path) -> None:
    piece = {"entity": "B-PER", "index": 1, "start": 0, "end": 3, "word": "Ana"}
    with pytest.raises(ValueError, match=r"SP001.*aggregation_strategy"):
        read_all("jsonl", save(tmp_path, {"text": TEXT, "entities": [piece]}))


# ----------------------------------------------------------------------- Label Studio


def test_predictions_of_label_studio_are_not_annotation(tmp_path: Path) -> None:
    reading = read_all("jsonl", save(tmp_path, LABEL_STUDIO))
    assert [record.mentions for record in reading.records] == [None]
    assert reading.notes == [
        "a.jsonl: 1 tasks have only predictions, which need --predictions to be read"
    ]


def test_predictions_of_label_studio_are_told(tmp_path: Path) -> None:
    reading = read_all("jsonl", save(tmp_path, LABEL_STUDIO), predictions=True)
    assert reading.notes == [
        "a.jsonl: 1 further annotations of documents were skipped",
        "a.jsonl: 1 tasks have only predictions, which were read",
    ]


@pytest.mark.parametrize("predictions", [False, True])
def test_annotation_precedes_predictions(tmp_path: Path, predictions: bool) -> None:
    task = {**LABEL_STUDIO, "annotations": [{"result": [result(ANA, "hand")]}]}
    reading = read_all("jsonl", save(tmp_path, task), predictions=predictions)
    assert reading.mentions == [(0, 8, "hand")]
    assert reading.notes == []


def test_annotation_of_nothing_precedes_predictions(tmp_path: Path) -> None:
    task = {**LABEL_STUDIO, "annotations": [{"result": []}]}
    reading = read_all("jsonl", save(tmp_path, task), predictions=True)
    assert [record.mentions for record in reading.records] == [[]]


def test_ids_instead_of_predictions_are_no_predictions(tmp_path: Path) -> None:
    task = {"data": {"text": TEXT}, "predictions": [7]}
    reading = read_all("jsonl", save(tmp_path, task), predictions=True)
    assert [record.mentions for record in reading.records] == [None]


# -------------------------------------------------------------- GLiNER's training data


WORDS = ["Ana", "Ruiz", "left", "the", "US", "Court", "."]


@pytest.mark.parametrize(
    "ends, found",
    [
        ("auto", PLACES),
        ("inclusive", PLACES),
        ("exclusive", [(0, 1, "person"), (4, 5, "org")]),
    ],
)
def test_training_data_of_gliner_has_inclusive_ends(
    tmp_path: Path, ends: str, found: List[tuple]
) -> None:
    # Nothing shows whether the ends are inclusive: no entity of one token.
    item = {"tokenized_text": WORDS, "ner": [[0, 1, "person"], [4, 5, "org"]]}
    path = save(tmp_path, item)
    (doc,) = convert(path, from_key="", predictions=False)
    assert spans_of(doc) == PLACES
    assert read_all("json", path, ends=ends).mentions == found


# ----------------------------------------------------------------------- .spacy files


def predicted(key: Optional[str]) -> Doc:
    """A document with spans in a group, or in `doc.ents`."""
    doc = NLP(TEXT)
    spans = [Span(doc, *place) for place in PLACES]
    if key is None:
        doc.set_ents(spans)
    else:
        doc.spans[key] = spans
        doc.spans[key].attrs["scores"] = [0.9, 0.4]
    return doc


def save_docs(tmp_path: Path, *docs: Doc) -> Path:
    path = tmp_path / "in.spacy"
    DocBin(docs=docs, store_user_data=True).to_disk(path)
    return path


def test_another_group_is_copied_with_its_scores(tmp_path: Path) -> None:
    doc = converted(save_docs(tmp_path, predicted("sc")), from_key="sc")
    assert spans_of(doc) == spans_of(doc, "sc") == PLACES
    assert scores(doc) == [0.9, 0.4]


def test_group_that_no_document_has_is_an_error(tmp_path: Path) -> None:
    source = save_docs(tmp_path, predicted("sc"))
    with pytest.raises(ValueError, match=r"SP087.*'cs'.*groups: sc\."):
        converted(source, from_key="cs")
    assert not (tmp_path / "out.spacy").exists()


def test_another_group_is_limited_to_sure_spans(tmp_path: Path) -> None:
    source = save_docs(tmp_path, predicted("sc"))
    doc = converted(source, from_key="sc", min_score=0.5)
    assert spans_of(doc) == PLACES[:1]
    assert scores(doc) == [0.9]


def test_score_that_just_reaches_the_limit_is_sure(tmp_path: Path) -> None:
    """In the group it is less than the limit by the rounding of float32."""
    doc = predicted("sc")
    doc.spans["sc"].attrs["scores"] = [0.9, 0.3499999940395355]
    source = save_docs(tmp_path, doc)
    assert spans_of(converted(source, from_key="sc", min_score=0.35)) == PLACES


def test_documents_without_the_other_group_are_not_annotated(tmp_path: Path) -> None:
    source = save_docs(tmp_path, predicted("ents"), predicted("sc"))
    without, with_group = convert(source, from_key="sc", predictions=True)
    assert "ents" not in without.spans
    assert spans_of(with_group) == PLACES


def test_another_group_replaces_the_group_of_the_same_document(tmp_path: Path) -> None:
    doc = predicted("sc")
    doc.spans["ents"] = [Span(doc, 0, 1, "old")]
    assert spans_of(converted(save_docs(tmp_path, doc), from_key="sc")) == PLACES


def test_entities_keep_the_scores_of_their_extension(tmp_path: Path) -> None:
    doc = predicted(None)
    doc.user_data[("._.", "score", 18, 26)] = 0.4  # what `span._.score = 0.4` stores
    source = save_docs(tmp_path, doc)
    assert scores(converted(source)) == [1.0, 0.4]
    sure = converted(source, min_score=0.5)
    assert (spans_of(sure), scores(sure)) == (PLACES[:1], [1.0])


def test_entities_without_scores_get_none(tmp_path: Path) -> None:
    doc = converted(save_docs(tmp_path, predicted(None)))
    assert spans_of(doc) == PLACES
    assert "scores" not in doc.spans["ents"].attrs


def test_a_component_is_initialized_on_predictions(tmp_path: Path) -> None:
    converted(save(tmp_path, GLINER))
    nlp = spacy.blank("en")
    pipe: Any = nlp.add_pipe("span_biaffine", config={"spans_key": "ents"})
    corpus = Corpus(tmp_path / "out.spacy")
    nlp.initialize(lambda: list(corpus(nlp)))
    assert list(pipe.labels) == ["org", "person"]

"""Which spans are written: thresholds, overlaps, windows, `doc.ents`, other groups."""

from pathlib import Path
from typing import Any, Callable, List, Sequence, Tuple

import numpy as np
import pytest
from spacy.cli.find_threshold import find_threshold
from spacy.language import Language
from spacy.tokens import Doc, DocBin, Span

from spacy_spanner.spans import by_length, by_preference, resolve_overlaps
from spacy_spanner.types import ScoredSpan, SpanTable

from .helpers import (
    COURT_WORDS,
    CROSSING,
    DATA,
    FACTORIES,
    FIXED_NUMBER,
    NESTED,
    annotate,
    assert_same_predictions,
    blank_pipeline,
    make_examples,
    scored_spans,
    spans_of,
    texts,
    time_limit,
    trained,
    trained_copy,
)

COURT, MAYOR = NESTED[0][0], NESTED[1][0]
GPE, ORG, PER = 0, 1, 2


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
    pipe.set_annotations([doc], [[ScoredSpan(*span) for span in spans]])
    return doc


def entities(doc: Doc) -> List[Tuple[int, int, str]]:
    return [(span.start, span.end, span.label_) for span in doc.ents]


def words_doc(nlp: Language, words: Sequence[str] = COURT_WORDS, **kwargs: Any) -> Doc:
    return Doc(nlp.vocab, words=list(words), **kwargs)


# ---------------------------------------------------------------- overlaps


def test_overlap_any_keeps_crossing_spans(factory: str) -> None:
    nlp = trained_copy(factory, "crossing", overlap="any")
    assert spans_of(nlp(CROSSING[0][0])) == [(1, 4, "PER"), (3, 5, "LOC")]


@pytest.mark.parametrize("overlap", ["nested", "flat"])
def test_overlap_nested_and_flat_keep_better_of_crossing(
    factory: str, overlap: str
) -> None:
    nlp = trained_copy(factory, "crossing", overlap="any")
    both = scored_spans(nlp(CROSSING[0][0]))
    assert len(both) == 2
    with_settings(nlp, overlap=overlap)
    best = max(both, key=lambda span: span[3])
    assert scored_spans(nlp(CROSSING[0][0])) == [best]


def test_overlap_nested_keeps_span_inside_another(own_nlp: Language) -> None:
    with_settings(own_nlp, overlap="nested")
    assert spans_of(own_nlp(COURT))[:2] == [(0, 4, "ORG"), (1, 2, "GPE")]


def test_overlap_flat_keeps_better_of_nested(own_nlp: Language) -> None:
    outer, inner, apart = scored_spans(own_nlp(COURT))
    with_settings(own_nlp, overlap="flat")
    best = outer if outer[3] >= inner[3] else inner
    assert scored_spans(own_nlp(COURT)) == [best, apart]


# -------------------------------------------------------------- thresholds


def test_threshold_keeps_equal_and_drops_below(own_nlp: Language) -> None:
    found = scored_spans(own_nlp(COURT))
    assert len(found) == 3
    lowest = min(span[3] for span in found)
    with_settings(own_nlp, threshold=lowest)
    assert scored_spans(own_nlp(COURT)) == found
    above = float(np.nextafter(np.float32(lowest), np.float32(2)))
    with_settings(own_nlp, threshold=above)
    expected = [span for span in found if span[3] > lowest]
    assert scored_spans(own_nlp(COURT)) == expected


def test_threshold_1_drops_what_is_not_certain(own_nlp: Language) -> None:
    with_settings(own_nlp, threshold=1.0)
    assert spans_of(own_nlp(COURT)) == []


def test_threshold_0_gives_more_spans(own_nlp: Language) -> None:
    with_settings(own_nlp, threshold=0.0, overlap="any")
    # Proposals of some models agree on what there is.
    assert len(own_nlp(COURT).spans["ents"]) >= 3


def test_label_thresholds_raise_one_label(own_nlp: Language) -> None:
    with_settings(own_nlp, label_thresholds={"GPE": 1.0})
    assert spans_of(own_nlp(COURT)) == [(0, 4, "ORG")]


def test_label_thresholds_lower_one_label(own_nlp: Language) -> None:
    with_settings(own_nlp, threshold=1.0, label_thresholds={"GPE": 0.3})
    assert spans_of(own_nlp(COURT)) == [(1, 2, "GPE"), (8, 10, "GPE")]


def test_threshold_found_by_spacy_command(
    nlp: Language, factory: str, tmp_path: Path
) -> None:
    nlp.to_disk(tmp_path / "model")
    docs = [example.reference for example in make_examples(nlp, NESTED)]
    DocBin(docs=docs).to_disk(tmp_path / "dev.spacy")
    best, score, by_threshold = find_threshold(
        tmp_path / "model",
        tmp_path / "dev.spacy",
        pipe_name=factory,
        threshold_key="threshold",
        scores_key="spans_ents_f",
        n_trials=3,
        silent=True,
    )
    assert (best, score) == (0.5, 1.0)
    assert by_threshold[1.0] == 0.0


# ---------------------------------------------------------------- doc.ents

OVERLAPPING = [(0, 4, ORG, 0.6), (1, 2, GPE, 0.9), (8, 10, GPE, 0.8)]


def test_set_ents_off_leaves_entities_alone(own_nlp: Language) -> None:
    doc = words_doc(own_nlp)
    doc.set_ents([Span(doc, 2, 3, label="X")])
    write(doc, OVERLAPPING, own_nlp, set_ents="off")
    assert entities(doc) == [(2, 3, "X")]


def test_set_ents_score_prefers_confident(own_nlp: Language) -> None:
    doc = write(words_doc(own_nlp), OVERLAPPING, own_nlp, set_ents="score")
    assert entities(doc) == [(1, 2, "GPE"), (8, 10, "GPE")]
    assert spans_of(doc) == [(0, 4, "ORG"), (1, 2, "GPE"), (8, 10, "GPE")]


def test_set_ents_longest_prefers_long(own_nlp: Language) -> None:
    doc = write(words_doc(own_nlp), OVERLAPPING, own_nlp, set_ents="longest")
    assert entities(doc) == [(0, 4, "ORG"), (8, 10, "GPE")]


@pytest.mark.parametrize("mode", ["score", "longest"])
def test_set_ents_one_of_two_labels_of_a_span(own_nlp: Language, mode: str) -> None:
    spans = [(0, 1, GPE, 0.5), (0, 1, ORG, 0.75)]
    doc = write(words_doc(own_nlp), spans, own_nlp, set_ents=mode)
    assert entities(doc) == [(0, 1, "ORG")]


@pytest.mark.parametrize("mode", ["score", "longest"])
def test_set_ents_overwrite_replaces_entities(own_nlp: Language, mode: str) -> None:
    doc = words_doc(own_nlp)
    doc.set_ents([Span(doc, 2, 5, label="X"), Span(doc, 6, 7, label="Y")])
    write(doc, [(3, 4, ORG, 0.5)], own_nlp, set_ents=mode, overwrite=True)
    assert entities(doc) == [(3, 4, "ORG")]


@pytest.mark.parametrize(
    "mode,added", [("score", [(1, 2, "GPE")]), ("longest", [(1, 2, "GPE")])]
)
def test_set_ents_without_overwrite_keeps_entities(
    own_nlp: Language, mode: str, added: List
) -> None:
    doc = words_doc(own_nlp)
    doc.set_ents([Span(doc, 7, 9, label="X"), Span(doc, 5, 6, label="Y")])
    spans = [(1, 2, GPE, 0.4), (8, 10, GPE, 0.9)]
    write(doc, spans, own_nlp, set_ents=mode, overwrite=False)
    assert entities(doc) == [*added, (5, 6, "Y"), (7, 9, "X")]


def test_set_ents_without_overwrite_fills_in_second_choice(own_nlp: Language) -> None:
    doc = words_doc(own_nlp)
    doc.set_ents([Span(doc, 3, 4, label="X")])
    write(doc, OVERLAPPING, own_nlp, set_ents="longest", overwrite=False)
    # (0, 4) is longest, but meets X; what it would have shut out takes its place.
    assert entities(doc) == [(1, 2, "GPE"), (3, 4, "X"), (8, 10, "GPE")]


def test_set_ents_without_overwrite_keeps_ids_of_entities(own_nlp: Language) -> None:
    doc = words_doc(own_nlp)
    doc.set_ents([Span(doc, 1, 2, label="X", kb_id="Q30", span_id="usa")])
    write(doc, OVERLAPPING, own_nlp, set_ents="score", overwrite=False)
    assert [(ent.kb_id_, ent.id_) for ent in doc.ents] == [("Q30", "usa"), ("", "")]


@pytest.mark.parametrize("mode", ["score", "longest"])
@pytest.mark.parametrize("overwrite", [True, False])
def test_set_ents_in_pipeline_after_entity_ruler(
    own_nlp: Language, mode: str, overwrite: bool
) -> None:
    with_settings(own_nlp, set_ents=mode, overwrite=overwrite)
    ruler = own_nlp.add_pipe("entity_ruler", first=True)
    patterns = ["Court will", "hear", "Boston met"]
    ruler.add_patterns([{"label": "RULE", "pattern": text} for text in patterns])
    own_nlp.get_pipe(own_nlp.pipe_names[1]).cfg.update(
        set_ents=mode, overwrite=overwrite
    )
    docs = list(own_nlp.pipe([*texts(NESTED)]))
    rules = [ent for doc in docs for ent in doc.ents if ent.label_ == "RULE"]
    assert len(rules) == (0 if overwrite else 3)
    assert all(doc.ents for doc in docs[:2])


# ------------------------------------------------------------ other groups


def test_overwrite_replaces_group(own_nlp: Language) -> None:
    doc = annotate(words_doc(own_nlp), [(5, 7, "X")])
    write(doc, OVERLAPPING, own_nlp, overwrite=True)
    assert spans_of(doc) == [(0, 4, "ORG"), (1, 2, "GPE"), (8, 10, "GPE")]


def test_without_overwrite_adds_with_aligned_scores(own_nlp: Language) -> None:
    doc = annotate(words_doc(own_nlp), [(5, 7, "X"), (1, 2, "ORG")])
    doc.spans["ents"].attrs["scores"] = np.asarray([0.25, 0.5], dtype="f")
    write(doc, OVERLAPPING, own_nlp, overwrite=False, overlap="nested")
    assert scored_spans(doc) == [
        (0, 4, "ORG", pytest.approx(0.6)),
        (1, 2, "GPE", pytest.approx(0.9)),
        (1, 2, "ORG", 0.5),
        (5, 7, "X", 0.25),
        (8, 10, "GPE", pytest.approx(0.8)),
    ]
    assert doc.spans["ents"].attrs["scores"].dtype == np.float32


def test_without_overwrite_spans_of_others_are_certain(own_nlp: Language) -> None:
    doc = annotate(words_doc(own_nlp), [(5, 7, "X")])
    write(doc, [(0, 4, ORG, 0.5)], own_nlp, overwrite=False)
    assert scored_spans(doc) == [(0, 4, "ORG", 0.5), (5, 7, "X", 1.0)]


def test_without_overwrite_repeated_span_keeps_its_score(own_nlp: Language) -> None:
    doc = annotate(words_doc(own_nlp), [(0, 4, "ORG")])
    doc.spans["ents"].attrs["scores"] = np.asarray([0.25], dtype="f")
    write(doc, [(0, 4, ORG, 0.9)], own_nlp, overwrite=False)
    assert scored_spans(doc) == [(0, 4, "ORG", 0.25)]


@pytest.mark.parametrize(
    "overlap,expected",
    [
        ("flat", [(2, 5, "X"), (8, 10, "GPE")]),
        ("nested", [(2, 3, "GPE"), (2, 5, "X"), (8, 10, "GPE")]),
        ("any", [(0, 4, "ORG"), (2, 3, "GPE"), (2, 5, "X"), (8, 10, "GPE")]),
    ],
)
def test_without_overwrite_spans_of_others_come_first(
    own_nlp: Language, overlap: str, expected: List
) -> None:
    doc = annotate(words_doc(own_nlp), [(2, 5, "X")])
    spans = [(0, 4, ORG, 0.6), (2, 3, GPE, 0.9), (8, 10, GPE, 0.8)]
    write(doc, spans, own_nlp, overwrite=False, overlap=overlap)
    assert sorted(spans_of(doc)) == expected


def test_without_overwrite_span_added_by_hand_is_kept(own_nlp: Language) -> None:
    doc = annotate(words_doc(own_nlp), [(5, 7, "X")])
    doc.spans["ents"].attrs["scores"] = np.asarray([0.25], dtype="f")
    doc.spans["ents"].append(Span(doc, 6, 7, label="Y"))
    write(doc, [(0, 4, ORG, 0.5)], own_nlp, overwrite=False)
    assert spans_of(doc) == [(0, 4, "ORG"), (5, 7, "X"), (6, 7, "Y")]


def test_overwrite_false_running_twice_changes_nothing(own_nlp: Language) -> None:
    with_settings(own_nlp, overwrite=False)
    doc = own_nlp(COURT)
    once = scored_spans(doc)
    pipe = own_nlp.get_pipe(own_nlp.pipe_names[0])
    assert scored_spans(pipe(doc)) == once


# --------------------------------------------------------------- spans_key


def test_spans_key_custom_from_gold_to_scores(factory: str) -> None:
    nlp = trained(factory, spans_key="sc")
    doc = nlp(COURT)
    assert list(doc.spans) == ["sc"]
    assert spans_of(doc, "sc") == [(0, 4, "ORG"), (1, 2, "GPE"), (8, 10, "GPE")]
    scores = nlp.evaluate(make_examples(nlp, NESTED, "sc"))
    assert scores["spans_sc_f"] == 1.0
    assert set(scores["spans_sc_per_type"]) == {"GPE", "ORG", "PER"}
    assert not [key for key in scores if key.startswith("spans_ents")]


def test_spans_key_default_names_every_score_weight(
    nlp: Language, factory: str
) -> None:
    scores = nlp.evaluate(make_examples(nlp, NESTED))
    weights = Language.get_factory_meta(factory).default_score_weights
    assert set(weights) <= set(scores)


def test_spans_key_changed_after_training(own_nlp: Language) -> None:
    expected = spans_of(own_nlp(COURT))
    with_settings(own_nlp, spans_key="found")
    doc = own_nlp(COURT)
    assert list(doc.spans) == ["found"]
    assert spans_of(doc, "found") == expected


# ----------------------------------------------------------------- windows


def repeat_to(n_tokens: int, nlp: Language) -> List[str]:
    """Join the training texts, with a full stop at the end of each sentence."""
    words = [token.text for text in (COURT, MAYOR) for token in nlp.make_doc(text)]
    return (words * (n_tokens // len(words) + 1))[:n_tokens]


@pytest.mark.parametrize("max_window", [50, 1000])
def test_window_long_text_without_sentences_finds_all_parts(
    factory: str, max_window: int
) -> None:
    if factory in FIXED_NUMBER and max_window > 50:
        pytest.skip("needs more spans for longer windows")
    nlp = trained_copy(factory, "long", max_window=50, stride=20)
    with_settings(nlp, max_window=max_window)
    words = repeat_to(600, nlp)
    found = spans_of(nlp(words_doc(nlp, words)))
    assert len(found) == len(set(found))
    counties = [index for index in range(600) if words[index] == "Leon"]
    assert len(counties) == 29
    assert {(start, start + 2, "GPE") for start in counties} <= set(found)


def test_window_sentence_keeps_spans_inside_sentences(own_nlp: Language) -> None:
    words = repeat_to(600, own_nlp)
    after_stop = [index == 0 or words[index - 1] == "." for index in range(600)]
    with_settings(own_nlp, threshold=0.0, overlap="any")
    doc = own_nlp(words_doc(own_nlp, words, sent_starts=after_stop))
    assert len(doc.spans["ents"]) > 100
    assert not any(any(after_stop[start + 1 : end]) for start, end, _ in spans_of(doc))


@pytest.mark.parametrize("window", ["doc", "strided"])
def test_window_doc_and_strided_ignore_sentences(
    own_nlp: Language, window: str
) -> None:
    with_settings(own_nlp, window=window)
    starts = [index in (0, 3) for index in range(len(COURT_WORDS))]
    cut = own_nlp(words_doc(own_nlp, sent_starts=starts))
    assert scored_spans(cut) == scored_spans(own_nlp(words_doc(own_nlp)))
    assert (0, 4, "ORG") in spans_of(cut)


def test_window_sentence_without_boundaries_equals_strided(own_nlp: Language) -> None:
    words = repeat_to(2000, own_nlp)
    plain = own_nlp(words_doc(own_nlp, words))
    with_settings(own_nlp, window="strided")
    strided = own_nlp(words_doc(own_nlp, words))
    assert len(plain.spans["ents"]) > 300
    assert_same_predictions([strided], [plain])


def test_window_no_span_is_longer_than_max_window(own_nlp: Language) -> None:
    with_settings(own_nlp, max_window=5, stride=2, threshold=0.0, overlap="any")
    doc = own_nlp(words_doc(own_nlp))
    assert 2 < max(end - start for start, end, _ in spans_of(doc)) <= 5
    assert all(score <= 1 for *_, score in scored_spans(doc))


@pytest.mark.parametrize("max_cells", [1, 500])
def test_window_groups_do_not_change_predictions(factory: str, max_cells: int) -> None:
    nlp = trained_copy(factory, "long", max_window=50, stride=20, overlap="any")
    docs = [words_doc(nlp, repeat_to(n, nlp)) for n in (30, 600, 7)]
    expected = list(nlp.pipe(doc.copy() for doc in docs))
    with_settings(nlp, max_cells=max_cells)
    assert_same_predictions(nlp.pipe(docs), expected)


@pytest.mark.parametrize("order", [by_preference, by_length])
def test_near_ties_are_decided_by_position_not_by_noise(order: Callable) -> None:
    noisy = SpanTable.of([(0, 4, 0, 0.9342719), (2, 6, 0, 0.9342722)])
    assert [span.start for span in order(noisy).rows()] == [0, 2]


@pytest.mark.slow
def test_window_100000_tokens_without_sentences(nlp: Language) -> None:
    doc = nlp(words_doc(nlp, repeat_to(100_000, nlp)))
    assert len(doc.spans["ents"]) > 10_000


# ---------------------------------------------------------------- odd docs

ODD = [
    "",
    " ",
    " \n\t  \u00a0\n",
    "Boston",
    "x",
    "\x00\x01\x07\x1b\x7f",
    "\x00 \x08 \u200b\u200e \ufeff \U0001f600",
    "The mayor of  Boston \n met Ana \t Ruiz.",
]


def test_odd_docs_in_one_batch_leave_others_alone(nlp: Language) -> None:
    normal = [COURT, MAYOR, NESTED[2][0]]
    expected = [nlp(text) for text in [*ODD, *normal]]
    assert_same_predictions(nlp.pipe([*ODD, *normal]), expected)
    assert spans_of(expected[-3]) == [(0, 4, "ORG"), (1, 2, "GPE"), (8, 10, "GPE")]


@pytest.mark.parametrize("text", ["", " ", " \n\t  \u00a0\n"])
def test_odd_docs_without_words_have_no_spans(own_nlp: Language, text: str) -> None:
    with_settings(own_nlp, threshold=0.0, set_ents="score")
    doc = own_nlp(text)
    assert scored_spans(doc) == []
    assert doc.ents == ()


def test_odd_docs_no_span_begins_or_ends_with_space(own_nlp: Language) -> None:
    with_settings(own_nlp, threshold=0.0, overlap="any")
    doc = own_nlp(ODD[-1])
    spans = list(doc.spans["ents"])
    assert any(token.is_space for token in doc)
    assert any(any(token.is_space for token in span) for span in spans)
    assert not any(span[0].is_space or span[-1].is_space for span in spans)


def test_odd_docs_evaluate_without_any_text(nlp: Language) -> None:
    scores = nlp.evaluate(make_examples(nlp, [("", []), (" ", [])]))
    assert scores["spans_ents_f"] is None


def test_odd_docs_train(factory: str) -> None:
    nlp = blank_pipeline(factory)
    examples = make_examples(nlp, [*NESTED, *((text, []) for text in ODD)])
    optimizer = nlp.initialize(lambda: examples)
    for _ in range(2):
        losses = nlp.update(examples, sgd=optimizer)
    assert np.isfinite(losses[factory])


@pytest.mark.parametrize("factory", FACTORIES)
def test_without_overwrite_other_attributes_of_the_group_stay(factory: str) -> None:
    nlp = trained_copy(factory)
    nlp.get_pipe(factory).cfg["overwrite"] = False
    doc = nlp.make_doc(texts(DATA["nested"])[0])
    doc.spans["ents"] = []
    doc.spans["ents"].attrs["source"] = "people"
    nlp(doc)
    assert doc.spans["ents"].attrs["source"] == "people"
    assert len(doc.spans["ents"]) == len(doc.spans["ents"].attrs["scores"]) > 0


@pytest.mark.parametrize("factory", FACTORIES)
def test_set_ents_without_overwrite_leaves_blocked_tokens(factory: str) -> None:
    nlp = trained_copy(factory)
    nlp.get_pipe(factory).cfg.update(overwrite=False, set_ents="longest")
    doc = nlp.make_doc(texts(DATA["nested"])[0])
    doc.set_ents([], blocked=[doc[0 : len(doc)]])
    nlp(doc)
    assert doc.ents == ()
    assert len(doc.spans["ents"]) > 0


def test_selection_among_many_crossing_spans_is_linear() -> None:
    starts = np.arange(40_000)
    # Every ninth is best, and crosses the eight on either side of it.
    score = np.where(starts % 9 == 0, 0.9, 0.5).astype("f")
    spans = SpanTable(starts, starts + 9, np.zeros_like(starts), score)
    with time_limit(10):
        kept = resolve_overlaps(spans, "nested")
    assert kept.start.tolist() == list(range(0, 40_000, 9))

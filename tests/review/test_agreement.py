"""Agreement: bounds, symmetry, plain loops, and other libraries as oracles."""

from itertools import combinations
from typing import Any, Dict, List, Sequence, Set, Tuple

import numpy as np
import pytest
import spacy
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linear_sum_assignment

from spacy_spanner.review.agreement import (
    ALL,
    ALPHA,
    GAMMA,
    KAPPA,
    Agreement,
    measure_agreement,
)
from spacy_spanner.review.gamma import (
    Placed,
    disorder_by_chance,
    doc_costs,
    gamma_from,
)
from spacy_spanner.review.pairwise import (
    BOUNDARIES,
    MEASURES,
    OVERLAP,
    STRICT,
    match,
    overlapping_pairs,
)
from spacy_spanner.review.token_agreement import Tokens, values_by_label
from spacy_spanner.review.versions import CharSpan, Units, Version, units_of

NLP = spacy.blank("en")
N_WORDS, LABELS = 12, ("LOC", "ORG", "PER")
IDS = {label: number for number, label in enumerate(LABELS)}
TEXT = " ".join("abcd" for _ in range(N_WORDS))
Spans = List[Set[CharSpan]]


def at(first: int, last: int, label: str = "PER") -> CharSpan:
    """The span of some words of `TEXT`."""
    return 5 * first, 5 * last + 4, label


def version(name: str, spans: Spans) -> Version:
    return Version(name, [NLP.make_doc(TEXT) for _ in spans], spans)


def measured(*spans: Spans, **options: Any) -> Agreement:
    names = "ABCD"
    versions = [version(name, rows) for name, rows in zip(names, spans)]
    return measure_agreement(versions, **{"n_samples": 20, **options})


def values(found: Agreement) -> Dict[Tuple[str, ...], Any]:
    return {score[:4]: score.value for score in found.scores}


word = st.integers(0, N_WORDS - 1)
span = st.tuples(word, word, st.sampled_from(LABELS)).map(
    lambda row: at(min(row[:2]), max(row[:2]), row[2])
)
docs = st.lists(st.sets(span, max_size=5), min_size=3, max_size=3)
FEW = settings(max_examples=20, deadline=None)

FIRST: Spans = [{at(0, 1), at(4, 4, "LOC")}, {at(2, 5, "ORG")}, set()]
SECOND: Spans = [{at(0, 1), at(4, 5, "LOC")}, {at(2, 5, "PER")}, {at(7, 7)}]


# -------------------------------------------------------------- properties


@FEW
@given(docs)
def test_a_version_agrees_with_itself(spans: Spans) -> None:
    found = measured(spans, spans)
    for score in found.scores:
        if score.value is not None:
            assert score.value == pytest.approx(1.0), score
    if any(spans):
        assert all(found.score(name).value == 1 for name in (*MEASURES, GAMMA))


@FEW
@given(docs, docs)
def test_order_of_versions_does_not_matter(one: Spans, two: Spans) -> None:
    forward, backward = values(measured(one, two)), values(measured(two, one))
    for key, value in forward.items():
        if key[3] != GAMMA:  # compared with other shifts
            assert backward[key] == pytest.approx(value), key


@FEW
@given(docs, docs, st.permutations(range(3)))
def test_order_of_documents_does_not_matter(
    one: Spans, two: Spans, order: Sequence[int]
) -> None:
    before = values(measured(one, two))
    after = values(measured([one[k] for k in order], [two[k] for k in order]))
    for key, value in before.items():
        if key[3] != GAMMA:
            assert after[key] == pytest.approx(value), key


@FEW
@given(docs, docs)
def test_scores_are_within_their_bounds(one: Spans, two: Spans) -> None:
    found = measured(one, two)
    for score in found.scores:
        if score.value is None:
            assert score.interval is None
            continue
        assert (0 if score.measure in MEASURES else -100) <= score.value <= 1 + 1e-9
        low, high = score.interval or [score.value] * 2
        assert low <= high
    strict = found.score(STRICT).value
    if strict is not None:
        assert strict <= found.score(BOUNDARIES).value + 1e-9
        assert strict <= found.score(OVERLAP).value + 1e-9


@FEW
@given(docs, docs)
def test_f1_is_that_of_plain_loops(one: Spans, two: Spans) -> None:
    def f1(ones: List[Set[Any]], twos: List[Set[Any]]) -> Any:
        total = sum(map(len, ones)) + sum(map(len, twos))
        shared = sum(len(a & b) for a, b in zip(ones, twos))
        return 2 * shared / total if total else None

    found = measured(one, two)
    assert found.score(STRICT).value == pytest.approx(f1(one, two))
    bare = [[{s[:2] for s in doc} for doc in side] for side in (one, two)]
    assert found.score(BOUNDARIES).value == pytest.approx(f1(*bare))
    for label in found.labels:
        own = [[{s for s in doc if s[2] == label} for doc in v] for v in (one, two)]
        assert found.score(STRICT, label).value == pytest.approx(f1(*own))


@FEW
@given(docs, docs)
def test_overlaps_are_those_of_plain_loops(one: Spans, two: Spans) -> None:
    first, second = (units_of(version("", side), IDS) for side in (one, two))
    wanted = {
        (i, j)
        for i in range(len(first))
        for j in range(len(second))
        if first.doc[i] == second.doc[j]
        and first.start[i] < second.end[j]
        and second.start[j] < first.end[i]
    }
    pairs = [column.tolist() for column in overlapping_pairs(first, second)]
    assert len(pairs[0]) == len(wanted) and set(zip(*pairs)) == wanted
    side_one, side_two = match(first, second)[OVERLAP]
    assert side_one.sum() == side_two.sum()


@FEW
@given(docs, docs)
def test_alignment_is_the_best_of_a_dense_assignment(one: Spans, two: Spans) -> None:
    first, second = (units_of(version("", side), IDS) for side in (one, two))
    offsets = np.asarray([0, 1_000, 2_000])
    sides = Placed.of(first, offsets), Placed.of(second, offsets)
    for number, row in enumerate(doc_costs(*sides, 3)):
        here = [side.doc == number for side in sides]
        a, b = (Placed(*(c[m] for c in side)) for side, m in zip(sides, here))
        n, m = len(a.start), len(b.start)
        dense = np.zeros((n + m, n + m))
        dense[:n, m:] = dense[n:, :m] = 1.0
        for i in range(n):
            for j in range(m):
                apart = abs(a.start[i] - b.start[j]) + abs(a.end[i] - b.end[j])
                size = a.end[i] - a.start[i] + b.end[j] - b.start[j]
                dense[i, j] = (apart / size) ** 2 + (a.label[i] != b.label[j])
        wanted = dense[linear_sum_assignment(dense)].sum()
        assert row == pytest.approx([wanted, (n + m) / 2])


# ---------------------------------------------------------------- examples


def test_scores_of_an_example() -> None:
    found = measured(FIRST, SECOND)
    assert found.score(STRICT).value == pytest.approx(2 * 1 / 7)
    assert found.score(BOUNDARIES).value == pytest.approx(2 * 2 / 7)
    assert found.score(OVERLAP).value == pytest.approx(2 * 2 / 7)
    assert found.score(STRICT, "ORG").value == 0
    assert found.score(BOUNDARIES, "ORG").value == 1
    assert found.score(OVERLAP, "LOC").value == 1
    assert found.score(STRICT, ALL, "A", "B") == found.score(STRICT)._replace(
        first="A", second="B"
    )
    assert not found.overlapping
    assert found.n_tokens == 3 * N_WORDS
    assert [row["not_shared"] for row in found.by_doc] == [2, 2, 1]
    assert [row["spans"] for row in found.by_doc] == [
        {"A": 2, "B": 2},
        {"A": 1, "B": 1},
        {"A": 0, "B": 1},
    ]
    assert [row[STRICT] for row in found.by_doc] == [0.5, 0.0, 0.0]


def test_overlapping_spans_have_kappa_by_label_only() -> None:
    nested: Spans = [{at(0, 3, "ORG"), at(1, 1, "LOC")}, {at(5, 5)}]
    found = measured(nested, nested)
    assert found.overlapping
    assert found.score(KAPPA).value is None and found.score(ALPHA).value is None
    assert found.score(KAPPA, "ORG").value == found.score(ALPHA, "LOC").value == 1


def test_more_versions_have_means_of_pairs() -> None:
    found = measured(FIRST, SECOND, FIRST)
    pairs = [found.score(STRICT, ALL, *pair).value for pair in combinations("ABC", 2)]
    assert found.score(STRICT).value == pytest.approx(np.mean(pairs))
    assert found.score(STRICT, ALL, "A", "C").value == 1


def test_intervals_are_seeded_and_need_two_documents() -> None:
    one, two = FIRST * 5, SECOND * 5
    assert measured(one, two).scores == measured(one, two).scores
    assert measured(one, two).scores != measured(one, two, seed=1).scores
    low, high = measured(one, two).score(STRICT).interval or (0, 0)
    assert 0 <= low < 2 / 7 < high <= 1
    found = measured(FIRST[:1], SECOND[:1])
    assert all(score.interval is None for score in found.scores)


def test_versions_without_spans_have_no_scores() -> None:
    nothing: Spans = [set(), set()]
    assert all(score.value is None for score in measured(nothing, nothing).scores)
    one_sided = measured(nothing, FIRST[:2])
    assert one_sided.score(STRICT).value == 0
    assert one_sided.score(GAMMA).value < 0.1


def test_random_versions_agree_as_by_chance() -> None:
    rng = np.random.default_rng(0)

    def random_version() -> Spans:
        return [
            {
                at(k, k, LABELS[rng.integers(3)])
                for k in rng.choice(N_WORDS, size=4, replace=False).tolist()
            }
            for _ in range(150)
        ]

    found = measured(random_version(), random_version())
    for measure in (KAPPA, ALPHA, GAMMA):
        assert abs(found.score(measure).value) < 0.1, measure


# ----------------------------------------------------------------- oracles


def random_flat(rng: np.random.Generator, n_docs: int = 40) -> Spans:
    return [
        {
            at(k, k + int(rng.integers(2)), LABELS[rng.integers(3)])
            for k in range(0, N_WORDS - 1, 2)
            if rng.random() < 0.5
        }
        for _ in range(n_docs)
    ]


def noisy(spans: Spans, rng: np.random.Generator) -> Spans:
    return [
        {
            s if rng.random() < 0.7 else (*s[:2], LABELS[rng.integers(3)])
            for s in doc
            if rng.random() < 0.9
        }
        for doc in spans
    ]


def test_kappa_is_that_of_scikit_learn() -> None:
    metrics = pytest.importorskip("sklearn.metrics")
    rng = np.random.default_rng(1)
    one = random_flat(rng)
    two = noisy(one, rng)
    found = measured(one, two)
    sides = [version(name, rows) for name, rows in (("A", one), ("B", two))]
    units = [units_of(side, IDS) for side in sides]
    rows = values_by_label(Tokens.of(sides[0].docs), units, 3).values
    wanted = metrics.cohen_kappa_score(*rows)
    assert 0.3 < wanted < 0.9
    assert found.score(KAPPA).value == pytest.approx(wanted)


def test_alpha_is_that_of_its_definition() -> None:
    rng = np.random.default_rng(2)
    one = random_flat(rng, 10)
    spans = [one, noisy(one, rng), noisy(one, rng)]
    found = measured(*spans)
    sides = [version("", rows) for rows in spans]
    units = [units_of(side, IDS) for side in sides]
    table = values_by_label(Tokens.of(sides[0].docs), units, 3).values.T
    observed = np.mean([a != b for row in table for a, b in combinations(row, 2)])
    flat = table.reshape(-1)
    chance = np.mean([a != b for a, b in combinations(flat.tolist(), 2)])
    assert found.score(ALPHA).value == pytest.approx(1 - observed / chance)


@pytest.mark.slow
def test_alignment_and_gamma_are_those_of_pygamma_agreement() -> None:
    pygamma = pytest.importorskip("pygamma_agreement")
    from pyannote.core import Segment

    rng = np.random.default_rng(3)
    size = 400
    starts = np.sort(rng.choice(size - 20, size=25, replace=False))
    rows = [(s, s + rng.integers(2, 12), rng.integers(3)) for s in starts.tolist()]
    other = [
        (s + rng.integers(-2, 3), e + rng.integers(-1, 2) + 2, c if k % 4 else 2 - c)
        for k, (s, e, c) in enumerate(rows)
        if k % 5
    ]
    continuum = pygamma.Continuum()
    sides = []
    for name, spans in (("A", rows), ("B", other)):
        for start, end, label in spans:
            continuum.add(name, Segment(float(start), float(end)), LABELS[label])
        table = np.asarray(spans, dtype=np.int64)
        units = Units(np.zeros(len(table), dtype=np.int64), *table.T)
        sides.append(Placed.of(units, np.zeros(1, dtype=np.int64)))
    dissimilarity = pygamma.CombinedCategoricalDissimilarity()
    wanted = continuum.get_best_alignment(dissimilarity).disorder
    costs = doc_costs(*sides, 1)
    assert costs[0, 0] / costs[0, 1] == pytest.approx(wanted, rel=1e-5)
    np.random.seed(0)
    sampler = pygamma.ShuffleContinuumSampler()
    sampler.init_sampling(continuum)
    oracle = continuum.compute_gamma(dissimilarity, n_samples=100, sampler=sampler)
    chance = disorder_by_chance(sides, size, np.random.default_rng(0), 200)
    assert gamma_from(costs, chance)[0] == pytest.approx(oracle.gamma, abs=0.03)

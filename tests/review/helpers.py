"""A corpus whose texts, labels and scores a test decides."""

from typing import Dict, List, Optional, Sequence, Tuple

import numpy as np

from spacy_spanner.evaluation.counts import Reading, SpanKey

NAMES = {"PER": ["Ana", "Ben", "Cem"], "LOC": ["Rome", "Oslo", "Bonn"]}
FILLERS = ["saw", "left", "the", "near", "old", "today"]


def reading(
    gold: Sequence[SpanKey], scores: Optional[Dict[SpanKey, float]] = None
) -> Reading:
    return Reading(set(gold), dict(scores or {}), [])


def make_corpus(
    n_docs: int = 60, seed: int = 0
) -> Tuple[List[List[str]], List[Reading]]:
    """Documents with two names each, which the model finds with noisy scores."""
    rng = np.random.default_rng(seed)
    words, readings = [], []
    for _ in range(n_docs):
        doc = [str(rng.choice(FILLERS)) for _ in range(9)]
        gold: List[SpanKey] = []
        for place in (1, 5):
            label = str(rng.choice(list(NAMES)))
            width = int(rng.integers(1, 3))
            for token in range(place, place + width):
                doc[token] = str(rng.choice(NAMES[label]))
            gold.append((place, place + width, label))
        scores: Dict[SpanKey, float] = {}
        for start in range(9):
            for end in range(start + 1, min(start + 4, 10)):
                for label in NAMES:
                    low = float(rng.uniform(0.0001, 0.05))
                    high = float(rng.uniform(0.6, 0.99))
                    span = (start, end, label)
                    scores[span] = high if span in gold else low
        words.append(doc)
        readings.append(reading(gold, scores))
    return words, readings

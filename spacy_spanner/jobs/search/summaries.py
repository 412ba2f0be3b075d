"""Tables over several trainings: seeds, and sizes of the training data."""

from statistics import mean, stdev
from typing import Any, Dict, List, Optional, Sequence

from .variants import SEED, Variant, with_seeds

# Of lengths as the papers join them, from the finer classes that are scored.
LENGTH_GROUPS = {
    "1-4": ("1", "2", "3", "4"),
    "5-9": ("5", "6-9"),
    "10+": ("10+",),
}
SCORES = ("p", "r", "f", "macro_f", "flat_f", "nested_f", "ece", *LENGTH_GROUPS)
FRACTIONS = (0.125, 0.25, 0.5, 0.75, 1.0)


def best_part(run: Dict[str, Any]) -> Dict[str, Any]:
    """RETURNS (Dict[str, Any]): scores on the test data, or else on dev; see
    `with_groups`.
    """
    return with_groups(run["scores"].get("test") or run["scores"]["dev"])


def with_groups(scores: Dict[str, Any]) -> Dict[str, Any]:
    """RETURNS (Dict[str, Any]): the scores, and F1 of the groups of lengths."""
    classes = scores.get("by_length") or {}
    joined = {
        group: joined_f([classes[name] for name in names if name in classes])
        for group, names in LENGTH_GROUPS.items()
    }
    return {**scores, **joined}


def joined_f(classes: Sequence[Dict[str, Any]]) -> Optional[float]:
    """RETURNS (Optional[float]): F1 of several classes together, from precision, recall
    and the numbers of spans of each; None where there are no spans.
    """
    spans = sum(each["gold"] + each["predicted"] for each in classes)
    right = sum(
        (each["r"] or 0.0) * each["gold"] + (each["p"] or 0.0) * each["predicted"]
        for each in classes
    )
    return right / spans if spans else None


def summarize(runs: Sequence[Dict[str, Any]]) -> Dict[str, Dict[str, Optional[float]]]:
    """Average the scores of trainings that differ by chance only.

    runs (Sequence[Dict[str, Any]]): see `experiments.run_variants`.
    RETURNS (Dict[str, Dict[str, Optional[float]]]): see `average`.
    """
    return average([best_part(run) for run in runs])


def average(
    scores: Sequence[Dict[str, Any]],
) -> Dict[str, Dict[str, Optional[float]]]:
    """Average each of `SCORES`.

    scores (Sequence[Dict[str, Any]]): of each training.
    RETURNS (Dict[str, Dict[str, Optional[float]]]): by score its `mean` and `sd` (None
        for one training); both None where some training has no such score.
    """
    found: Dict[str, Dict[str, Optional[float]]] = {}
    for name in SCORES:
        values = [each.get(name) for each in scores]
        known = [value for value in values if value is not None]
        whole = bool(known) and len(known) == len(values)
        found[name] = {
            "mean": mean(known) if whole else None,
            "sd": stdev(known) if whole and len(known) > 1 else None,
        }
    return found


def seed_variants(seeds: Sequence[int]) -> List[Variant]:
    """RETURNS (List[Variant]): one training for each seed."""
    return [Variant(f"seed {seed}", {SEED: seed}) for seed in seeds]


def size_variants(
    n_docs: int, seeds: Sequence[int], fractions: Sequence[float] = FRACTIONS
) -> List[Variant]:
    """Cut the training data short.

    n_docs (int): documents in all of it.
    seeds (Sequence[int]): every size is trained with each.
    fractions (Sequence[float]): shares of the documents, the first ones.
    RETURNS (List[Variant]): one training for each size and seed.
    """
    limits = {f"{x:.1%}": max(1, round(x * n_docs)) for x in fractions}
    setting = "corpora.train.limit"
    variants = [Variant(name, {setting: limit}) for name, limit in limits.items()]
    return with_seeds(variants, seeds)


def by_name(runs: Sequence[Dict[str, Any]]) -> Dict[str, List[Dict[str, Any]]]:
    """RETURNS (Dict[str, List[Dict[str, Any]]]): trainings that share a name."""
    groups: Dict[str, List[Dict[str, Any]]] = {}
    for run in runs:
        groups.setdefault(run["name"], []).append(run)
    return groups

"""Logistic regression whose predictions are for examples that it has not seen."""

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

Columns = NDArray[np.float64]

# Parts of the examples that are held out, one after the other.
N_PARTS = 5
# Examples to learn from at most, and to predict at once; their products take memory.
MOST = 50_000
# Strength of the regularisation, number of Newton steps, limit of features in standard
# deviations, and of log-odds.
L2, STEPS, LIMIT, LARGEST = 30.0, 8, 4.0, 30.0


def held_out_log_odds(rows: Columns, wrong: NDArray[np.bool_], *, seed: int) -> Columns:
    """Predict whether examples are errors, each from others.

    An error that was not planted is learned as correct. If an example was among those
    to learn from, it would seem less suspicious.

    rows (Columns): features. Shape: (example, feature)
    wrong (NDArray): whether the example is a known error. Shape: (example,)
    seed (int): seed of the division into parts.
    RETURNS (Columns): log-odds of an error. Shape: (example,)
    """
    rng = np.random.default_rng(seed)
    scaled = standardized(rows)
    part = rng.permutation(len(rows)) % N_PARTS
    found = np.zeros(len(rows))
    for number in np.unique(part):
        here = part == number
        known = rng.permutation(np.flatnonzero(~here))[:MOST]
        weights = fit(with_products(scaled[known]), wrong[known])
        blocks = np.array_split(scaled[here], 1 + here.sum() // MOST)
        found[here] = np.concatenate([with_products(one) @ weights for one in blocks])
    return np.clip(found, -LARGEST, LARGEST)


def fit(inputs: Columns, wrong: NDArray[np.bool_]) -> Columns:
    """Fit by Newton's method.

    inputs (Columns): the first column is the intercept. Shape: (example, input)
    wrong (NDArray): what to predict. Shape: (example,)
    RETURNS (Columns): the weights. Shape: (input,)
    """
    penalty = L2 * np.eye(inputs.shape[1])
    penalty[0, 0] = 1e-3  # of the intercept; keeps it finite if all are the same
    weights = np.zeros(inputs.shape[1])
    for _ in range(STEPS):
        share = expit(np.clip(inputs @ weights, -LARGEST, LARGEST))
        certainty = share * (1 - share) + 1e-6
        hessian = (inputs * certainty[:, None]).T @ inputs + penalty
        gradient = inputs.T @ (wrong - share) - penalty @ weights
        weights += np.linalg.solve(hessian, gradient)
    return weights


def standardized(rows: Columns) -> Columns:
    """RETURNS (Columns): features with mean 0 and deviation 1, within limits. Shape:
    (example, feature)
    """
    deviation = rows.std(axis=0)
    scaled = (rows - rows.mean(axis=0)) / np.where(deviation > 1e-9, deviation, 1.0)
    return np.clip(scaled, -LIMIT, LIMIT)


def with_products(scaled: Columns) -> Columns:
    """RETURNS (Columns): ones, the features, and all products of two of them. Shape:
    (example, input)
    """
    first, second = np.triu_indices(scaled.shape[1])
    products = scaled[:, first] * scaled[:, second]
    return np.column_stack([np.ones(len(scaled)), scaled, products])

"""Logistic regression whose predictions are for examples that it has not seen."""

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

Columns = NDArray[np.float64]

# Parts of the examples that are held out, one after the other.
N_PARTS = 5
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
    inputs = with_products(rows)
    part = np.random.default_rng(seed).permutation(len(rows)) % N_PARTS
    found = np.zeros(len(rows))
    for number in np.unique(part):
        here = part == number
        weights = fit(inputs[~here], wrong[~here])
        found[here] = inputs[here] @ weights
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


def with_products(rows: Columns) -> Columns:
    """RETURNS (Columns): ones, the features with mean 0 and deviation 1, and all
    products of two of them. Shape: (example, input)
    """
    deviation = rows.std(axis=0)
    scaled = (rows - rows.mean(axis=0)) / np.where(deviation > 1e-9, deviation, 1.0)
    scaled = np.clip(scaled, -LIMIT, LIMIT)
    first, second = np.triu_indices(scaled.shape[1])
    products = scaled[:, first] * scaled[:, second]
    return np.column_stack([np.ones(len(rows)), scaled, products])

"""Fit the weights of an ensemble, and calibrate the scores of its members."""

from typing import List

import numpy as np
from spacy.language import Language
from spacy.training import Example

from ..pipeline.calibration import fit_calibration
from ..pipeline.ensemble import SpanEnsemble, check_members
from ..pipeline.joining import calibrated, collect_votes, fit_weights
from .predicting import Track, keeping_members, predict, untracked
from .scorer import read_example


def tune_members(
    nlp: Language,
    ensemble: SpanEnsemble,
    examples: List[Example],
    *,
    calibrate: bool = True,
    track: Track = untracked,
) -> None:
    """Set `temperatures`, `biases` and `weights` by the likelihood of the gold.

    nlp (Language): the pipeline with the ensemble and its members.
    ensemble (SpanEnsemble): its settings are changed.
    examples (List[Example]): documents with gold under the key of the ensemble. Where
        it is marked as incomplete, spans that cannot be judged do not count.
    calibrate (bool): whether members are calibrated; otherwise, weights are fitted to
        the scores as they are.
    RAISES (ValueError): see `check_members`.
    """
    check_members(nlp, ensemble)
    with keeping_members(nlp):
        predicted = predict(nlp, examples, track=track)
    cfg, own = ensemble.cfg, ensemble.cfg["spans_key"]
    gold = [read_example(eg, own).gold for eg in predicted]
    members = [
        {
            (number, *span): 1.0 if score is None else score
            for number, eg in enumerate(predicted)
            for span, score in read_example(eg, key, gold_key=own).predicted.items()
        }
        for key in ensemble.member_keys
    ]
    votes = collect_votes(members)
    right = np.asarray([tuple(span) in gold[doc] for doc, *span in votes.rows], bool)
    if calibrate:
        fitted = [
            fit_calibration(score[known], right[known])
            for score, known in zip(votes.scores.T, votes.present.T)
        ]
        cfg["temperatures"], cfg["biases"] = map(list, zip(*fitted))
    cfg["weights"] = fit_weights(
        calibrated(votes, ensemble.settings.calibrations), right
    )

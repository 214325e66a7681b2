"""Calibration: the scores of a classifier as the log odds of rows that it was not fitted to.

Decisions by outcome costs depend on probabilities far from 1/2, where models of few rounds or deep trees are
wrong: the first are not sure enough, the second are too sure. Copies of the model are fitted without a fifth
of the rows: five if rows are few, or one. On the rows that they lack, a slope of their scores (and for two
classes an intercept) is fitted by log loss: Platt's method, or temperature scaling. The model itself is
fitted to all rows, and its scores follow that line.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.model_selection import GroupKFold, StratifiedKFold

from miserly.data.rows import Rows, without_new_categories
from miserly.learners.base.arguments import fit_arguments
from miserly.plan import links
from miserly.solvers.temperature import class_slope, score_line

__all__ = ["CALIBRATED_LINKS", "UNCHANGED", "ScoreLine", "score_line_of"]

CALIBRATED_LINKS = ("logistic", "softmax")  # links of scores that are log odds, in float64
FOLDS = 5
FEW_ROWS = 2000  # up to so many, each fold is left out once; of more rows one fold is enough
LEAST_ROWS = 25  # of each class, so that a fold has five; with fewer, scores stay as they are
LEAST_SLOPE = 0.01  # scores that say nothing about new rows

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class ScoreLine:
    """The line that scores follow: `slope` times the score, plus `intercept` for the second of two classes.

    Parameters
    ----------
    slope : float
        Above 0.
    intercept : float, default=0.0
        What is added to the log odds of the second of two classes.

    Examples
    --------
    >>> ScoreLine(0.5, 2.0).offset(np.array([1.0, 4.0])).tolist()
    [-0.5, 0.0]
    """

    slope: float
    intercept: float = 0.0

    def offset(self, log_weights: Floats) -> Floats:
        """What is added to the scaled scores of a model whose classes were weighted, for each class.

        Parameters
        ----------
        log_weights : array of (n_classes,)
            Logarithms of the weights of the classes, which scores contain and log odds do not.

        Returns
        -------
        array of (n_classes,)
        """
        offset: Floats = -self.slope * log_weights
        offset[1] += self.intercept
        return offset


UNCHANGED = ScoreLine(1.0)


def score_line_of(model: Any, rows: Rows, class_weight: Floats) -> ScoreLine:
    """Find the line of the scores of a classifier, with copies fitted to four fifths of the rows.

    Parameters
    ----------
    model : PlanClassifier
        The fitted model.
    rows : Rows
        The rows that it was fitted to, with the weights of its fit.
    class_weight : array of (n_classes,)
        How much these weights favour each class over others.

    Returns
    -------
    ScoreLine
        `UNCHANGED` for models without log odds, and for those that choose what to buy by their
        probabilities; also if there are too few rows of a class, or queries.
    """
    if links.in_double(model.plan_.link) not in CALIBRATED_LINKS or model.plan_.acquires:
        return UNCHANGED
    rows = rows.without_zero_weights()
    codes = np.searchsorted(model.classes_, rows.y)
    if np.bincount(codes, minlength=len(class_weight)).min() < LEAST_ROWS:
        return UNCHANGED
    if rows.qid is not None and len(np.unique(rows.qid)) < FOLDS:
        return UNCHANGED
    scores, places = [], []
    for held_out in _folds(rows, codes):
        copy, training = clone(model), rows.take(~held_out)
        copy.fit(training.X, training.y, **fit_arguments(copy, training.weight, training.qid))
        scores.append(copy.raw_scores(rows.take(held_out).X, unknown="missing").reshape(held_out.sum(), -1))
        places.append(np.flatnonzero(held_out))
    seen = rows.take(np.concatenate(places))
    return _line(np.concatenate(scores), codes[np.concatenate(places)], seen.weight, class_weight)


def _folds(rows: Rows, codes: NDArray[np.int64]) -> list[NDArray[np.bool_]]:
    """The rows of each fold that is left out: classes in equal shares, or whole queries."""
    kind = StratifiedKFold if rows.qid is None else GroupKFold
    found = []
    for _, left_out in kind(FOLDS, shuffle=True, random_state=0).split(codes, codes, rows.qid):
        held_out = np.zeros(len(rows), dtype=np.bool_)
        held_out[left_out] = True
        found.append(without_new_categories(rows.X, held_out, rows.qid))
    return found if len(rows) <= FEW_ROWS else found[:1]


def _line(scores: Floats, codes: NDArray[np.int64], weight: Any, class_weight: Floats) -> ScoreLine:
    """The line for scores of weighted classes, by rows whose classes count the same again."""
    log_weights, weight = np.log(class_weight), weight / class_weight[codes]
    if scores.shape[1] > 1:
        return ScoreLine(max(class_slope(scores - log_weights, codes, weight), LEAST_SLOPE))
    slope, intercept = score_line(scores[:, 0] - log_weights[1] + log_weights[0], codes, weight)
    if slope >= LEAST_SLOPE:
        return ScoreLine(slope, intercept)
    share = float(np.average(codes, weights=weight))
    return ScoreLine(LEAST_SLOPE, np.log(share / (1.0 - share)))

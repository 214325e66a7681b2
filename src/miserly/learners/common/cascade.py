"""Cascades for two classes: the base class, exact weights, plans, and scores that rank."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from miserly.data.rows import Rows
from miserly.errors import DataError
from miserly.learners.base import PlanClassifier, as_columns
from miserly.learners.common.calibration import steepness_of
from miserly.learners.common.classifier_tree import ClassifierTree, build_plan
from miserly.learners.common.fitting import WeightedFit
from miserly.learners.common.labels import encode_classes
from miserly.learners.common.linear_fit import FitData
from miserly.learners.common.terms import TermSet
from miserly.plan import LEAVE, Plan
from miserly.plan.engine.batch import Run, levels, settle
from miserly.solvers.term_prices import canonical

__all__ = ["CascadeClassifier", "cascade_plan", "exact_weights", "merged", "ranking_scores"]

Floats: TypeAlias = NDArray[np.float64]

SMALL = 1 << 21  # values of a table


class CascadeClassifier(PlanClassifier, WeightedFit):
    """A chain of classifiers. Rows with low scores leave, most of them as members of the first class."""

    def decision_function(
        self, X: Any, budget: float | None = None, qid: ArrayLike | None = None, *, unknown: str = "error"
    ) -> NDArray[np.float64]:
        """Return the scores of rows before the link, positive for the second class.

        Parameters
        ----------
        X : array or frame of (n, n_features)
            Rows to score.
        budget : float or None, default=None
            Cap on the cost of every row. By default only the budget of the plan limits it.
        qid : array of (n,) or None, default=None
            Query of each row. If given, scores rank the documents of each query: those that left the cascade
            earlier come below those that left later.
        unknown : {"error", "missing"}, default="error"
            Whether a value that is no known category is an error, or counts as missing.

        Returns
        -------
        array of (n,)
            The scores.
        """
        if qid is None:
            return super().decision_function(X, budget, unknown=unknown)
        return ranking_scores(self.run(X, budget=budget, unknown=unknown), np.asarray(qid))

    def _encode(self, y: NDArray[Any]) -> NDArray[np.float64]:
        self.classes_, codes = encode_classes(y)
        if len(self.classes_) > 2:
            raise DataError(
                "Only binary classification is supported. The type of the target is multiclass: "
                f"y holds {len(self.classes_)} classes"
            )
        return codes

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags


def ranking_scores(run: Run, qid: NDArray[Any] | None) -> Floats:
    """Scores that rank documents which left a cascade earlier below all that stayed longer in their query."""
    if qid is None:
        return run.scores
    return settle(run.scores, levels(run.plan, run.exit, ~run.stopped), qid)


def exact_weights(samples: Rows) -> Rows:
    """Weights as multiples of the smallest, to 10 digits.

    A factor common to all weights changes no bit of the model, and whole numbers stay whole.
    """
    if samples.weight is None:
        return samples
    return replace(samples, weight=canonical(samples.weight / samples.weight.min(), 10))


def merged(samples: Rows) -> Rows:
    """Equal rows as one row with the sum of their weights, in a fixed order; large tables unchanged.

    Descent through steep gates amplifies rounding errors. Here sums do not depend on the order of rows, nor
    on whether a row comes twice or has twice the weight.
    """
    if samples.X.size > SMALL:
        return samples
    table = np.column_stack([samples.X, samples.y])
    order = np.lexsort(table.T)
    table = table[order]
    same = (table[1:] == table[:-1]) | (np.isnan(table[1:]) & np.isnan(table[:-1]))
    first = np.flatnonzero(np.append(True, ~same.all(axis=1)))
    weight = np.ones(len(samples)) if samples.weight is None else samples.weight
    some = replace(samples, weight=None, qid=None).take(order[first])
    return exact_weights(replace(some, weight=np.add.reduceat(weight[order], first)))


def cascade_plan(
    learner: CascadeClassifier,
    rows: FitData,
    terms: TermSet,
    weights: Floats,
    intercept: Floats,
    threshold: Floats,
    base: float,
    steer: tuple[Floats, Floats] | None = None,
) -> Plan:
    """A chain of nodes with weights (K, T); rows that score at most a stage's threshold leave there.

    Scores are multiplied by one factor, so that their logistic is a probability. `base` is the score of rows
    that cannot afford the first stage. With `steer`, weights (K, T) and intercepts (K,), gates read scores of
    their own.
    """
    n = len(intercept)
    chain = ClassifierTree(
        up=np.append(np.arange(1, n), LEAVE),
        low=np.full(n, LEAVE),
        weights=weights,
        intercept=intercept,
        threshold=threshold,
        steer=None if steer is None or n == 1 else steer[0],
        steer_intercept=None if steer is None or n == 1 else steer[1],
    )
    samples = rows.training
    draft = build_plan(chain, terms, rows.costs, base=base, categories=learner.categories_)
    scores = draft.run(samples.X, n_threads=learner.n_threads, encoded=True).scores
    factor = steepness_of(as_columns(scores), samples.y, samples.weight)
    return build_plan(
        chain.rescaled(factor),
        terms,
        rows.costs,
        link="logistic",
        base=factor * base,
        classes=learner.plan_classes(),
        info={"learner": type(learner).__name__},
        categories=learner.categories_,
    )

"""What learners of cascades for two classes share: labels, exact weights, plans, and scores that rank."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from miserly.errors import DataError
from miserly.learners.base import PlanClassifier, as_columns
from miserly.learners.common.calibration import steepness_of
from miserly.learners.common.classifier_tree import ClassifierTree, build_plan
from miserly.learners.common.labels import encode_classes
from miserly.learners.common.linear_fit import LinearRows
from miserly.learners.common.samples import Samples
from miserly.learners.common.terms import Terms
from miserly.plan import LEAVE, Plan
from miserly.plan.engine.batch import Run
from miserly.plan.engine.ranking import levels, settle
from miserly.solvers.mixed_norm import canonical

__all__ = ["CascadeClassifier", "cascade_plan", "exact_weights", "merged", "ranking_scores"]

Floats: TypeAlias = NDArray[np.float64]

SMALL = 1 << 21  # values of a table


class CascadeClassifier(PlanClassifier):
    """A chain of classifiers; whoever scores low leaves, as one of the first class for the most part."""

    def decision_function(
        self, X: Any, budget: float | None = None, qid: ArrayLike | None = None, *, unknown: str = "error"
    ) -> NDArray[np.float64]:
        """Scores (n,) before the link, positive for the second class.

        With `qid` they are there to rank the documents of each query: whoever left earlier comes below those
        who stayed longer.
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


def exact_weights(samples: Samples) -> Samples:
    """Weights as multiples of the least, to 10 digits.

    A factor common to all weights leaves no trace, however many steps follow, and whole numbers stay whole.
    """
    if samples.weight is None:
        return samples
    return replace(samples, weight=canonical(samples.weight / samples.weight.min(), 10))


def merged(samples: Samples) -> Samples:
    """Equal rows as one with the sum of their weights, in an order of their own; large tables as they are.

    Descent by steep gates makes a lot of a little rounding. Here sums do not depend on the order of rows, nor
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
    rows: LinearRows,
    terms: Terms,
    weights: Floats,
    intercept: Floats,
    threshold: Floats,
    base: float,
    steer: tuple[Floats, Floats] | None = None,
) -> Plan:
    """A chain of nodes with weights (K, T); whoever scores at most a stage's threshold leaves there.

    Scores are multiplied by one factor, so that their logistic is a probability. `base` is the score of
    whoever cannot afford the first stage. With `steer`, weights (K, T) and intercepts (K,), gates read scores
    of their own.
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
    samples = rows.learning
    draft = build_plan(chain, terms, rows.costs, base=base, categories=learner._categories)
    scores = draft.run(samples.X, n_threads=learner._threads, encoded=True).scores
    factor = steepness_of(as_columns(scores), samples.y, samples.weight)
    return build_plan(
        chain.rescaled(factor),
        terms,
        rows.costs,
        link="logistic",
        base=factor * base,
        classes=learner._plan_classes(),
        info={"learner": type(learner).__name__},
        categories=learner._categories,
    )

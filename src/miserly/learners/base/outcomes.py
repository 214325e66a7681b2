"""Training by what mistakes cost: weights of rows before a fit, and the decision of the plan after it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import is_classifier

from miserly.costs import OutcomeTable, read_outcomes
from miserly.data.frames import is_frame
from miserly.data.target import check_classes, check_target, check_weight
from miserly.errors import DataError
from miserly.plan import Decision

__all__ = ["PricedMistakes", "column_reader", "outcomes_for", "price_mistakes"]


@dataclass(frozen=True, eq=False)
class PricedMistakes:
    """The weights to fit a classifier with, and the decision that its plan gets.

    Attributes
    ----------
    table : OutcomeTable
        What outcomes cost, for the classes of the rows.
    weight : array of (n,)
        Sample weights times the cost of a mistake.
    decision : Decision
        Undoes the weights of classes and answers with least expected cost.
    """

    table: OutcomeTable
    weight: NDArray[np.float64]
    decision: Decision

    def decide(self, model: Any) -> None:
        """Give the plan of a fitted model the decision.

        A plan without probabilities answers as its weights have taught it.
        """
        if model.plan_.has_probabilities:
            model.plan_ = model.plan_.replace(decision=self.decision)
        elif self.table.actions:
            raise DataError(
                f"the action {self.table.actions[0]!r} needs class probabilities, but "
                f"{type(model).__name__} has none"
            )


def price_mistakes(
    estimator: Any, X: Any, y: ArrayLike, sample_weight: ArrayLike | None, outcome_costs: Any
) -> PricedMistakes | None:
    """What outcome costs mean for a fit; None without outcome costs.

    Parameters
    ----------
    estimator : estimator
        The classifier, which errors name.
    X : array or frame of (n, n_features)
        Training rows. Costs may name columns of a frame.
    y : array of (n,)
        Classes.
    sample_weight : array of (n,), optional
        Weights of the rows.
    outcome_costs : OutcomeCosts, OutcomeTable, mapping, array or None
        As for `OutcomeCosts`.

    Returns
    -------
    PricedMistakes or None
        Weights and decision.
    """
    if outcome_costs is None:
        return None
    if getattr(estimator, "class_weight", None) is not None:
        raise DataError("give class_weight or outcome_costs, which say the same, and not both")
    labels = check_target(y, X, estimator, numeric=False)
    table = outcomes_for(estimator, X, labels, outcome_costs)
    given = check_weight(sample_weight, X)
    counted = np.ones(len(labels), dtype=np.bool_) if given is None else given > 0.0
    own = table.weights(labels)
    costs, weights = (
        table.take(counted)
        .bind(np.unique(labels[counted]))
        .class_means(labels[counted], None if given is None else given[counted])
    )
    decision = Decision(costs, table.actions, weights)
    return PricedMistakes(table, own if given is None else own * given, decision)


def outcomes_for(estimator: Any, X: Any, y: NDArray[Any], outcome_costs: Any) -> Any:
    """The table of outcome costs for some rows of a classifier; None without outcome costs."""
    if outcome_costs is None:
        return None
    if not is_classifier(estimator):
        raise DataError(f"outcome_costs are for classifiers, and {type(estimator).__name__} is none")
    check_classes(y)
    return read_outcomes(outcome_costs, np.unique(y), column_reader(X)).check_rows(len(y))


def column_reader(X: Any) -> Callable[[str], ArrayLike] | None:
    """From the name of a column of a frame to its values; None for an array."""
    if not is_frame(X):
        return None

    def read(name: str) -> ArrayLike:
        if name not in [str(column) for column in X.columns]:
            raise DataError(f"outcome costs name the column {name!r}, which the rows do not have")
        return np.asarray(X[name])

    return read

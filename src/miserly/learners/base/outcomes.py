"""Training by what mistakes cost: weights of rows before a fit, and the decision of the plan after it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import is_classifier

from miserly.costs import OutcomeTable, fits, read_outcomes
from miserly.costs.amounts import AmountCells
from miserly.data.frames import is_frame
from miserly.data.rows import Rows
from miserly.data.target import check_classes, check_target, check_weight
from miserly.errors import DataError
from miserly.learners.base.calibration import CALIBRATED_LINKS, UNCHANGED, ScoreLine, score_line_of
from miserly.plan import Decision, Plan, links
from miserly.plan.compose import shift_outputs

__all__ = [
    "CLASS_POWER",
    "PricedMistakes",
    "calibration_of",
    "column_names",
    "column_reader",
    "decide_as_trained",
    "outcomes_for",
    "own_amounts",
    "price_mistakes",
]  # fmt: skip

# Within a class, rows are weighted by what their mistakes cost. Between classes, the power of the mean cost:
# with 1 the decision would be the most probable class, but flexible models then learn little of the classes
# whose mistakes are cheap; with 0 trees of linear classifiers (ASTC) learn little where the decision changes.
CLASS_POWER = 0.25


@dataclass(frozen=True, eq=False)
class PricedMistakes:
    """The weights to fit a classifier with, and the decision that its plan gets.

    Attributes
    ----------
    table : OutcomeTable
        What outcomes cost, for the classes of the rows.
    weight : array of (n,)
        Weights to fit with.
    costs : array of (n_classes, n_answers)
        The mean cost of each answer over the rows of each class.
    class_cost : array of (n_classes,)
        The mean cost of a mistake in each class.
    class_weight : array of (n_classes,)
        How much `weight` favours each class over others.
    columns : tuple of str, default=()
        The names of the columns of the rows, by which a plan without names finds amounts.
    """

    table: OutcomeTable
    weight: NDArray[np.float64]
    costs: NDArray[np.float64]
    class_cost: NDArray[np.float64]
    class_weight: NDArray[np.float64]
    columns: tuple[str, ...] = ()

    def decide(self, model: Any, line: ScoreLine = UNCHANGED) -> None:
        """Give the plan of a fitted model its decision.

        Scores are calibrated, and shifted so that classes count by what their mistakes cost. A gate for sure
        rows is then one for rows whose mistakes are cheap. The decision takes the shift back. It reads the
        amounts of each row where they are in columns of the plan. A plan without probabilities answers as its
        weights have taught it.

        Parameters
        ----------
        model : estimator
            The fitted model.
        line : ScoreLine, default=UNCHANGED
            The calibration of its scores, without the weights of the classes.
        """
        plan = model.plan_
        if plan.has_probabilities and _gives_probabilities(model):
            weights = self.class_weight
            link = links.in_double(plan.link)
            if link in CALIBRATED_LINKS:
                offset = line.offset(np.log(self.class_weight)) + np.log(self.class_cost)
                outputs = offset[1:] - offset[:1] if link == "logistic" else offset - offset.mean()
                plan, weights = shift_outputs(plan, outputs, line.slope), self.class_cost
            own = own_amounts(plan, self.table, self.columns)
            plan = plan.replace(decision=Decision(self.costs, self.table.actions, weights, own))
            model.plan_ = plan if own is None else _capped(plan, getattr(model, "budget", None))
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
    weight = np.ones(len(labels)) if sample_weight is None else check_weight(sample_weight, X)
    assert weight is not None
    counted = weight > 0.0
    is_decided = _gives_probabilities(estimator)
    if is_decided:  # by amounts in columns, which therefore do not weight rows within their class
        table = table.levelled(labels, weight)
    own = table.take(counted).bind(np.unique(labels[counted]))
    costs, class_cost = own.class_means(labels[counted], weight[counted])
    class_weight = class_cost ** (CLASS_POWER if is_decided else 1.0)
    factor = np.zeros(len(labels))
    factor[counted] = (class_weight / class_cost)[own.codes(labels[counted])]
    weight = weight * table.weights(labels) * factor
    return PricedMistakes(own, weight, costs, class_cost, class_weight, column_names(X))


def _gives_probabilities(estimator: Any) -> bool:
    """Whether the scores of a classifier stand for probabilities; those of `ReducedSVC` are margins."""
    return bool(getattr(estimator, "gives_probabilities", lambda: True)())


def calibration_of(model: Any, priced: PricedMistakes, X: Any, y: ArrayLike, qid: Any = None) -> ScoreLine:
    """Find the line that turns the scores of a model into log odds of rows that it was not fitted to.

    Parameters
    ----------
    model : PlanClassifier
        The fitted model.
    priced : PricedMistakes
        What its mistakes cost.
    X : array or frame of (n, n_features)
        Training rows.
    y : array of (n,)
        Classes.
    qid : array of (n,), optional
        Queries, which stay together.

    Returns
    -------
    ScoreLine
    """
    labels = check_target(y, X, model, numeric=False)
    rows = Rows(X if is_frame(X) else np.asarray(X), labels, weight=priced.weight, qid=qid)
    return score_line_of(model, rows, priced.class_weight)


def decide_as_trained(
    model: Any, X: Any, y: ArrayLike, sample_weight: ArrayLike | None, outcome_costs: Any
) -> None:
    """Give the plan of a fitted classifier the decision of least expected cost, without training it.

    Parameters
    ----------
    model : estimator
        A classifier with `plan_` and `classes_`. It was not trained by these costs, so its probabilities are
        those of the rows.
    X : array or frame of (n, n_features)
        Rows. Costs may name columns of a frame.
    y : array of (n,)
        Their classes. Amounts that are in no column of the plan count by their means over the rows of each
        class.
    sample_weight : array of (n,), optional
        Weights of the rows.
    outcome_costs : OutcomeCosts, OutcomeTable, mapping or array
        As for `OutcomeCosts`.
    """
    labels = check_target(y, X, model, numeric=False)
    table = read_outcomes(outcome_costs, model.classes_, column_reader(X)).check_rows(len(labels))
    weight = np.ones(len(labels)) if sample_weight is None else check_weight(sample_weight, X)
    assert weight is not None
    costs, class_cost = table.class_means(labels, weight)
    ones = np.ones(len(class_cost))
    PricedMistakes(table, weight, costs, class_cost, ones, column_names(X)).decide(model)


def outcomes_for(estimator: Any, X: Any, y: NDArray[Any], outcome_costs: Any) -> Any:
    """The table of outcome costs for some rows of a classifier; None without outcome costs."""
    if outcome_costs is None:
        return None
    if not is_classifier(estimator):
        raise DataError(f"outcome_costs are for classifiers, and {type(estimator).__name__} is none")
    check_classes(y)
    return read_outcomes(outcome_costs, np.unique(y), column_reader(X)).check_rows(len(y))


def own_amounts(plan: Plan, table: OutcomeTable, columns: tuple[str, ...] = ()) -> AmountCells | None:
    """The costs of a table that the decision of a plan can read from its columns; None if there are none.

    Parameters
    ----------
    plan : Plan
        The plan. One without nodes reads only amounts that are free: it costs nothing.
    table : OutcomeTable
        The costs.
    columns : tuple of str, default=()
        The names of the columns, for a plan without names.

    Returns
    -------
    AmountCells or None
        By numbers of columns of the plan.
    """
    if table.amounts is None:
        return None
    names = plan.costs.names or (columns if len(columns) == plan.n_features else ())
    places = {i: names.index(name) for i, name in enumerate(table.names) if name in names}
    own = table.amounts.moved({i: f for i, f in places.items() if _can_read(plan, f)})
    return own if own.used else None


def _capped(plan: Plan, budget: float | None) -> Plan:
    """The plan with the budget of its learner, if amounts that are not free made it more expensive."""
    if budget is None or fits(0.0, plan.max_cost, budget):
        return plan
    return plan.replace(budget=min(budget, plan.budget))


def _can_read(plan: Plan, column: int) -> bool:
    setups = plan.costs.setup[list(plan.costs.groups_of(column))]
    is_free = plan.costs.feature[column] == 0.0 and not setups.any()
    return column not in plan.categories and (is_free or bool(plan.nodes))


def column_names(X: Any) -> tuple[str, ...]:
    """The names of the columns of a frame; none for an array."""
    return tuple(str(column) for column in X.columns) if is_frame(X) else ()


def column_reader(X: Any) -> Callable[[str], ArrayLike] | None:
    """From the name of a column of a frame to its values; None for an array."""
    if not is_frame(X):
        return None

    def read(name: str) -> ArrayLike:
        if name not in column_names(X):
            raise DataError(f"outcome costs name the column {name!r}, which the rows do not have")
        return np.asarray(X[name])

    return read

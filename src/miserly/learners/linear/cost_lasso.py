"""The cost-weighted lasso: one linear model whose weights pay for their features.

Minimises, over weights ``B`` of standardised columns and free intercepts,

    mean loss(B' x + b, y) + tradeoff * [ sum_a cost_a |B_a| + sum_g setup_g |B_g| ]

with half the squared error for numbers, the logistic loss for two classes and the multinomial one for more.
The norm ``|B_a|`` goes over the classes, so that they share what is bought, and ``|B_g|`` over everything in
group `g`, whose set-up is paid once. This is the single linear model that trees of classifiers are
compared with.

The fitted plan is a chain that adds one feature after the other, the most telling per unit of cost first, the
others standing at their mean: with less money than all of them cost it still answers well.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from numbers import Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import _fit_context
from sklearn.utils._param_validation import Interval

from miserly.costs import Costs, Ledger, read_budget
from miserly.learners.base import PlanClassifier, PlanEstimator, PlanRegressor, bind_costs
from miserly.learners.common.budget_search import first_guess, tradeoff_for_budget
from miserly.learners.common.labels import encode_classes, refuse_text
from miserly.learners.common.samples import Given, Samples
from miserly.learners.common.terms import LinearTerms
from miserly.losses import PointwiseLoss, Squared, log_loss
from miserly.plan import LEAVE, Node, Plan
from miserly.solvers.cost_lasso import Penalty, Weights, cost_lasso, refit
from miserly.solvers.mixed_norm import canonical

__all__ = ["CostLassoClassifier", "CostLassoRegressor"]


class _CostLasso(PlanEstimator):
    """What both share; subclasses say how labels are read and which loss is meant."""

    tradeoff_: float
    coef_: NDArray[np.float64]
    intercept_: NDArray[np.float64]

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "costs": [None, Costs, Mapping, "array-like"],
        "tradeoff": [Interval(Real, 0, None, closed="left")],
        "budget": [Interval(Real, 0, None, closed="both"), None],
        "refit": ["boolean"],
    }

    def __init__(
        self, *, costs: Any = None, tradeoff: float = 1e-3, budget: float | None = None, refit: bool = True
    ) -> None:
        self.costs = costs
        self.tradeoff = tradeoff
        self.budget = budget
        self.refit = refit

    def _fit(self, X: Any, y: Any, sample_weight: Any, qid: Any) -> None:
        table = self._read(X, reset=True)
        refuse_text(table)
        costs = bind_costs(self.costs, self.n_features_in_ if table.names is None else table.names)
        samples = Given(y, sample_weight, qid).checked(
            np.ascontiguousarray(table.values), self, self._numeric_target
        )
        samples = samples.without_zero_weights()
        samples = replace(samples, y=self._encode(samples.y)).with_mean_weight_one()
        terms = LinearTerms.fit(samples, costs)
        self.tradeoff_, found = self._weigh(terms.values(samples.X), samples, costs)
        self.coef_, self.intercept_ = terms.weights_in_plan(found.weights, found.intercept)
        self.plan_ = self._plan(found, terms, costs)

    def _weigh(self, columns: NDArray[np.float64], samples: Samples, costs: Costs) -> tuple[float, Weights]:
        """The tradeoff, as given or as the budget asks for, and the weights it gives."""
        given: dict[str, Any] = {"loss": self._loss, "weight": samples.weight}
        last: Weights | None = None

        def fit(tradeoff: float) -> Weights:
            nonlocal last
            penalty = Penalty(
                canonical(tradeoff * costs.feature), costs.group, canonical(tradeoff * costs.setup)
            )
            last = cost_lasso(columns, samples.y, penalty, start=last, **given)
            return last

        found = tradeoff_for_budget(
            fit,
            lambda weights: costs.of(weights.chosen),
            read_budget(self.budget),
            lowest=self.tradeoff,
            first=first_guess(samples.y, costs),
        )
        weights = refit(columns, samples.y, found.model, **given) if self.refit else found.model
        return found.tradeoff, weights

    def _plan(self, found: Weights, terms: LinearTerms, costs: Costs) -> Plan:
        """One node per feature, each adding to the scores; whoever pays for none has all at their mean."""
        order = _by_worth(found, costs)
        weights, _ = terms.weights_in_plan(found.weights, found.intercept)
        n_scores = len(found.intercept)
        nodes = [
            Node(
                np.full(n_scores, place),
                np.arange(n_scores),
                weights[feature],
                -terms.center[feature] * weights[feature],
                up=place + 1 if place + 1 < len(order) else LEAVE,
            )
            for place, feature in enumerate(order)
        ]
        return Plan(
            costs=costs,
            terms=[terms.plan_terms[feature] for feature in order],
            nodes=nodes,
            base=found.intercept,
            link=self._loss.link,
            classes=self._plan_classes(),
            categories=self._categories,
            info={"learner": type(self).__name__, "tradeoff": self.tradeoff_},
        )


def _by_worth(found: Weights, costs: Costs) -> list[int]:
    """The features in the order of purchase: free ones, then by squared weight per unit of marginal cost."""
    ledger, order = Ledger(costs), []
    worth = (found.weights**2).sum(axis=1)
    left = found.chosen.tolist()
    while left:
        best = max(left, key=lambda f: np.inf if ledger.price(f) == 0.0 else worth[f] / ledger.price(f))
        ledger.buy(best)
        left.remove(best)
        order.append(best)
    return order


class CostLassoRegressor(PlanRegressor, _CostLasso):
    """The cost-weighted lasso for numbers.

    Parameters
    ----------
    costs : Costs, array, mapping of name to cost, or None
        What features cost; 1 each by default.
    tradeoff : float, default=0.001
        What one unit of cost must bring in mean loss (half the squared error) for a weight of 1 on a feature
        of standard deviation 1. Features that cost nothing are not penalised.
    budget : float, optional
        What the model may cost: the smallest tradeoff from `tradeoff` up is taken that keeps to it.
    refit : bool, default=True
        Whether the weights of the features chosen are fitted again without prices, which draw them to zero.

    Attributes
    ----------
    tradeoff_ : float
        The tradeoff used.
    coef_, intercept_ : arrays
        Of the features as they are, not standardised: (n_features, 1) and (1,), or one column per class.
    plan_ : Plan
        A chain that adds one feature after the other.

    Examples
    --------
    >>> import numpy as np
    >>> from miserly.learners import CostLassoRegressor
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(500, 3))
    >>> y = X @ [2.0, 1.0, 0.5]
    >>> for budget in (1, 5, 20):
    ...     model = CostLassoRegressor(costs=[10, 3, 1], budget=budget).fit(X, y)
    ...     print(model.features_, model.cost_, round(model.score(X, y), 2))
    [2] 1.0 0.04
    [1 2] 4.0 0.24
    [0 1 2] 14.0 1.0
    """

    _numeric_target = True
    _loss = Squared()

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(
        self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None, qid: ArrayLike | None = None
    ) -> CostLassoRegressor:
        """Fit to numbers `y`; `qid` is only checked, nothing is set aside."""
        self._fit(X, y, sample_weight, qid)
        return self

    def _encode(self, y: NDArray[Any]) -> NDArray[np.float64]:
        return y


class CostLassoClassifier(PlanClassifier, _CostLasso):
    """The cost-weighted lasso for two or more classes, which share the features bought.

    Parameters
    ----------
    tradeoff : float, default=0.001
        What one unit of cost must bring in mean log-loss for a weight of 1 on a feature of standard deviation
        1. Features that cost nothing are not penalised.
    costs, budget, refit :
        As for `CostLassoRegressor`; the loss is the logistic one, or the multinomial one for more classes.

    Examples
    --------
    >>> from miserly.datasets import load_heart
    >>> from miserly.learners import CostLassoClassifier
    >>> heart = load_heart()
    >>> model = CostLassoClassifier(costs=heart.costs, budget=30).fit(heart.X, heart.y)
    >>> model.cost_ <= 30, model.score(heart.X, heart.y) > 0.75
    (True, True)
    """

    _numeric_target = False

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(
        self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None, qid: ArrayLike | None = None
    ) -> CostLassoClassifier:
        """Fit to classes `y`; `qid` is only checked, nothing is set aside."""
        self._fit(X, y, sample_weight, qid)
        return self

    def _encode(self, y: NDArray[Any]) -> NDArray[np.float64]:
        self.classes_, codes = encode_classes(y)
        return codes

    @property
    def _loss(self) -> PointwiseLoss:
        return log_loss(len(self.classes_))

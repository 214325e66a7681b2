"""The cost-weighted lasso: one linear model whose weights pay for their features.

Minimises, over weights ``B`` of standardised columns and free intercepts,

    mean loss(B' x + b, y) + tradeoff * [ sum_a cost_a |B_a| + sum_g setup_g |B_g| ]

with half the squared error for numbers, the logistic loss for two classes and the multinomial one for more.
The norm ``|B_a|`` is over the classes, so that they share the features bought. The norm ``|B_g|`` is over all
weights of group `g`, whose set-up is paid once. Trees of classifiers are compared with this single linear
model.

The fitted plan is a chain that adds one feature after the other, in the order of squared weight per unit of
cost. A row that stops early uses the mean of each feature that it did not buy.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from miserly.costs import Costs, Ledger
from miserly.data.rows import Rows
from miserly.data.target import Target
from miserly.learners.base import PlanClassifier, PlanRegressor, bind_costs
from miserly.learners.base.arguments import constraints, refuse_text
from miserly.learners.base.kinds import WeightedFit
from miserly.learners.common.budget_search import BudgetSearch, first_guess
from miserly.learners.common.terms import LinearTerms
from miserly.losses import PointwiseLoss, Squared, log_loss
from miserly.plan import LEAVE, Node, Plan
from miserly.solvers.cost_lasso import LassoWeights, Penalty, cost_lasso, refit
from miserly.solvers.term_prices import canonical

__all__ = ["CostLassoClassifier", "CostLassoRegressor"]


class _CostLasso(WeightedFit):
    """Base of both estimators. Subclasses define the encoding of the labels and the loss."""

    tradeoff_: float
    coef_: NDArray[np.float64]
    intercept_: NDArray[np.float64]

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = constraints(
        "costs", "tradeoff", "budget", refit=["boolean"]
    )

    def __init__(
        self, *, costs: Any = None, tradeoff: float = 1e-3, budget: float | None = None, refit: bool = True
    ) -> None:
        self.costs = costs
        self.tradeoff = tradeoff
        self.budget = budget
        self.refit = refit

    def _fit(self, X: Any, given: Target) -> None:
        table = self.read_table(X, reset=True)
        refuse_text(table)
        costs = bind_costs(self.costs, table.names or self.n_features_in_)
        samples = given.checked(np.ascontiguousarray(table.values), self, self._numeric_target)
        samples = samples.without_zero_weights()
        samples = replace(samples, y=self._encode(samples.y)).with_mean_weight_one()
        terms = LinearTerms.fit(samples, costs)
        self.tradeoff_, found = self._weigh(terms.values(samples.X), samples, costs)
        self.coef_, self.intercept_ = terms.weights_in_plan(found.weights, found.intercept)
        self.plan_ = self._plan(found, terms, costs)

    def _weigh(self, columns: NDArray[np.float64], samples: Rows, costs: Costs) -> tuple[float, LassoWeights]:
        """The smallest tradeoff, from `tradeoff` up, that keeps the budget, and its weights."""
        given: dict[str, Any] = {"loss": self._loss, "weight": samples.weight}
        last: LassoWeights | None = None

        def fit(tradeoff: float) -> LassoWeights:
            nonlocal last
            penalty = Penalty(
                canonical(tradeoff * costs.feature), costs.memberships, canonical(tradeoff * costs.setup)
            )
            last = cost_lasso(columns, samples.y, penalty, start=last, **given)
            return last

        found = BudgetSearch(
            fit,
            lambda weights: costs.of(weights.chosen),
            tradeoff=self.tradeoff,
            first=first_guess(samples.y, costs),
            mean_budget=self.budget,
        ).best()
        weights = refit(columns, samples.y, found.model, **given) if self.refit else found.model
        return found.tradeoff, weights

    def _plan(self, found: LassoWeights, terms: LinearTerms, costs: Costs) -> Plan:
        """One node per feature, which adds to the scores. Features not bought count with their mean."""
        order = _purchase_order(found, costs)
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
            classes=self.plan_classes(),
            categories=self.categories_,
            info={"learner": type(self).__name__, "tradeoff": self.tradeoff_},
        )


def _purchase_order(found: LassoWeights, costs: Costs) -> list[int]:
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
    """Linear regression whose L1 penalty is the cost of the features.

    The weight of an expensive feature is penalised more than the weight of a cheap one. Features whose weight
    becomes zero are not bought.

    Parameters
    ----------
    costs : Costs, array-like, mapping of name to cost or None, default=None
        Costs of the features and of groups of features. By default each feature costs 1.
    tradeoff : float, default=0.001
        Mean loss (half the squared error) that one unit of cost must save, for a weight of 1 on a feature of
        standard deviation 1. Larger values select fewer features. Features that cost nothing are not
        penalised.
    budget : float or None, default=None
        Cap on the cost of the model. The smallest tradeoff that keeps it is used, from `tradeoff` up. By
        default there is no cap.
    refit : bool, default=True
        Whether the weights of the selected features are fitted again without the penalty, which shrinks them.

    Attributes
    ----------
    plan_ : Plan
        A chain that adds one feature per node.
    cost_ : float
        Cost of all features that the model uses.
    features_ : array
        The features that the model uses: names if there are names, else column numbers.
    tradeoff_ : float
        The tradeoff used.
    coef_ : array of shape (n_features, 1)
        Weights of the features as given, not standardised.
    intercept_ : array of shape (1,)
        Intercept.
    n_features_in_ : int
        Number of features seen by `fit`.
    feature_names_in_ : array of shape (n_features_in_,)
        Names of the features. It exists only if `X` had names.

    Notes
    -----
    The objective, over weights ``B`` of standardised columns and free intercepts ``b``, is

    ``mean loss(B' x + b, y) + tradeoff * (sum_a cost_a |B_a| + sum_g setup_g |B_g|)``

    with half the squared error as the loss. The second sum is over groups of features with a set-up cost.

    Differences from the lasso that the paper compares with [1]_:

    - The loss is the mean over the rows, so `tradeoff` means the same for any number of rows.
    - Columns are standardised inside the estimator. Missing values stand for the mean of their column.
    - Groups, the refit, the budget and the order of purchase are additions.

    References
    ----------
    .. [1] M. J. Kusner, W. Chen, Q. Zhou, Z. Xu, K. Q. Weinberger, Y. Chen, "Feature-Cost Sensitive Learning
       with Submodular Trees of Classifiers", AAAI 2014.
    .. [2] R. Tibshirani, "Regression Shrinkage and Selection via the Lasso", Journal of the Royal Statistical
       Society, Series B, 58(1), 1996.

    Examples
    --------
    >>> import numpy as np
    >>> from miserly import CostLassoRegressor
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


class CostLassoClassifier(PlanClassifier, _CostLasso):
    """Logistic regression whose L1 penalty is the cost of the features.

    The weight of an expensive feature is penalised more than the weight of a cheap one. Features whose weight
    becomes zero are not bought. With more than two classes, the classes share the features bought.

    Parameters
    ----------
    costs : Costs, array-like, mapping of name to cost or None, default=None
        Costs of the features and of groups of features. By default each feature costs 1.
    tradeoff : float, default=0.001
        Mean loss (log loss) that one unit of cost must save, for a weight of 1 on a feature of standard
        deviation 1. Larger values select fewer features. Features that cost nothing are not penalised.
    budget : float or None, default=None
        Cap on the cost of the model. The smallest tradeoff that keeps it is used, from `tradeoff` up. By
        default there is no cap.
    refit : bool, default=True
        Whether the weights of the selected features are fitted again without the penalty, which shrinks them.
    class_weight : mapping of class to weight, "balanced" or None, default=None
        Weights of the classes, by which the weights of the rows are multiplied. "balanced" gives all classes
        the same total weight. Classes that a mapping leaves out have weight 1.

    Attributes
    ----------
    plan_ : Plan
        A chain that adds one feature per node.
    classes_ : array of shape (n_classes,)
        The classes, sorted.
    cost_ : float
        Cost of all features that the model uses.
    features_ : array
        The features that the model uses: names if there are names, else column numbers.
    tradeoff_ : float
        The tradeoff used.
    coef_ : array of shape (n_features, n_scores)
        Weights of the features as given, not standardised. There is one score for two classes, and else one
        per class.
    intercept_ : array of shape (n_scores,)
        Intercept.
    n_features_in_ : int
        Number of features seen by `fit`.
    feature_names_in_ : array of shape (n_features_in_,)
        Names of the features. It exists only if `X` had names.

    Notes
    -----
    The objective, over weights ``B`` of standardised columns and free intercepts ``b``, is

    ``mean loss(B' x + b, y) + tradeoff * (sum_a cost_a |B_a| + sum_g setup_g |B_g|)``

    with the logistic loss for two classes, and the multinomial loss for more. The second sum is over groups
    of features with a set-up cost.

    Differences from the lasso that the paper compares with [1]_:

    - The loss is the mean over the rows, so `tradeoff` means the same for any number of rows.
    - Columns are standardised inside the estimator. Missing values stand for the mean of their column.
    - Groups, the refit, the budget and the order of purchase are additions.

    References
    ----------
    .. [1] M. J. Kusner, W. Chen, Q. Zhou, Z. Xu, K. Q. Weinberger, Y. Chen, "Feature-Cost Sensitive Learning
       with Submodular Trees of Classifiers", AAAI 2014.
    .. [2] R. Tibshirani, "Regression Shrinkage and Selection via the Lasso", Journal of the Royal Statistical
       Society, Series B, 58(1), 1996.

    Examples
    --------
    >>> from miserly import CostLassoClassifier
    >>> from miserly.datasets import load_heart
    >>> heart = load_heart()
    >>> for budget in (10, 30, 300):
    ...     model = CostLassoClassifier(costs=heart.costs, budget=budget).fit(heart.X, heart.y)
    ...     print(round(model.cost_, 2), round(model.score(heart.X, heart.y), 2))
    4.0 0.77
    29.87 0.77
    223.07 0.84
    """

    _numeric_target = False

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **_CostLasso._parameter_constraints,
        **constraints("class_weight"),
    }

    def __init__(
        self,
        *,
        costs: Any = None,
        tradeoff: float = 1e-3,
        budget: float | None = None,
        refit: bool = True,
        class_weight: Any = None,
    ) -> None:
        super().__init__(costs=costs, tradeoff=tradeoff, budget=budget, refit=refit)
        self.class_weight = class_weight

    @property
    def _loss(self) -> PointwiseLoss:
        return log_loss(len(self.classes_))

"""A decision tree in which every path fits the budget."""

from __future__ import annotations

from collections.abc import Mapping
from numbers import Integral
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.utils._param_validation import Interval

from miserly.costs import Ledger
from miserly.data.target import Target
from miserly.grow.options import MAX_DEPTH
from miserly.grow.stumps import Stumps
from miserly.grow.vote_trees import GrowingTree, Leaf, VoteTrees
from miserly.learners.base import PlanClassifier
from miserly.learners.base.arguments import ONE_OR_MORE, constraints
from miserly.learners.base.kinds import WeightedFit
from miserly.learners.boosting.votes import MIN_FALL, BoostingState, LearnerBudget
from miserly.learners.boosting.voting import bin_rows, prior_of
from miserly.learners.common.linear_fit import FitData, read_fit_data
from miserly.plan import LEAVE, Node, Plan, Threshold, Tree

__all__ = ["BudgetedTreeClassifier"]

SMOOTHING = 1e-3  # of the weight of all rows: added to both sides of a leaf's odds

Floats = NDArray[np.float64]


class BudgetedTreeClassifier(PlanClassifier, WeightedFit):
    """Decision tree in which no path costs more than the budget.

    A row pays only for the features on its own path, each once. Splits are made best first, and a split is
    admitted only if the path to it fits the budget.

    Parameters
    ----------
    costs : Costs, array-like, mapping of name to cost or None, default=None
        Costs of the features, of groups of features, and of evaluating a split. By default each feature costs
        1 and splits cost nothing.
    budget : float or None, default=None
        Cap on the cost of any path. By default there is no cap.
    max_nodes : int, default=31
        Largest number of splits in the tree.
    max_depth : int, default=16
        Largest number of splits on a path.
    max_bins : int, default=255
        Largest number of bins into which the values of a feature are grouped.
    categorical_features : "from_dtype", array-like or None, default="from_dtype"
        Columns that are split by category, one category against all others: a list of columns, or a boolean
        mask. By default the columns that a frame holds as text, categories or booleans. With None, all
        columns are split as numbers.
    class_weight : mapping of class to weight, "balanced" or None, default=None
        Weights of the classes, by which the weights of the rows are multiplied. "balanced" gives all classes
        the same total weight. Classes that a mapping leaves out have weight 1.
    random_state : int, RandomState or None, default=None
        Random seed of the rows that bins are computed from, where there are very many.
    n_jobs : int or None, default=None
        Number of threads. By default all cores. The model does not depend on it.

    Attributes
    ----------
    plan_ : Plan
        A binary tree with one split per node. A row that is stopped by a smaller budget is answered by the
        class shares of the node that it has reached.
    classes_ : array of shape (n_classes,)
        The classes, sorted.
    cost_ : float
        Cost of the most expensive path.
    features_ : array
        The features of all paths: names if there are names, else column numbers.
    n_nodes_ : int
        Number of splits in the tree.
    n_features_in_ : int
        Number of features seen by `fit`.
    feature_names_in_ : array of shape (n_features_in_,)
        Names of the features. It exists only if `X` had names.

    Notes
    -----
    The next split is the one that lowers ``sum_leaves sum_k 2 sqrt(P_k N_k)`` most, with ``P_k`` and ``N_k``
    the shares of rows inside and outside of class `k`. This is the impurity in the bound of boosting [2]_.

    Differences from the paper [1]_, which uses a pruned tree as a baseline: the budget limits every path
    while the tree grows, the tree is grown best first and not pruned, and several classes are supported.

    References
    ----------
    .. [1] Y. Huang, B. Powers, L. Reyzin, "Training-Time Optimization of a Budgeted Booster", 2014.
    .. [2] M. Kearns, Y. Mansour, "On the Boosting Ability of Top-Down Decision Tree Learning Algorithms",
       STOC 1996.

    Examples
    --------
    The cheap feature tells which of the two expensive ones matters:

    >>> import numpy as np
    >>> from miserly import BudgetedTreeClassifier
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(2000, 3))
    >>> y = np.where(X[:, 0] > 0, X[:, 1] > -1, X[:, 2] > 1)
    >>> for budget in (1, 6):
    ...     model = BudgetedTreeClassifier(costs=[1, 5, 5], budget=budget, max_nodes=3).fit(X, y)
    ...     print(model.cost_, round(model.score(X, y), 3))
    1.0 0.849
    6.0 0.998
    """

    n_nodes_: int
    is_quick = True

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = constraints(
        *("costs", "budget", "max_bins", "categorical_features", "class_weight", "random_state", "n_jobs"),
        max_nodes=[ONE_OR_MORE],
        max_depth=[Interval(Integral, 1, MAX_DEPTH, closed="both")],
    )

    def __init__(
        self,
        *,
        costs: Any = None,
        budget: float | None = None,
        max_nodes: int = 31,
        max_depth: int = MAX_DEPTH,
        max_bins: int = 255,
        categorical_features: Any = "from_dtype",
        class_weight: Any = None,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.costs = costs
        self.budget = budget
        self.max_nodes = max_nodes
        self.max_depth = max_depth
        self.max_bins = max_bins
        self.categorical_features = categorical_features
        self.class_weight = class_weight
        self.random_state = random_state
        self.n_jobs = n_jobs

    def _fit(self, X: Any, given: Target) -> None:
        rows = read_fit_data(self, X, given, self._encode, None)
        binned = bin_rows(self, rows)
        state = BoostingState.of(rows.training, len(self.classes_))
        push = state.weight * state.signs
        share = np.full(len(push), 1.0 / len(push))
        growing = VoteTrees(binned, self.n_threads).start_tree(push, share, self.max_depth)
        odds = grow_paths(growing, Ledger(rows.costs, self.budget), self.max_nodes)
        self.n_nodes_ = len(growing.splits)
        self.plan_ = self._plan(growing, odds, Stumps(binned, self.n_threads), rows)

    def _plan(self, growing: GrowingTree, odds: dict[int, Floats], stumps: Stumps, rows: FitData) -> Plan:
        base = prior_of(rows.training, len(self.classes_))
        place = {node: number for number, node in enumerate(growing.splits)}
        terms: list[Tree] = []
        for stump, missing_left in growing.splits.values():
            terms.append(stumps.tree(stump, 1.0, missing_left, rows.costs.evaluation))
        nodes = [_split_node(place, node, growing.children[node], odds) for node in growing.splits]
        return Plan(
            costs=rows.costs,
            terms=terms,
            nodes=nodes,
            base=np.append(base, 0.0),  # the last score is that of the gate
            n_outputs=len(base),
            link="logistic" if len(base) == 1 else "softmax",
            classes=self.plan_classes(),
            categories=self.categories_,
            info={"learner": type(self).__name__},
        )


def grow_paths(growing: GrowingTree, ledger: Ledger, max_nodes: int) -> dict[int, Floats]:
    """Split best first while paths fit the budget; returns the log-odds of the classes in every node."""
    budgets = {0: LearnerBudget(ledger, fill_budget=True)}
    (root,) = growing.leaves
    odds = {0: 2.0 * root.votes(SMOOTHING)}
    gain = {0: _gain(root, budgets[0])}
    while len(growing.splits) < max_nodes:
        leaf = max(growing.leaves, key=lambda one: gain[one.node].max(initial=0.0))
        feature = int(gain[leaf.node].argmax())
        if not gain[leaf.node][feature] > MIN_FALL:
            break
        spent = budgets[leaf.node].ledger.copy()
        spent.buy(feature)
        spent.evaluate()
        for child in growing.split(leaf, feature):
            budgets[child.node] = LearnerBudget(spent, fill_budget=True)
            odds[child.node] = 2.0 * child.votes(SMOOTHING)
            gain[child.node] = _gain(child, budgets[child.node])
    return odds


def _gain(leaf: Leaf, budget: LearnerBudget) -> Floats:
    """Reduction of the impurity by a split of a leaf on each feature; 0 if the path would cost too much."""
    return np.where(budget.fitting(), leaf.best_cuts.decrease, 0.0)


def _split_node(
    place: Mapping[int, int], node: int, children: tuple[int, int], odds: Mapping[int, Floats]
) -> Node:
    """A node with one split. It goes up if the split is met, and answers with the odds of the chosen side."""
    yes, no = (odds[child] for child in children)
    n_scores = len(yes) + 1
    return Node(
        np.full(n_scores, place[node]),
        np.arange(n_scores),
        np.append((yes - no) / 2, 1.0),
        np.append((yes + no) / 2, 0.0),
        inherits=False,
        gate=Threshold(0.0, channel=n_scores - 1),
        up=place.get(children[0], LEAVE),
        low=place.get(children[1], LEAVE),
    )

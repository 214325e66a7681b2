"""One decision tree that pays along the path: the natural budgeted classifier, and a baseline.

A tree asks each example only the questions on its way, so what an example pays is the cost of its own path
(Huang, Powers, Reyzin 2014, section 7). Splits are made best first, by how much they lower
``sum_leaves sum_k 2 sqrt(P_k N_k)``, with ``P_k`` and ``N_k`` the shares of rows in and outside of class `k`:
the impurity that boosting's bound is made of. A split is admitted only where everything on the path to
it, paid once, fits the budget.
"""

from __future__ import annotations

from collections.abc import Mapping
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import _fit_context
from sklearn.utils._param_validation import Interval, StrOptions

from miserly.costs import Costs, Ledger
from miserly.data.target import Target
from miserly.grow.binning import MAX_BINS
from miserly.grow.grower import MAX_DEPTH
from miserly.grow.stumps import Stumps
from miserly.grow.vote_trees import Growing, Leaf, VoteTrees
from miserly.learners.base import PlanClassifier
from miserly.learners.boosting.votes import LEAST_FALL, Till, signs_of
from miserly.learners.boosting.voting import ONE_OR_MORE, bin_rows, prior_of, shares_of
from miserly.learners.common.labels import encode_classes
from miserly.learners.common.linear_fit import FitData, read_fit_data
from miserly.plan import LEAVE, Node, Plan, Threshold, Tree

__all__ = ["BudgetedTreeClassifier"]

SMOOTHING = 1e-3  # of the weight of all rows: added to both sides of a leaf's odds

Floats = NDArray[np.float64]


class BudgetedTreeClassifier(PlanClassifier):
    """A decision tree in which no path costs more than the budget.

    Parameters
    ----------
    costs : Costs, array, mapping of name to cost, or None
        What features cost; 1 each by default.
    budget : float, optional
        What any path may cost at most.
    max_nodes : int, default=31
        How many questions the whole tree may hold.
    max_depth : int, default=16
        How many questions there may be on a path.
    max_bins, categorical_features, random_state, n_jobs :
        As for `AdaBoostBTClassifier`.

    Attributes
    ----------
    plan_ : Plan
        A binary tree of one question a node. Stopped for lack of budget, an example is answered as those
        that gave the same answers so far.
    cost_ : float
        What the costliest path costs; `features_` are the features of all paths.
    n_nodes_ : int
        How many questions the tree holds.

    Examples
    --------
    Which of the dear columns is worth asking for is told by the cheap one:

    >>> import numpy as np
    >>> from miserly.learners import BudgetedTreeClassifier
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(2000, 3))
    >>> y = np.where(X[:, 0] > 0, X[:, 1] > -1, X[:, 2] > 1)
    >>> model = BudgetedTreeClassifier(costs=[1, 5, 5], max_nodes=3).fit(X, y)
    >>> run = model.run(X)
    >>> model.cost_, float(run.cost.mean()), model.score(X, y) > 0.99
    (6.0, 6.0, True)
    """

    n_nodes_: int

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "costs": [None, Costs, Mapping, "array-like"],
        "budget": [Interval(Real, 0, None, closed="both"), None],
        "max_nodes": [ONE_OR_MORE],
        "max_depth": [Interval(Integral, 1, MAX_DEPTH, closed="both")],
        "max_bins": [Interval(Integral, 2, MAX_BINS, closed="both")],
        "categorical_features": [StrOptions({"from_dtype"}), "array-like", None],
        "random_state": ["random_state"],
        "n_jobs": [ONE_OR_MORE, Interval(Integral, None, -1, closed="right"), None],
    }

    def __init__(
        self,
        *,
        costs: Any = None,
        budget: float | None = None,
        max_nodes: int = 31,
        max_depth: int = MAX_DEPTH,
        max_bins: int = 255,
        categorical_features: Any = "from_dtype",
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.costs = costs
        self.budget = budget
        self.max_nodes = max_nodes
        self.max_depth = max_depth
        self.max_bins = max_bins
        self.categorical_features = categorical_features
        self.random_state = random_state
        self.n_jobs = n_jobs

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(
        self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None, qid: ArrayLike | None = None
    ) -> BudgetedTreeClassifier:
        """Fit to classes `y`; `qid` is only checked, nothing is set aside."""
        rows = read_fit_data(self, X, Target(y, sample_weight, qid), self._encode, None)
        binned = bin_rows(self, rows)
        push = shares_of(rows.training) * signs_of(rows.training.y, len(self.classes_))
        share = np.full(len(push), 1.0 / len(push))
        growing = VoteTrees(binned, self.n_threads).plant(push, share, self.max_depth)
        odds = grow_paths(growing, Ledger(rows.costs, self.budget), self.max_nodes)
        self.n_nodes_ = len(growing.splits)
        self.plan_ = self._plan(growing, odds, Stumps(binned, self.n_threads), rows)
        return self

    def _encode(self, y: NDArray[Any]) -> Floats:
        self.classes_, codes = encode_classes(y)
        return codes

    def _plan(self, growing: Growing, odds: dict[int, Floats], stumps: Stumps, rows: FitData) -> Plan:
        base = prior_of(rows.training, len(self.classes_))
        place = {node: number for number, node in enumerate(growing.splits)}
        terms: list[Tree] = []
        for stump, missing_left in growing.splits.values():
            terms.append(stumps.tree(stump, 1.0, missing_left, rows.costs.evaluation))
        nodes = [_question(place, node, growing.children[node], odds) for node in growing.splits]
        return Plan(
            costs=rows.costs,
            terms=terms,
            nodes=nodes,
            base=np.append(base, 0.0),  # the last score says which way to go
            n_outputs=len(base),
            link="logistic" if len(base) == 1 else "softmax",
            classes=self.plan_classes(),
            categories=self.categories_,
            info={"learner": type(self).__name__},
        )


def grow_paths(growing: Growing, ledger: Ledger, max_nodes: int) -> dict[int, Floats]:
    """Split best first while paths fit the budget; gives the log-odds of the classes in every node."""
    tills = {0: Till(ledger, fill_budget=True)}
    (root,) = growing.leaves
    odds = {0: 2.0 * root.votes(SMOOTHING)}
    worth = {0: _worth(root, tills[0])}
    while len(growing.splits) < max_nodes:
        leaf = max(growing.leaves, key=lambda one: worth[one.node].max(initial=0.0))
        feature = int(worth[leaf.node].argmax())
        if not worth[leaf.node][feature] > LEAST_FALL:
            break
        spent = tills[leaf.node].ledger.copy()
        spent.buy(feature)
        spent.evaluate()
        for child in growing.split(leaf, feature):
            tills[child.node] = Till(spent, fill_budget=True)
            odds[child.node] = 2.0 * child.votes(SMOOTHING)
            worth[child.node] = _worth(child, tills[child.node])
    return odds


def _worth(leaf: Leaf, till: Till) -> Floats:
    """What splitting a leaf on each feature brings; nothing where the path would cost too much."""
    return np.where(till.fitting(), leaf.found.fall, 0.0)


def _question(
    place: Mapping[int, int], node: int, children: tuple[int, int], odds: Mapping[int, Floats]
) -> Node:
    """A node that asks one question, goes up for yes, and answers with the odds of the side it goes to."""
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

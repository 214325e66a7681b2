"""AdaBoostBT: AdaBoost that minds, while it learns, what its base learners will cost.

Y. Huang, B. Powers, L. Reyzin, Training-Time Optimization of a Budgeted Booster, 2014 (algorithm 1). Every
round takes the base learner `h` that a rule likes best, by what it does to the bound on the training error,
``Z = sqrt(1 - edge^2)``, and by what it costs (`solvers.budget_rules` has the rules). Features are paid once,
and no example ever pays more than the budget. The paper's `D_t` are the weights of the rows, its `gamma`
the edge, `B - B_t` what is spent. Its update of the weights lacks a minus sign: rows that the vote gets right
become lighter, ``D exp(-alpha y h) / Z``.

Several classes. Every learner votes on all classes at once, each class against the others, with a weight
of its own per class, so that the classes share what is paid; the loss is the sum of the classes' exponential
losses. SAMME, whose stumps name one class on either side, was tried on letter, ann_thyroid, dna and
page_blocks at four budgets each (``benchmarks/budgeted_boosting.py``): on the 26 letters it errs three times
as often with all features; elsewhere the two are close, and sharing is ahead more often than not.
"""

from __future__ import annotations

from numbers import Real
from typing import Any, ClassVar

from sklearn.utils._param_validation import Interval, StrOptions

from miserly.costs import Ledger
from miserly.grow.binning import Binned
from miserly.learners.boosting.votes import Standing, Till, VoteRound, boost
from miserly.learners.boosting.voting import VotingClassifier
from miserly.learners.common.linear_fit import FitData
from miserly.learners.common.progress import RoundsBar
from miserly.solvers.budget_rules import SelectionRule

__all__ = ["AdaBoostBTClassifier"]


class AdaBoostBTClassifier(VotingClassifier):
    """AdaBoost whose base learners are chosen for what they bring and what they cost.

    Parameters
    ----------
    costs : Costs, array, mapping of name to cost, or None
        What features cost; 1 each by default.
    budget : float, optional
        What the model may cost at most, for any example; no limit by default. One model answers for any
        smaller budget too (``predict(X, budget=...)``), from what that pays for.
    rule : {"smoothed", "greedy", "early-stop", "hybrid"}, default="smoothed"
        How a base learner that lowers the logarithm of the loss by `drop` and costs `cost` is rated.
        "greedy" takes the largest ``drop / cost``, "smoothed" the largest ``drop / (tau * spent + cost)``,
        where prices matter less the more is spent, and "early-stop" the largest `drop`, whatever it costs.
        "hybrid" is greedy until what new features would bring per unit of cost has fallen to `switch` times
        what it was in the first round, and smoothed from then on.
    tau : float, default=1
        How much what is spent counts in the smoothed rule; 0 is greedy.
    switch : float, default=0.1
        When the hybrid rule turns.
    fill_budget : bool, default=True
        What happens when the learner that the rule likes best no longer fits the budget: take the best that
        does, or (False) stop, as the paper does. Then a model for a small budget is the beginning of one for
        a large budget.
    base : {"stump", "tree"}, default="stump"
        Stumps vote +1 or -1, as in the paper. Trees are grown under the rule, so that every split is weighed
        against what it costs, and each leaf has a vote of its own weight.
    max_depth : int, default=3
        Of trees.
    n_rounds : int, default=400
    max_bins : int, default=255
        How many different values of a feature are told apart; all of them if there are no more.
    categorical_features : "from_dtype", list of columns, mask, or None
        Columns split by category, one against all others. By default those that a frame holds as text,
        categories or truth values.
    random_state : int, RandomState or None
        Draws the rows from which bins are chosen, where there are very many.
    n_jobs : int, optional
        Threads; all by default. The model does not depend on it.
    verbose : int, default=0
        1 shows a progress bar.

    Attributes
    ----------
    plan_ : Plan
        A chain with one node per round. Nodes add log-odds: twice the weighted votes. Until the first one
        is paid, the answer is the more frequent class. Nodes are in the order of training; one exception is
        the rule "early-stop" with stumps, a `budget` and `fill_budget`, which does not look at prices in
        training. There, nodes on free and cheap features come first, and a constant stands in for nodes that
        are not evaluated, so that ``predict(X, budget=...)`` makes use of what a smaller budget pays for. The
        whole vote is the same, but for rounding.
    cost_ : float
        What the whole model costs; `features_` are the features it pays for.
    n_rounds_ : int
        How many rounds the model has, and `stopped_by_` why not more: "rounds", "budget", "no edge" or
        "perfect" (a learner that is never wrong leaves nothing to boost).
    ledger_ : Ledger
        What is paid, open and spent.
    feature_importances_ : array
        How much of the fall of the (logarithm of the) loss is due to each feature; sums to 1.

    Examples
    --------
    Half of the columns are copies of the others, and dearer:

    >>> import numpy as np
    >>> from miserly.learners import AdaBoostBTClassifier
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(400, 4)) @ np.hstack([np.eye(4), np.eye(4)])
    >>> y = X[:, :4].sum(axis=1) > 0
    >>> model = AdaBoostBTClassifier(costs=[1, 1, 1, 1, 5, 5, 5, 5], n_rounds=100).fit(X, y)
    >>> model.cost_, model.score(X, y) > 0.95
    (4.0, True)
    >>> [round(float(np.mean(model.predict(X, budget=b) == y)), 2) for b in (0, 1, 2, 3, 4)]
    [0.51, 0.71, 0.68, 0.81, 1.0]
    """

    ledger_: Ledger

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **VotingClassifier._parameter_constraints,
        "rule": [StrOptions({"early-stop", "greedy", "smoothed", "hybrid"})],
        "tau": [Interval(Real, 0, None, closed="left")],
        "switch": [Interval(Real, 0, None, closed="left")],
        "fill_budget": ["boolean"],
    }

    def __init__(
        self,
        *,
        costs: Any = None,
        budget: float | None = None,
        rule: str = "smoothed",
        tau: float = 1.0,
        switch: float = 0.1,
        fill_budget: bool = True,
        base: str = "stump",
        max_depth: int = 3,
        n_rounds: int = 400,
        max_bins: int = 255,
        categorical_features: Any = "from_dtype",
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.costs = costs
        self.budget = budget
        self.rule = rule
        self.tau = tau
        self.switch = switch
        self.fill_budget = fill_budget
        self.base = base
        self.max_depth = max_depth
        self.n_rounds = n_rounds
        self.max_bins = max_bins
        self.categorical_features = categorical_features
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    @property
    def _is_reordered(self) -> bool:
        unaware = self.rule == "early-stop" and self.fill_budget  # of prices, in training
        return unaware and self.base == "stump" and self._is_limited

    def _boost(self, standing: Standing, binned: Binned, rows: FitData, bar: RoundsBar) -> list[VoteRound]:
        till = Till(Ledger(rows.costs, self.budget), self.fill_budget)
        rule = SelectionRule(self.rule, self.tau, self.switch)
        voter = self._voter(binned)
        rounds, self.stopped_by_ = boost(voter, standing, till, rule, self.n_rounds, bar.show)
        self.ledger_ = till.ledger
        return rounds

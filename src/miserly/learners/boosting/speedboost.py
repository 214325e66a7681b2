"""SpeedBoost: boosting that takes what lowers the loss most per unit of cost.

A. Grubb, J. A. Bagnell, SpeedBoost: Anytime Prediction with Uniform Near-Optimality, AISTATS 2012, with the
exponential loss. The best weight of a vote is known in closed form (Huang et al. 2014, appendix), so that the
learner of largest ``(1 - sqrt(1 - edge^2)) / cost`` is found without trying weights.
"""

from __future__ import annotations

from typing import Any, ClassVar

from miserly.costs import Ledger
from miserly.grow.binning import Binned
from miserly.learners.boosting.votes import Standing, Till, VoteRound, boost
from miserly.learners.boosting.voting import VotingClassifier
from miserly.learners.common.linear_fit import FitData
from miserly.learners.common.progress import RoundsBar
from miserly.solvers.budget_rules import SelectionRule

__all__ = ["SpeedBoostClassifier"]


class SpeedBoostClassifier(VotingClassifier):
    """Boosting by the fall of the exponential loss per unit of cost.

    Parameters
    ----------
    costs, budget, fill_budget, base, max_depth, n_rounds, ... :
        As for `AdaBoostBTClassifier`, whose greedy rule this is to first order.

    Attributes
    ----------
    plan_, cost_, n_rounds_, stopped_by_, ledger_, feature_importances_ :
        As for `AdaBoostBTClassifier`.

    Examples
    --------
    >>> from miserly.datasets import load_heart
    >>> from miserly.learners import SpeedBoostClassifier
    >>> heart = load_heart()
    >>> model = SpeedBoostClassifier(costs=heart.costs, budget=20, n_rounds=50).fit(heart.X, heart.y)
    >>> model.cost_ <= 20, model.score(heart.X, heart.y) > 0.75
    (True, True)
    """

    ledger_: Ledger

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **VotingClassifier._parameter_constraints,
        "fill_budget": ["boolean"],
    }

    def __init__(
        self,
        *,
        costs: Any = None,
        budget: float | None = None,
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
        self.fill_budget = fill_budget
        self.base = base
        self.max_depth = max_depth
        self.n_rounds = n_rounds
        self.max_bins = max_bins
        self.categorical_features = categorical_features
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _boost(self, standing: Standing, binned: Binned, rows: FitData, bar: RoundsBar) -> list[VoteRound]:
        till = Till(Ledger(rows.costs, self.budget), self.fill_budget)
        voter = self._voter(binned)
        rounds, self.stopped_by_ = boost(
            voter, standing, till, SelectionRule("speed"), self.n_rounds, bar.show
        )
        self.ledger_ = till.ledger
        return rounds

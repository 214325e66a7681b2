"""AdaBoostRS: AdaBoost first, thrift afterwards, by drawing from its learners until the budget is spent.

L. Reyzin, Boosting on a Budget: Sampling for Feature-Efficient Prediction, ICML 2011. AdaBoost is trained
without a thought for costs. Then learners are drawn, with replacement, learner `t` with probability
``p_t`` in proportion to ``alpha_t / cost_t``, until one is drawn that can no longer be paid. Each draw votes
with ``alpha_t / p_t``, so that the mean of the votes is, on average over draws, AdaBoost's own vote.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from miserly.costs import Costs, Ledger, fits
from miserly.grow.binning import Binned
from miserly.learners.boosting.votes import Standing, Till, VoteRound, boost
from miserly.learners.boosting.voting import ONE_OR_MORE, VotingClassifier
from miserly.learners.common.linear_fit import FitData
from miserly.learners.common.progress import RoundsBar
from miserly.plan import Tree
from miserly.solvers.budget_rules import SelectionRule, counted
from miserly.solvers.mixed_norm import canonical

__all__ = ["AdaBoostRSClassifier"]

MOST_DRAWS = 1000  # times the number of learners: where what is too expensive is hardly ever drawn


class AdaBoostRSClassifier(VotingClassifier):
    """AdaBoost whose learners are sampled to fit a budget: the baseline of budgeted boosting.

    Parameters
    ----------
    n_draws : int, optional
        Draw no more than so many times as many learners as AdaBoost has. By default learners are drawn until
        the budget is spent. The vote is the mean of all draws: the more, the closer to AdaBoost's own vote,
        which it is if there is no limit and the budget pays for all learners.
    costs, budget, base, max_depth, n_rounds, ... :
        As for `AdaBoostBTClassifier`; `n_rounds` is the number of learners to draw from.
    random_state : int, RandomState or None
        What is drawn.

    Attributes
    ----------
    plan_ : Plan
        A chain of the learners drawn. If they are stumps and there is a `budget`, those on free and cheap
        features come first, and a constant stands in for those that are not evaluated, so that
        ``predict(X, budget=...)`` makes use of what a smaller budget pays for. The whole vote is the same,
        but for rounding. Otherwise they are in the order in which they were first drawn.
    n_rounds_ : int
        How many different learners were drawn, and `stopped_by_` why drawing ended: "budget", "draws" (no
        more of them), or "all" (nothing had to be drawn, the budget pays for all).
    cost_, ledger_, feature_importances_ :
        As for `AdaBoostBTClassifier`; importance is by AdaBoost's rounds that were drawn.

    Examples
    --------
    >>> from miserly.datasets import load_heart
    >>> from miserly.learners import AdaBoostRSClassifier
    >>> heart = load_heart()
    >>> model = AdaBoostRSClassifier(costs=heart.costs, budget=50, random_state=0).fit(heart.X, heart.y)
    >>> model.cost_ <= 50
    True
    """

    ledger_: Ledger

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **VotingClassifier._parameter_constraints,
        "n_draws": [ONE_OR_MORE, None],
    }

    def __init__(
        self,
        *,
        costs: Any = None,
        budget: float | None = None,
        n_draws: int | None = None,
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
        self.n_draws = n_draws
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
        return self.base == "stump" and self._is_limited

    def _boost(self, standing: Standing, binned: Binned, rows: FitData, bar: RoundsBar) -> list[VoteRound]:
        unpriced = Till(Ledger(rows.costs), fill_budget=True)
        rule = SelectionRule("early-stop")
        rounds, _ = boost(self._voter(binned), standing, unpriced, rule, self.n_rounds, bar.show)
        self.ledger_ = Ledger(rows.costs, self.budget)
        most = None if self.n_draws is None else self.n_draws * len(rounds)
        drawn, self.stopped_by_ = draw_rounds(rounds, self.ledger_, most, np.random.default_rng(rows.seed))
        return drawn


def draw_rounds(
    rounds: Sequence[VoteRound], ledger: Ledger, n_draws: int | None, random: np.random.Generator
) -> tuple[list[VoteRound], str]:
    """Draw rounds until one cannot be paid; gives those drawn, with their weights, and why no more.

    What is drawn again costs nothing and counts again. Without `n_draws`, drawing ends with the budget; if
    all rounds can be paid it would never end, and its limit, all rounds as they are, is taken.
    """
    if not rounds:
        return [], "all"
    if n_draws is None and _pay_all(rounds, ledger):
        return list(rounds), "all"
    probability = _probabilities(rounds, ledger.costs)
    times: dict[int, int] = {}
    terms: set[int] = set()
    stopped_by = "draws"
    for t in _draws(probability, MOST_DRAWS * len(rounds) if n_draws is None else n_draws, random):
        if t not in times and not _pay(rounds[t], ledger, terms):
            stopped_by = "budget"
            break
        times[t] = times.get(t, 0) + 1
    total = sum(times.values())
    drawn = [
        replace(rounds[t], weights=rounds[t].weights * (count / (total * probability[t])))
        for t, count in times.items()
    ]
    return drawn, stopped_by


def _draws(probability: NDArray[np.float64], most: int, random: np.random.Generator) -> Iterator[int]:
    """Up to so many numbers, drawn some at a time."""
    size = len(probability)
    for first in range(0, most, size):
        yield from random.choice(size, size=min(size, most - first), p=probability).tolist()


def _pay_all(rounds: Sequence[VoteRound], ledger: Ledger) -> bool:
    """Pay for all rounds if the budget allows; gives whether it did."""
    before = ledger.state()
    terms: set[int] = set()
    if all(_pay(one, ledger, terms) for one in rounds):
        return True
    ledger.restore(before)
    return False


def _probabilities(rounds: Sequence[VoteRound], costs: Costs) -> NDArray[np.float64]:
    """In proportion to how loud a round's votes are, and inversely to what it costs alone."""
    loud = np.array([sum(abs(w) * np.abs(tree.value).max() for w, tree in _parts(one)) for one in rounds])
    cost = np.array([costs.of(one.trees[0].features, len({*map(id, one.trees)})) for one in rounds])
    cost = counted(cost)
    share = loud / canonical(cost / cost.min())  # the same bits in any currency
    return share / share.sum()


def _parts(one: VoteRound) -> Iterator[tuple[float, Tree]]:
    return zip(one.weights.tolist(), one.trees, strict=True)


def _pay(one: VoteRound, ledger: Ledger, terms: set[int]) -> bool:
    """Pay for the features of a round and for terms not yet in `terms`; gives whether that was possible."""
    paid = ledger.paid.copy()
    paid[one.trees[0].features] = True
    evaluated = terms | {id(tree) for tree in one.trees}
    price = ledger.costs.of(paid, evaluations=len(evaluated)) - ledger.spent
    if not fits(ledger.spent, max(price, 0.0), ledger.budget):
        return False
    for feature in one.trees[0].features.tolist():
        ledger.buy(feature)
    terms |= evaluated
    ledger.account[0] = ledger.costs.of(ledger.paid, evaluations=len(terms))
    return True

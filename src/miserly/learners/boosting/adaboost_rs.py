"""AdaBoostRS: AdaBoost without costs, then a random sample of its learners that fits the budget."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from miserly.costs import Costs, Ledger
from miserly.grow.binning import Binned
from miserly.learners.base.arguments import ONE_OR_MORE
from miserly.learners.boosting.votes import BoostingState, LearnerBudget, VoteRound, boost
from miserly.learners.boosting.voting import VotingClassifier
from miserly.learners.common.linear_fit import FitData
from miserly.learners.common.progress import RoundsBar
from miserly.plan import Tree
from miserly.solvers.budget_rules import SelectionRule, counted
from miserly.solvers.term_prices import canonical

__all__ = ["AdaBoostRSClassifier"]

MAX_DRAWS = 1000  # times the number of learners: the end if expensive learners are hardly ever drawn


class AdaBoostRSClassifier(VotingClassifier):
    """AdaBoost whose learners are sampled until a budget is spent.

    AdaBoost is trained without costs. Then learners are drawn at random, cheap ones with a larger
    probability, until one is drawn that cannot be paid. It is the baseline of budgeted boosting.

    Parameters
    ----------
    costs : Costs, array-like, mapping of name to cost or None, default=None
        Costs of the features, of groups of features, and of evaluating a base learner. By default each
        feature costs 1 and base learners cost nothing.
    budget : float or None, default=None
        Cap on the cost of the model for any row. By default there is no cap, and all learners are kept.
    n_draws : int or None, default=None
        Largest number of draws, as a multiple of the number of learners. By default learners are drawn until
        the budget is spent. More draws bring the vote closer to that of AdaBoost.
    base : {"stump", "tree"}, default="stump"
        Base learners. Stumps vote +1 or -1, as in the paper. Trees are grown without costs as well, and every
        leaf has a vote of its own weight.
    max_depth : int, default=3
        Largest depth of trees. Stumps ignore it.
    n_rounds : int, default=400
        Largest number of learners to draw from.
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
        Random seed of the draws, and of the rows that bins are computed from.
    n_jobs : int or None, default=None
        Number of threads. By default all cores. The model does not depend on it.
    verbose : int, default=0
        With 1, a progress bar is shown.

    Attributes
    ----------
    plan_ : Plan
        A chain of the learners drawn, in the order of their first draw. With stumps and a `budget`, learners
        on free and cheap features come first instead, and constants replace the nodes that a row cannot pay
        for. The whole vote is the same except for rounding.
    classes_ : array of shape (n_classes,)
        The classes, sorted.
    cost_ : float
        Cost of the whole model.
    features_ : array
        The features that the model may need: names if there are names, else column numbers.
    n_rounds_ : int
        Number of different learners that were drawn.
    stopped_by_ : str
        Why drawing ended: "budget", "draws", or "all" (the budget pays for all learners, so none is drawn).
    ledger_ : Ledger
        The features that are paid, the groups that are open, and the amount spent.
    feature_importances_ : array of shape (n_features,)
        Share of each feature in the reduction of the logarithm of the loss. The shares sum to 1.
    n_features_in_ : int
        Number of features seen by `fit`.
    feature_names_in_ : array of shape (n_features_in_,)
        Names of the features. It exists only if `X` had names.

    Notes
    -----
    Learner `t` is drawn, with replacement, with probability ``p_t`` proportional to ``alpha_t / cost_t``.
    Each draw votes with weight ``alpha_t / p_t``. The expectation of the mean vote is the vote of AdaBoost
    [1]_.

    Differences from the paper:

    - If the budget pays for all learners and `n_draws` is not given, all are used with their own weights,
      which is the limit of infinitely many draws.
    - Base learners may be trees. ``alpha_t`` is then the sum of the largest votes of their leaves.
    - Free learners count as the cheapest that are not free.

    References
    ----------
    .. [1] L. Reyzin, "Boosting on a Budget: Sampling for Feature-Efficient Prediction", ICML 2011.

    Examples
    --------
    >>> from miserly import AdaBoostRSClassifier
    >>> from miserly.datasets import load_heart
    >>> heart = load_heart()
    >>> for budget in (10, 50, 300):
    ...     model = AdaBoostRSClassifier(costs=heart.costs, budget=budget, random_state=0)
    ...     score = model.fit(heart.X, heart.y).score(heart.X, heart.y)
    ...     print(round(model.cost_, 2), round(score, 2))
    9.27 0.54
    26.77 0.78
    220.07 0.74
    """

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
        class_weight: Any = None,
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
        self.class_weight = class_weight
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    @property
    def _is_reordered(self) -> bool:
        return self.base == "stump" and self._is_limited

    def _rule(self) -> SelectionRule:
        return SelectionRule("early-stop")

    def _boost(self, state: BoostingState, binned: Binned, rows: FitData, bar: RoundsBar) -> list[VoteRound]:
        unlimited = LearnerBudget(Ledger(rows.costs), fill_budget=True)
        rounds, _ = boost(self._voter(binned), state, unlimited, self._rule(), self.n_rounds, bar.show)
        self.ledger_ = Ledger(rows.costs, self.budget)
        n_draws = None if self.n_draws is None else self.n_draws * len(rounds)
        drawn, self.stopped_by_ = draw_rounds(rounds, self.ledger_, n_draws, np.random.default_rng(rows.seed))
        return drawn


def draw_rounds(
    rounds: Sequence[VoteRound], ledger: Ledger, n_draws: int | None, random: np.random.Generator
) -> tuple[list[VoteRound], str]:
    """Draw rounds until one cannot be paid; returns those drawn, with new weights, and why drawing ended.

    A round that is drawn again costs nothing and counts again. Without `n_draws`, drawing ends with the
    budget. If the budget pays for all rounds, drawing would never end, and its limit is returned: all rounds
    with their own weights.
    """
    if not rounds:
        return [], "all"
    if n_draws is None and _pay_all(rounds, ledger):
        return list(rounds), "all"
    probability = _probabilities(rounds, ledger.costs)
    times: dict[int, int] = {}
    terms: set[int] = set()
    stopped_by = "draws"
    for t in _draws(probability, MAX_DRAWS * len(rounds) if n_draws is None else n_draws, random):
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
    """Up to `most` numbers, drawn in blocks."""
    size = len(probability)
    for first in range(0, most, size):
        yield from random.choice(size, size=min(size, most - first), p=probability).tolist()


def _pay_all(rounds: Sequence[VoteRound], ledger: Ledger) -> bool:
    """Pay for all rounds if the budget allows; returns whether it did."""
    before = ledger.state()
    terms: set[int] = set()
    if all(_pay(one, ledger, terms) for one in rounds):
        return True
    ledger.restore(before)
    return False


def _probabilities(rounds: Sequence[VoteRound], costs: Costs) -> NDArray[np.float64]:
    """Probabilities of the rounds: the size of their votes divided by their cost."""
    size = np.array([sum(abs(w) * np.abs(tree.value).max() for w, tree in _parts(one)) for one in rounds])
    cost = np.array([costs.of(one.trees[0].features, len({*map(id, one.trees)})) for one in rounds])
    cost = counted(cost)
    share = size / canonical(cost / cost.min())  # the unit of costs does not change the bits
    return share / share.sum()


def _parts(one: VoteRound) -> Iterator[tuple[float, Tree]]:
    return zip(one.weights.tolist(), one.trees, strict=True)


def _pay(one: VoteRound, ledger: Ledger, terms: set[int]) -> bool:
    """Pay for the features of a round and for its new terms; returns whether the budget allows it."""
    paid = ledger.paid.copy()
    paid[one.trees[0].features] = True
    evaluated = terms | {id(tree) for tree in one.trees}
    price = ledger.costs.of(paid, evaluations=len(evaluated)) - ledger.spent
    if not ledger.fits(max(price, 0.0)):
        return False
    for feature in one.trees[0].features.tolist():
        ledger.buy(feature)
    terms |= evaluated
    ledger.settle(len(terms))
    return True

"""Greedy least squares: what a term explains against what it costs (Kusner et al. 2014, eq. 7 and 11).

The objective is the weighted squared error of the least squares fit on a set `S` of terms,

    error(S) = min_B  sum_i w_i |y_i - b - B' h_S(x_i)|^2        (all targets together)

which is to be small while what `S` costs stays within a budget: each term its evaluation, each feature of its
terms once, each group one set-up. The next term is the one with the largest

    (error(S) - error(S + t)) / (price of t now)

among those that still fit; whatever costs nothing comes first, the most useful first. Prices fall as features
are bought and groups open. A term that does not fit is skipped, and the next best is taken.

With the Gram matrix of the centred terms, a partial Cholesky factorisation keeps for every term what is left
of it (its `rest`) and of its products with the targets after the chosen terms are projected out. The drop of
the error is then ``|rest products|^2 / rest``, and choosing one more term takes one column of the Gram.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from miserly.costs import Costs, fits
from miserly.costs.prices import row_prices
from miserly.solvers.gram import Centred

__all__ = ["Evidence", "GreedySelection", "PurchaseState", "greedy_least_squares"]

Floats: TypeAlias = NDArray[np.float64]
Bools: TypeAlias = NDArray[np.bool_]

PIVOT = 1e-8  # of a column's own square: what must be left of it, or it is a combination of the chosen ones
NOTHING = 1e-12  # of the squares of the targets: a drop that rounding alone might make


@dataclass
class PurchaseState:
    """Terms on offer: what they need, what they cost, and what is paid already.

    `bought` (d,) and `evaluated` (T,) are changed by purchases; `copy` gives one of its own to each buyer.
    """

    uses: Bools  # (T, d)
    evaluation: Floats  # (T,)
    costs: Costs
    bought: Bools
    evaluated: Bools

    @classmethod
    def of(cls, uses: Bools, evaluation: Floats, costs: Costs) -> PurchaseState:
        """The state where nothing is paid yet."""
        return cls(uses, evaluation, costs, np.zeros(uses.shape[1], bool), np.zeros(uses.shape[0], bool))

    def copy(self) -> PurchaseState:
        return PurchaseState(
            self.uses, self.evaluation, self.costs, self.bought.copy(), self.evaluated.copy()
        )

    def prices(self, terms: NDArray[np.int64] | slice = slice(None)) -> Floats:
        """What terms cost now, each by itself."""
        evaluation = np.where(self.evaluated[terms], 0.0, self.evaluation[terms])
        return row_prices(self.uses[terms], self.costs.prices, self.bought) + evaluation

    def buy(self, term: int) -> NDArray[np.int64]:
        """Pay for a term; gives the terms whose prices have changed by it."""
        fresh = np.flatnonzero(self.uses[term] & ~self.bought)
        self.bought[fresh] = True
        self.evaluated[term] = True
        if not len(fresh):
            return np.array([term])
        for group in set(self.costs.group[fresh].tolist()) - {-1}:
            fresh = np.union1d(fresh, self.costs.members(group))
        return np.flatnonzero(self.uses[:, fresh].any(axis=1))


@dataclass(frozen=True, eq=False)
class Evidence:
    """The test of a term against noise: the number of rows, and the degrees of freedom of each term.

    A number fitted to noise lowers the remaining error by 1 / (rows less degrees of freedom used). A term
    must lower it `times` as much for each of its degrees of freedom (in stepwise regression, "F to enter").
    """

    rows: float
    freedom: Floats  # (T,)
    times: float

    def share(self, chosen: list[int]) -> Floats:
        """The share of the remaining error that each term must remove, after some are chosen."""
        left = self.rows - 1.0 - self.freedom[chosen].sum()
        return np.asarray(self.times * self.freedom / max(left, 1e-9))


@dataclass(frozen=True, eq=False)
class GreedySelection:
    """The terms taken, in order, how much each lowered the squared error, and what they cost together."""

    terms: NDArray[np.int64]
    drops: Floats
    cost: float


def greedy_least_squares(
    gram: Centred,
    market: PurchaseState,
    budget: float = np.inf,
    pivot: float = PIVOT,
    toll: float = 0.0,
    evidence: Evidence | None = None,
) -> GreedySelection:
    """Terms by drop of the squared error per cost, as long as the budget lasts.

    Parameters
    ----------
    gram : Centred
        Products of the terms with each other and with the targets.
    market : PurchaseState
        Purchases are noted in it.
    budget : float
        What all terms may cost on top of what is paid already.
    pivot : float
        The share of a column that must not be explained by the chosen ones; more for Grams of low precision.
    toll : float, default=0
        What a unit of cost must take off the squared error at least.
    evidence : Evidence, optional
        How much more than a column of noise a term must explain. By default any reduction is enough.

    Examples
    --------
    The second column explains a little more than the first, but not for its price:

    >>> from miserly.solvers.gram import DenseColumns, gram
    >>> y = np.arange(6.0)
    >>> H = np.column_stack([y + [0, 1, 0, 0, 1, 0], y, np.ones(6)])
    >>> market = PurchaseState.of(np.eye(3, dtype=bool), np.zeros(3), Costs([1.0, 5.0, 0.0]))
    >>> choice = greedy_least_squares(gram(DenseColumns(H), y[:, None]).centred(), market, budget=3.0)
    >>> choice.terms.tolist(), choice.cost
    ([0], 1.0)
    """
    factor = _Factor(gram, pivot)
    error = total = float(gram.squares.sum())
    prices, spent = market.prices(), 0.0
    terms: list[int] = []
    drops: list[float] = []
    while True:
        least = 0.0 if evidence is None else evidence.share(terms) * error
        helps = factor.drops > np.maximum(np.maximum(least, NOTHING * total), toll * prices)
        admitted = helps & fits(spent, prices, budget)
        if not admitted.any():
            break
        best = _best(factor.drops, prices, admitted)
        terms.append(best)
        drops.append(float(factor.drops[best]))
        spent += float(prices[best])
        error = max(0.0, error - drops[-1])
        factor.take(best)
        changed = market.buy(best)
        prices[changed] = market.prices(changed)
    return GreedySelection(np.array(terms, dtype=np.int64), np.array(drops), spent)


def _best(drops: Floats, prices: Floats, admitted: Bools) -> int:
    """The most useful of those that cost nothing; if all cost something, the most useful per cost."""
    free = admitted & (prices == 0.0)
    if free.any():
        return int(np.where(free, drops, -1.0).argmax())
    return int(np.divide(drops, prices, out=np.full_like(drops, -1.0), where=admitted).argmax())


class _Factor:
    """A partial Cholesky factorisation of the Gram, one chosen column at a time."""

    def __init__(self, gram: Centred, pivot: float) -> None:
        self.products = gram.products
        self.whole = gram.products.diagonal().copy()
        self.rest = self.whole.copy()
        self.moments = gram.moments.copy()
        self.least = np.maximum(pivot * self.whole, gram.doubt)
        self.columns = np.empty((16, len(self.rest)))
        self.size = 0
        self._refresh()

    def _refresh(self) -> None:
        """How much each term would lower the error; nothing for combinations of the chosen ones."""
        apart = self.rest > self.least
        square = np.einsum("tc,tc->t", self.moments, self.moments)
        self.drops = np.divide(square, self.rest, out=np.zeros_like(square), where=apart)

    def take(self, term: int) -> None:
        """Project one more column out of all others."""
        if self.size == len(self.columns):
            self.columns = np.concatenate([self.columns, np.empty_like(self.columns)])
        chosen = self.columns[: self.size]
        root = np.sqrt(self.rest[term])
        column = (self.products[term] - chosen[:, term] @ chosen) / root
        self.columns[self.size] = column
        self.size += 1
        self.moments -= np.outer(column, self.moments[term] / root)
        self.rest -= column**2
        self.rest[term] = 0.0
        self._refresh()

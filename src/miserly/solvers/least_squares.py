"""Least squares from Gram matrices: on given columns, and on columns chosen greedily by what they cost.

Greedy least squares: what a term explains against what it costs (Kusner et al. 2014, eq. 7 and 11). The
objective is the weighted squared error of the least squares fit on a set `S` of terms,

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
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from miserly.costs import fits
from miserly.solvers.columns import TermColumns, pieces_of, side_by_side
from miserly.solvers.gram import Centred
from miserly.solvers.term_prices import PurchaseState

__all__ = ["Evidence", "GreedySelection", "greedy_least_squares", "least_squares"]

Floats: TypeAlias = NDArray[np.float64]
Ints: TypeAlias = NDArray[np.int64]
Bools: TypeAlias = NDArray[np.bool_]

PIVOT = 1e-8  # of a column's own square: what must be left of it, or it is a combination of the chosen ones
NOTHING = 1e-12  # of the squares of the targets: a drop that rounding alone might make


def least_squares(
    gram: Centred,
    terms: Ints,
    columns: TermColumns,
    targets: Floats,
    rows: Ints,
    weight: Floats | None = None,
    n_threads: int = 1,
) -> tuple[Floats, Floats, Floats]:
    """Minimise ``sum_i w_i |y_i - b - B' h_i|^2`` over the weights `B` of some columns, and intercepts `b`.

    `gram` is that of the rows and of all columns; `rows` are their numbers and `weight` is for these rows.
    If it was computed from float32 products, the solution is refined by the products of the columns with the
    residuals, in float64.

    Returns
    -------
    weights (terms, C), intercept (C,), scores (rows, C)
    """
    if len(terms) == 0:
        n_targets = targets.shape[1]
        return np.zeros((0, n_targets)), gram.target_means, np.tile(gram.target_means, (len(rows), 1))
    factor = _factor(gram.products[np.ix_(terms, terms)], float(np.finfo(columns.dtype).eps))
    weights = cho_solve(factor, gram.moments[terms])
    intercept = gram.target_means - gram.means[terms] @ weights
    look = _RowSums(columns, terms, rows, targets, weight, n_threads)
    if columns.dtype != np.float64:
        left, products = look.residuals(weights, intercept)
        change = cho_solve(factor, products - np.outer(gram.means[terms], left))
        weights += change
        intercept = intercept + left / look.mass - gram.means[terms] @ change
    return weights, intercept, look.scores(weights, intercept)


def _factor(products: Floats, precision: float) -> tuple[Floats, bool]:
    """The Cholesky factor of products; with a slight ridge where columns differ by rounding errors only."""
    try:
        found: tuple[Floats, bool] = cho_factor(products, lower=True)
    except LinAlgError:
        found = cho_factor(products + np.diag(np.sqrt(precision) * products.diagonal()), lower=True)
    return found


@dataclass(frozen=True, eq=False)
class _RowSums:
    """Sums over some rows and columns, one piece of rows at a time."""

    columns: TermColumns
    terms: Ints
    rows: Ints
    targets: Floats
    weight: Floats | None
    n_threads: int

    @property
    def mass(self) -> float:
        return float(len(self.rows) if self.weight is None else self.weight.sum())

    def scores(self, weights: Floats, intercept: Floats) -> Floats:
        """``H B + b``, (rows, C)."""

        def score(piece: slice) -> Floats:
            return self.columns.block(self.rows[piece], self.terms) @ weights + intercept

        return np.concatenate(list(side_by_side(score, pieces_of(len(self.rows)), self.n_threads)))

    def residuals(self, weights: Floats, intercept: Floats) -> tuple[Floats, Floats]:
        """Weighted sums of the residuals, (C,), and of their products with the columns, (terms, C)."""

        def add_up(piece: slice) -> Floats:
            block = self.columns.block(self.rows[piece], self.terms).astype(np.float64)
            left = self.targets[self.rows[piece]] - block @ weights - intercept
            if self.weight is not None:
                left *= self.weight[piece, None]
            return np.vstack([left.sum(axis=0), block.T @ left])

        parts = side_by_side(add_up, pieces_of(len(self.rows)), self.n_threads)
        total = sum(parts, np.zeros((1 + len(self.terms), len(intercept))))
        return total[0], total[1:]


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

    >>> from miserly.costs import Costs
    >>> from miserly.solvers.columns import DenseColumns
    >>> from miserly.solvers.gram import gram
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

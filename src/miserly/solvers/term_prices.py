"""Prices of terms: what is left to pay for each, a cap on the terms of a path, and prices as mixed norms.

A feature is paid once, however many terms read it, and a group is set up once. `PurchaseState` has what each
term costs after some are bought. `PathCap` is a cap on whole terms: every feature that a term may read, every
evaluation, every set-up of a group. So a row that meets only some of the splits of a tree pays less, and no
row pays more. `Blocks` are the same prices for a solver that descends, as norms of weights:

    penalty(beta) = sum_b price_b sqrt(sum_{t in b} |beta_t|^2)

A block `b` is what is paid for together: evaluating one term, extracting one feature (all terms that use it),
or setting up one group (all terms that touch it). Roots are handled by ``sqrt(g) = min_z (g / z + z) / 2``,
which makes the penalty a quadratic while the auxiliaries `z` stand still; they are best at ``z = sqrt(g)``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from miserly.costs import Costs, fits
from miserly.costs.prices import groups_of_rows, row_prices, terms_price

__all__ = ["Blocks", "PathCap", "PurchaseState", "canonical"]

Floats: TypeAlias = NDArray[np.float64]
Bools: TypeAlias = NDArray[np.bool_]
Ints: TypeAlias = NDArray[np.int64]


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
        for group in set(self.costs.memberships[fresh].ravel().tolist()) - {-1}:
            fresh = np.union1d(fresh, self.costs.members(group))
        return np.flatnonzero(self.uses[:, fresh].any(axis=1))


@dataclass(frozen=True, eq=False)
class PathCap:
    """What the terms on one way may cost together.

    Attributes
    ----------
    market : PurchaseState
        The terms, with nothing paid.
    budget : float
    size : array of (T,)
        The typical size of each column: a weight times this size is what a term contributes to a score.
    """

    market: PurchaseState
    budget: float
    size: Floats

    @property
    def binds(self) -> bool:
        """Whether all terms together cost more than the budget."""
        return not fits(0.0, self._spent(self._paid(np.arange(len(self.size)))), self.budget)

    def payable(self, paid: Ints) -> Ints:
        """The terms that fit one by one once the terms `paid` are paid."""
        market = self._paid(paid)
        return np.flatnonzero(fits(self._spent(market), market.prices(), self.budget))

    def affordable(self, paid: Ints, weights: Floats) -> Ints:
        """Terms with weights (T, C) that fit together, the largest contribution per price first.

        Terms that cost nothing (more) come first. A term that does not fit is passed over.

        Examples
        --------
        >>> from miserly.costs import Costs
        >>> market = PurchaseState.of(np.eye(3, dtype=bool), np.zeros(3), Costs([4.0, 4.0, 1.0]))
        >>> cap = PathCap(market, budget=6.0, size=np.ones(3))
        >>> cap.affordable(np.array([], dtype=int), np.array([[1.0], [2.0], [0.1]])).tolist()
        [1, 2]
        """
        market = self._paid(paid)
        spent, prices = self._spent(market), market.prices()
        gain = self.size * np.sqrt((weights**2).sum(axis=1))
        wanted = gain > 0.0
        taken: list[int] = []
        while True:
            admitted = wanted & fits(spent, prices, self.budget)
            if not admitted.any():
                return np.array(sorted(taken), dtype=np.int64)
            rate = np.divide(gain, prices, out=np.full_like(gain, np.inf), where=prices > 0.0)
            best = int(np.where(admitted, rate, -1.0).argmax())
            taken.append(best)
            wanted[best] = False
            changed = market.buy(best)
            spent = self._spent(market)
            prices[changed] = market.prices(changed)

    def _paid(self, terms: Ints) -> PurchaseState:
        market = self.market.copy()
        market.bought |= market.uses[terms].any(axis=0)
        market.evaluated[terms] = True
        return market

    def _spent(self, market: PurchaseState) -> float:
        return terms_price(market.bought, market.evaluation[market.evaluated], market.costs.prices)


@dataclass(frozen=True, eq=False)
class Blocks:
    """What there is to pay, and the terms that make it necessary.

    Examples
    --------
    Two terms read feature 0, which costs 3; the second one also reads feature 1, which costs 4:

    >>> blocks = Blocks.of(np.array([[True, False], [True, True]]), np.zeros(2), Costs([3.0, 4.0]))
    >>> float(blocks.price @ blocks.roots(np.array([[1.0], [0.0]])))
    3.0
    """

    price: Floats  # (B,)
    member: Any  # (B, T) sparse, 1 where term t belongs to block b

    @classmethod
    def of(cls, uses: NDArray[np.bool_], evaluation: Floats, costs: Costs) -> Blocks:
        """The blocks of terms with features `uses` (T, d) and `evaluation` (T,); free ones are left out."""
        n_terms = len(uses)
        member = sparse.vstack(
            [
                sparse.identity(n_terms),
                sparse.csr_array(uses.T).astype(np.float64),
                sparse.csr_array(groups_of_rows(uses, costs.prices).T).astype(np.float64),
            ],
            format="csr",
        )
        price = np.concatenate([np.broadcast_to(evaluation, n_terms), costs.feature, costs.setup])
        paid = price > 0
        return cls(price[paid], member[paid])

    def scaled(self, tradeoff: float) -> Blocks:
        """Prices in the unit of the loss."""
        return Blocks(canonical(tradeoff * self.price), self.member)

    def only(self, terms: NDArray[Any]) -> Blocks:
        """The same blocks seen by some of the terms alone."""
        return Blocks(self.price, self.member[:, terms])

    def squares(self, weights: Floats) -> Floats:
        """The sum of squares in each block (B,) of weights (T, C)."""
        return np.asarray(self.member @ (weights**2).sum(axis=1))

    def roots(self, weights: Floats) -> Floats:
        return np.sqrt(self.squares(weights))

    def pull(self, auxiliary: Floats) -> Floats:
        """How strongly each term (T,) is pulled to zero: the diagonal of the quadratic in place of the roots.

        A block whose auxiliary is zero is used by no term: its terms stay at zero, and it pulls no other.
        """
        strength = np.divide(self.price, auxiliary, out=np.zeros_like(self.price), where=auxiliary > 0)
        return np.asarray(self.member.T @ strength)


def canonical(values: Floats, digits: int = 12) -> Floats:
    """Values rounded to so many digits: equal quantities in other units become equal bits.

    >>> bool(canonical(np.array([0.1 * 3])) == canonical(np.array([0.3])))
    True
    """
    values = np.asarray(values, dtype=np.float64)
    size = np.where(values == 0, 1.0, np.abs(values))
    with np.errstate(over="ignore"):
        power = 10.0 ** (digits - 1 - np.floor(np.log10(size)))
    return np.where(np.isfinite(power), np.round(values * power) / power, values)

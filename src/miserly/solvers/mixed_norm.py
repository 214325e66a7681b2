"""Prices of weights as mixed norms: a feature is paid once, however many weights need it.

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

from miserly.costs import Costs
from miserly.costs.prices import groups_of_rows

__all__ = ["Blocks", "canonical"]

Floats: TypeAlias = NDArray[np.float64]


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

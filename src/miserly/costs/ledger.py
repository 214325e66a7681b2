"""The record of one account: what is paid, what is spent, and what still fits the budget."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, overload

import numpy as np

from miserly.costs.costs import Costs
from miserly.costs.prices import (
    Bools,
    BudgetState,
    Floats,
    fits,
    marginal_prices,
    mark_paid,
    opened_by,
    unpaid_price,
)
from miserly.errors import CostError
from miserly.utils.checks import read_budget

__all__ = ["Ledger"]


class Ledger:
    """One account: the features paid, the groups opened, the amount spent, and what still fits.

    Learners that buy features share a ledger with everything they grow, so a feature that one tree has paid
    for is free for the next.

    Parameters
    ----------
    costs : Costs
        The prices.
    budget : float, optional
        Cap on what is spent. No limit by default.

    Attributes
    ----------
    costs : Costs
    paid : bool array of (d,), read-only
    opened : bool array of (groups,), read-only
    spent, budget, left : float

    Examples
    --------
    >>> ledger = Ledger(Costs([1.0, 4.0, 2.0]), budget=5)
    >>> ledger.buy(1), ledger.spent, ledger.affordable(2), ledger.affordable(0)
    (4.0, 4.0, False, True)
    """

    def __init__(self, costs: Costs, budget: float | None = None) -> None:
        self.costs = costs
        self._paid: Bools = np.zeros((1, len(costs)), dtype=np.bool_)
        self._opened: Bools = np.zeros((1, len(costs.setup)), dtype=np.bool_)
        self._account: Floats = np.array([0.0, read_budget(budget)])

    # -- reading -------------------------------------------------------------------------------------

    @property
    def paid(self) -> Bools:
        """The features that are paid, (d,): a read-only view, which follows later purchases."""
        return _read_only(self._paid[0])

    @property
    def opened(self) -> Bools:
        """The groups whose set-up is paid: a read-only view, which follows later purchases."""
        return _read_only(self._opened[0])

    @property
    def spent(self) -> float:
        """What has been paid so far."""
        return float(self._account[0])

    @property
    def budget(self) -> float:
        """Cap on what is spent; infinite if there is none."""
        return float(self._account[1])

    @budget.setter
    def budget(self, budget: float | None) -> None:
        self._account[1] = read_budget(budget)

    @property
    def left(self) -> float:
        """What of the budget is not spent."""
        return self.budget - self.spent

    def is_paid(self, feature: int) -> bool:
        """Whether a feature is paid."""
        return bool(self._paid[0, feature])

    def price(self, feature: int) -> float:
        """What buying `feature` would cost now."""
        if self._paid[0, feature]:
            return 0.0
        return float(unpaid_price(0, feature, self._opened, *self.costs.prices))

    def prices(self, *, paid_is_free: bool = True) -> Floats:
        """What buying each feature would cost now.

        Parameters
        ----------
        paid_is_free : bool, default=True
            Whether features that are paid cost nothing. If False, they cost what they would if they were not
            paid; groups that are open need no set-up either way.

        Returns
        -------
        array of (d,)
        """
        paid = self._paid[0] if paid_is_free else np.zeros(len(self.costs), dtype=np.bool_)
        return marginal_prices(paid, self._opened[0], self.costs.prices)

    @overload
    def fits(self, price: float) -> bool: ...
    @overload
    def fits(self, price: Floats) -> Bools: ...
    def fits(self, price: Any) -> Any:
        """Whether a price, or each of an array of prices, can be paid on top of what is spent."""
        return fits(self.spent, price, self.budget)

    def affordable(self, feature: int) -> bool:
        """Whether `feature` can be bought now."""
        return self.fits(self.price(feature))

    def can_evaluate(self, terms: int = 1) -> bool:
        """Whether evaluating `terms` more terms fits the budget."""
        return self.fits(terms * self.costs.evaluation)

    # -- paying --------------------------------------------------------------------------------------

    def buy(self, feature: int) -> float:
        """Pay for a feature.

        Parameters
        ----------
        feature : int
            Column of the feature.

        Returns
        -------
        float
            The price; 0 if the feature was paid already.

        Raises
        ------
        CostError
            If the price does not fit the budget.
        """
        price = self.price(feature)
        if not self.fits(price):
            raise CostError(
                f"feature {self.costs.name(feature)!r} costs {price:g}, "
                f"but only {self.left:g} of {self.budget:g} is left"
            )
        mark_paid(0, feature, self._paid, self._opened, self.costs.group)
        self._account[0] += price
        return price

    def evaluate(self, terms: int = 1) -> None:
        """Pay for evaluating `terms` terms; `CostError` if that does not fit the budget."""
        if not self.can_evaluate(terms):
            raise CostError(f"evaluating {terms} more terms does not fit the budget of {self.budget:g}")
        self._account[0] += terms * self.costs.evaluation

    def settle(self, evaluations: int, features: Iterable[int] = ()) -> None:
        """Compute again what is spent: all paid features, and `evaluations` evaluations of terms.

        Parameters
        ----------
        evaluations : int
            Number of terms that were evaluated. Evaluations paid before are forgotten.
        features : iterable of int, optional
            Features to mark as paid first.
        """
        self._paid[0, list(features)] = True
        self._opened[0] = opened_by(self._paid[0], self.costs.prices)
        self._account[0] = self.costs.of(self._paid[0], evaluations=evaluations)

    @contextmanager
    def reserving(self, amount: float) -> Iterator[None]:
        """Within this context, `amount` of the budget cannot be spent. What is spent already stays so."""
        budget = self.budget
        self._account[1] = max(self.spent, budget - amount)
        try:
            yield
        finally:
            self._account[1] = budget

    # -- for compiled code, and for later --------------------------------------------------------------

    def budget_state(self) -> BudgetState:
        """The arrays of this ledger, for compiled code that buys. They are shared, not copied."""
        return BudgetState(self._paid, self._opened, self._account, self.costs.prices)

    def state(self) -> dict[str, Any]:
        """A copy of everything that purchases change, for `restore`."""
        return {key: array.copy() for key, array in self._arrays().items()}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Set this ledger to a saved `state`; `CostError` if that is of other costs."""
        arrays = self._arrays()
        for key, array in arrays.items():
            if key not in state or np.shape(state[key]) != array.shape:
                found = np.shape(state[key]) if key in state else "is missing"
                raise CostError(f"saved {key!r} {found}, but these costs need shape {array.shape}")
        for key, array in arrays.items():  # only after all shapes have been checked
            array[:] = state[key]

    def copy(self) -> Ledger:
        """A ledger of its own in the same state."""
        new = Ledger(self.costs)
        new.restore(self._arrays())
        return new

    def _arrays(self) -> dict[str, Any]:
        return {"paid": self._paid[0], "opened": self._opened[0], "account": self._account}


def _read_only(array: Bools) -> Bools:
    view = array.view()
    view.flags.writeable = False
    return view

"""The ledger: which features are paid, how much is spent, and what still fits the budget."""

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
    """One account: the features that are paid, the groups that are open, the amount spent, and the budget.

    A learner uses one ledger for all trees that it grows. So a feature that one tree has paid for is free for
    the next.

    Parameters
    ----------
    costs : Costs
        The prices.
    budget : float, optional
        Cap on the amount spent. No limit by default.

    Attributes
    ----------
    costs : Costs
        The prices.

    Raises
    ------
    CostError
        If `budget` is not a number of at least 0.

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
        """Mask (d,) of the features that are paid. A read-only view that shows later purchases too."""
        return _read_only(self._paid[0])

    @property
    def opened(self) -> Bools:
        """Mask of the groups whose set-up is paid. A read-only view that shows later purchases too."""
        return _read_only(self._opened[0])

    @property
    def spent(self) -> float:
        """Amount paid so far."""
        return float(self._account[0])

    @property
    def budget(self) -> float:
        """Cap on the amount spent; infinite if there is none."""
        return float(self._account[1])

    @budget.setter
    def budget(self, budget: float | None) -> None:
        self._account[1] = read_budget(budget)

    @property
    def left(self) -> float:
        """Amount of the budget that is not spent."""
        return self.budget - self.spent

    def is_paid(self, feature: int) -> bool:
        """Return whether a feature is paid.

        Parameters
        ----------
        feature : int
            Column of the feature.

        Returns
        -------
        bool
        """
        return bool(self._paid[0, feature])

    def price(self, feature: int) -> float:
        """Return the current price of a feature.

        Parameters
        ----------
        feature : int
            Column of the feature.

        Returns
        -------
        float
            Its own cost, with the set-up of each of its groups that is not open; 0 if it is paid.

        Examples
        --------
        >>> ledger = Ledger(Costs([1.0, 2.0], groups={"lab": {"features": [0, 1], "setup": 10.0}}))
        >>> ledger.price(1), ledger.buy(0), ledger.price(1)
        (12.0, 11.0, 2.0)
        """
        if self._paid[0, feature]:
            return 0.0
        return float(unpaid_price(0, feature, self._opened, *self.costs.prices))

    def prices(self, *, paid_is_free: bool = True) -> Floats:
        """Return the current price of each feature.

        Parameters
        ----------
        paid_is_free : bool, default=True
            Whether the price of a paid feature is 0. If False, it is the feature's own cost. The set-up of an
            open group is 0 in both cases.

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
        """Return whether a price can be paid in addition to the amount spent.

        Parameters
        ----------
        price : float or array
            One price, or several.

        Returns
        -------
        bool or array of bool
            Whether the price, or each of the prices by itself, fits the budget.
        """
        return fits(self.spent, price, self.budget)

    def affordable(self, feature: int) -> bool:
        """Return whether a feature can be bought now.

        Parameters
        ----------
        feature : int
            Column of the feature.

        Returns
        -------
        bool
            True if it is paid already.
        """
        return self.fits(self.price(feature))

    def can_evaluate(self, terms: int = 1) -> bool:
        """Return whether evaluating more terms fits the budget.

        Parameters
        ----------
        terms : int, default=1
            Number of terms.

        Returns
        -------
        bool
        """
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
        mark_paid(0, feature, self._paid, self._opened, self.costs.memberships)
        self._account[0] += price
        return price

    def evaluate(self, terms: int = 1) -> None:
        """Pay for evaluating terms.

        Parameters
        ----------
        terms : int, default=1
            Number of terms.

        Raises
        ------
        CostError
            If the price does not fit the budget.
        """
        if not self.can_evaluate(terms):
            raise CostError(f"evaluating {terms} more terms does not fit the budget of {self.budget:g}")
        self._account[0] += terms * self.costs.evaluation

    def settle(self, evaluations: int, features: Iterable[int] = ()) -> None:
        """Compute the amount spent again, from the paid features and a number of evaluations.

        Parameters
        ----------
        evaluations : int
            Number of terms that were evaluated, those paid before included.
        features : iterable of int, optional
            Features to mark as paid first.
        """
        self._paid[0, list(features)] = True
        self._opened[0] = opened_by(self._paid[0], self.costs.prices)
        self._account[0] = self.costs.of(self._paid[0], evaluations=evaluations)

    @contextmanager
    def reserving(self, amount: float) -> Iterator[None]:
        """Lower the budget within a context, so that some of it remains for later.

        Parameters
        ----------
        amount : float
            Amount that cannot be spent. The budget is not lowered below the amount spent.

        Yields
        ------
        None
            The old budget is set again at the end.

        Examples
        --------
        >>> ledger = Ledger(Costs([1.0, 4.0]), budget=5)
        >>> with ledger.reserving(2):
        ...     ledger.affordable(1), ledger.left
        (False, 3.0)
        """
        budget = self.budget
        self._account[1] = max(self.spent, budget - amount)
        try:
            yield
        finally:
            self._account[1] = budget

    # -- arrays and copies -----------------------------------------------------------------------------

    def budget_state(self) -> BudgetState:
        """Return the arrays of this ledger for compiled code that buys features.

        Returns
        -------
        BudgetState
            The arrays themselves, not copies. Purchases there are purchases of this ledger.
        """
        return BudgetState(self._paid, self._opened, self._account, self.costs.prices)

    def state(self) -> dict[str, Any]:
        """Return a copy of everything that purchases change.

        Returns
        -------
        dict
            Arrays by name, for `restore`.
        """
        return {key: array.copy() for key, array in self._arrays().items()}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Set this ledger to a saved state.

        Parameters
        ----------
        state : mapping
            Result of `state`.

        Raises
        ------
        CostError
            If an array is missing or its shape does not fit these costs. The ledger is not changed then.

        Examples
        --------
        >>> ledger = Ledger(Costs([1.0, 4.0]))
        >>> before = ledger.state()
        >>> _ = ledger.buy(1)
        >>> ledger.restore(before)
        >>> ledger.spent
        0.0
        """
        arrays = self._arrays()
        for key, array in arrays.items():
            if key not in state or np.shape(state[key]) != array.shape:
                found = np.shape(state[key]) if key in state else "is missing"
                raise CostError(f"saved {key!r} {found}, but these costs need shape {array.shape}")
        for key, array in arrays.items():  # only after all shapes have been checked
            array[:] = state[key]

    def copy(self) -> Ledger:
        """Return a copy, whose purchases do not change this ledger.

        Returns
        -------
        Ledger
        """
        new = Ledger(self.costs)
        new.restore(self._arrays())
        return new

    def _arrays(self) -> dict[str, Any]:
        return {"paid": self._paid[0], "opened": self._opened[0], "account": self._account}


def _read_only(array: Bools) -> Bools:
    view = array.view()
    view.flags.writeable = False
    return view

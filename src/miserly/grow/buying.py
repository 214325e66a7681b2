"""Prices and purchases in compiled code: the functions of `miserly.costs.prices`, on a `BudgetState`."""

from __future__ import annotations

from miserly.costs import prices
from miserly.grow.compiled import compiled

__all__ = ["buy", "keep_affordable", "price"]

fits = compiled(prices.fits)
unpaid_price = compiled(prices.unpaid_price)
mark_paid = compiled(prices.mark_paid)


@compiled
def price(state, f):
    """The current price of feature `f`."""
    if state.paid[0, f]:
        return 0.0
    return unpaid_price(0, f, state.opened, state.prices.own, state.prices.group, state.prices.setup)


@compiled
def buy(state, f):
    """Pay for feature `f` and open its group."""
    state.account[0] += price(state, f)
    mark_paid(0, f, state.paid, state.opened, state.prices.group)


@compiled
def keep_affordable(state, features, n, may_buy):
    """Move the usable ones of the first `n` features to the front; returns their number.

    A feature is usable if it is paid, or if buying is allowed and it fits the budget. A feature that does not
    fit now will not fit later in the tree: opening its group lowers its price by the set-up, but the set-up
    has then been spent.
    """
    kept = 0
    for k in range(n):
        f = features[k]
        if state.paid[0, f] or (may_buy and fits(state.account[0], price(state, f), state.account[1])):
            features[kept] = f
            kept += 1
    return kept

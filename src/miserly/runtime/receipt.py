"""The receipt: the answer to one request, and everything that was bought for it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from operator import add
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from miserly.costs.one_row import listed_price
from miserly.plan import Plan
from miserly.runtime.faults import VALUE
from miserly.runtime.receipt_forms import DELIVERED, Acquisition, ReceiptForms, plain_value

__all__ = ["DELIVERED", "Acquisition", "Entry", "Receipt", "plain_value"]


class Entry(NamedTuple):
    """One line of the log of a request. Prices that are None are the listed ones."""

    column: int
    value: Any
    seconds: float
    scores: Any
    price: float | None = None
    reserved: float | None = None
    cost: float | None = None
    retries: int = 0
    outcome: str = VALUE
    message: str = ""


@dataclass(frozen=True, eq=False, repr=False)
class Receipt(ReceiptForms):
    """The answer to one request, and what was bought for it. `print` shows it, `to_dict` gives it as JSON.

    Parameters
    ----------
    plan : Plan
        The plan that answered.
    cost : float
        What was paid: purchases, calls that failed and are billed all the same, and evaluations.
    evaluations : float
        The part of `cost` that was paid for evaluations; see `evaluation_cost`.
    stopped_by : {"answered", "budget", "deadline", "failure", "caller"}
        Why it stopped. "answered" means that the plan had no more questions, "caller" that an `Interview`
        was ended before.
    reason : str
        The same in words.
    node : int
        The node of the plan that answered; -1 if none was finished, and the answer is the plan's base.
    scores : tuple of float
        The answer before the link.
    seconds : float
        How long the request took.
    budget, deadline : float or None
        What the request was given; the budget is that of the plan if it is smaller.
    known : tuple
        The features that were known before, for which nothing was paid.
    entries : sequence of Entry
        What was asked for, as it was logged; `trail` shows it.
    prices : array, optional
        The prices of the request, if they are not those of the plan.
    unused : sequence of Entry
        What was bought ahead and not needed; `speculated` shows it.
    request : int
        The number of the request in this process.
    amounts : array, optional
        The amounts of the row that the decision of the plan reads; NaN where one was not acquired.
    """

    plan: Plan
    cost: float
    evaluations: float
    stopped_by: str
    reason: str
    node: int
    scores: Any
    seconds: float
    budget: float
    deadline: float | None
    known: tuple[Any, ...]
    entries: Sequence[Entry]
    prices: Any = None
    unused: Sequence[Entry] = ()
    request: int = 0
    amounts: NDArray[np.float64] | None = None

    # -- the plan ------------------------------------------------------------------------------------

    @property
    def unit(self) -> str:
        """The unit of all amounts."""
        return self.plan.costs.unit

    @property
    def classes(self) -> Any:
        """The classes of the plan, or None."""
        return self.plan.classes

    @property
    def digest(self) -> str:
        """The digest of the plan."""
        return self.plan.digest

    # -- the answer ----------------------------------------------------------------------------------

    @cached_property
    def answer(self) -> Any:
        """The prediction: a number or a class.

        Returns
        -------
        object
        """
        own = None if self.amounts is None else self.amounts[None]
        return self.plan.labels_from(self._row(self.scores), amounts=own)[0]

    @cached_property
    def probabilities(self) -> NDArray[np.float64] | None:
        """The class probabilities, or None where the plan has none.

        Returns
        -------
        array of (n_classes,), or None
        """
        if not self.plan.has_probabilities:
            return None
        chances: NDArray[np.float64] = self.plan.probabilities_from(self._row(self.scores))[0]
        return chances

    @property
    def acquired(self) -> tuple[Any, ...]:
        """The features that were bought, in order."""
        return tuple(self.plan.costs.name(e.column) for e in self.entries if e.outcome in DELIVERED)

    @cached_property
    def trail(self) -> tuple[Acquisition, ...]:
        """The purchases in order.

        Returns
        -------
        tuple of Acquisition
        """
        return self._purchases(self.entries, self._parts)

    @cached_property
    def speculated(self) -> tuple[Acquisition, ...]:
        """What was bought ahead and not needed. It is not in `cost`.

        Returns
        -------
        tuple of Acquisition
        """
        return self._purchases(self.unused, [float(entry.cost or 0.0) for entry in self.unused])

    @property
    def bill(self) -> list[tuple[float, float]]:
        """The listed price and what was paid, for each of `entries`; the same figures as in `trail`."""
        return list(zip(self._listed, self._parts, strict=False))  # the last part is for evaluations

    @property
    def evaluation_cost(self) -> float:
        """The part of `cost` that was paid for evaluations: what the sum over `trail` leaves, exactly."""
        return self._parts[-1]

    # -- parts ---------------------------------------------------------------------------------------

    def _row(self, scores: Any) -> NDArray[np.float64]:
        return np.array(scores, dtype=np.float64)[None]

    @cached_property
    def _parts(self) -> list[float]:
        """What was paid for each entry, then for evaluations: their sum in this order is exactly `cost`."""
        pairs = zip(self.entries, self._listed, strict=True)
        costs = [price if entry.cost is None else entry.cost for entry, price in pairs]
        return adding_up([*costs, self.evaluations], self.cost)

    @cached_property
    def _listed(self) -> list[float]:
        """The listed price of each entry, at its time."""
        costs = self.plan.costs
        prices = np.concatenate([costs.feature, costs.setup]) if self.prices is None else self.prices
        opened = {group for name in self.known for group in costs.groups_of(costs.index(name))}
        listed = []
        for entry in self.entries:
            groups = costs.groups_of(entry.column)
            price = listed_price(entry.column, groups, opened, prices, len(costs))
            if entry.outcome in DELIVERED:
                opened.update(groups)
            listed.append(price if entry.price is None else entry.price)
        return listed

    def _amounts_at(self, entries: Sequence[Entry]) -> NDArray[np.float64] | None:
        """The amounts of the row that were there after each entry."""
        if self.amounts is None:
            return None
        columns = self.plan.amount_columns
        before = {self.plan.costs.index(name) for name in self.known}
        if entries is not self.entries:  # bought ahead, at unknown times
            before.update(entry.column for entry in self.entries)
        came = np.array([[f in before or entry.column == f for f in columns] for entry in entries])
        return np.where(np.logical_or.accumulate(came, axis=0), self.amounts, np.nan)

    def _purchases(self, entries: Sequence[Entry], costs: Sequence[float]) -> tuple[Acquisition, ...]:
        if not entries:
            return ()
        plan = self.plan
        scores = np.array([entry.scores for entry in entries], dtype=np.float64)
        answers = plan.labels_from(scores, amounts=self._amounts_at(entries))
        chances = plan.probabilities_from(scores) if plan.has_probabilities else None
        listed = self._listed if entries is self.entries else [entry.price or 0.0 for entry in entries]
        return tuple(
            Acquisition(
                feature=plan.costs.name(entry.column),
                order=i + 1,
                value=entry.value,
                price=listed[i],
                reserved=listed[i] if entry.reserved is None else entry.reserved,
                cost=costs[i],
                seconds=entry.seconds,
                retries=entry.retries,
                outcome=entry.outcome,
                message=entry.message,
                answer=answers[i],
                probabilities=None if chances is None else tuple(chances[i].tolist()),
            )
            for i, entry in enumerate(entries)
        )


def adding_up(parts: list[float], total: float) -> list[float]:
    """Parts whose sum is exactly `total`, however it is computed, if it was `total` but for rounding errors.

    Amounts that were added in another order may give another last digit, and so does `sum`, which rounds
    after every part in Python 3.11 and only once from 3.12 on. Two of the parts are then changed by a few
    units in their last place. Where that does not do, all are rounded to the last place of `total`, where
    additions have no rounding errors. Parts of 0 stay 0.

    >>> 0.043 + 0.2, sum(adding_up([0.043, 0.2], 0.24300000000000002))
    (0.243, 0.24300000000000002)
    """
    paid = [i for i, part in enumerate(parts) if part]
    if not paid or _adds_up(parts, total) or abs(math.fsum(parts) - total) > 1e-9 * abs(total):
        return parts
    last, small = paid[-1], min(paid, key=lambda i: parts[i])
    for step in range(17):
        tried = list(parts)
        tried[small] += (step // 2 if step % 2 else -(step // 2)) * math.ulp(parts[small])
        rest = total - math.fsum(tried[:last])
        for one in (rest, math.nextafter(rest, math.inf), math.nextafter(rest, -math.inf)):
            tried[last] = one
            if _adds_up(tried, total):
                return tried
    unit = math.ulp(total)
    rounded = [round(part / unit) * unit for part in parts]
    largest = max(paid, key=lambda i: parts[i])
    rounded[largest] += total - math.fsum(rounded)
    return rounded


def _adds_up(parts: list[float], total: float) -> bool:
    """Whether parts give a total, rounded after every part or only once, the last one apart or not."""
    rest, last = parts[:-1], parts[-1]
    return (
        reduce(add, parts, 0.0) == math.fsum(parts) == math.fsum(rest) + last == sum(parts) == total
        and sum(rest) + last == total
    )

"""The receipt: the answer to one request, and everything that was bought for it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from miserly.plan import Plan, links
from miserly.runtime.faults import NAN, NULL, VALUE

__all__ = ["Acquisition", "Entry", "Receipt"]

DELIVERED = (VALUE, NULL, NAN)


_RECORDED = (
    "answer", "probabilities", "cost", "evaluation_cost", "speculation_cost", "stopped_by", "reason", "node",
    "seconds", "budget", "deadline", "known", "acquired", "overrun",
)  # fmt: skip


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


@dataclass(frozen=True, slots=True)
class Acquisition:
    """One feature that was asked for.

    Attributes
    ----------
    feature : str or int
        Its name, or its column where features have no names.
    order : int
        From 1.
    value : object
        As the source gave it; None where there is none.
    price : float
        The listed price at that time, with the set-up of the feature's group.
    reserved : float
        What was reserved before the call: the listed price, or the bound of its source.
    cost : float
        What was paid.
    seconds : float
        How long its source took, retries included. Features that came with another one took 0.
    retries : int
        How many calls were made after the first one.
    outcome : str
        ``"value"``, ``"null"`` if the source says that there is no value, or why there is none: ``"nan"``,
        ``"invalid"``, ``"failed"``, ``"late"``, ``"declined"``, ``"refused"`` (its circuit breaker is open),
        ``"exhausted"`` (no thread was free), ``"cancelled"`` (the request ended before it answered).
    message : str
        What went wrong.
    answer : object
        What the plan would have answered after this purchase.
    probabilities : tuple of float, or None
        The class probabilities after this purchase.
    """

    feature: Any
    order: int
    value: Any
    price: float
    reserved: float
    cost: float
    seconds: float
    retries: int
    outcome: str
    message: str
    answer: Any
    probabilities: tuple[float, ...] | None

    @property
    def delivered(self) -> bool:
        """Whether the source answered, with a value or with the news that there is none."""
        return self.outcome in DELIVERED

    @property
    def overrun(self) -> bool:
        """Whether more was paid than was reserved."""
        return self.cost > self.reserved * (1.0 + 1e-12)

    def to_dict(self, *, values: bool = True) -> dict[str, Any]:
        """Return the purchase in plain values, for JSON.

        Parameters
        ----------
        values : bool, default=True
            Whether to include the value of the feature.

        Returns
        -------
        dict
        """
        names = [name for name in self.__slots__ if values or name != "value"]
        return {name: plain_value(getattr(self, name)) for name in names} | {"overrun": self.overrun}


@dataclass(frozen=True, eq=False, repr=False)
class Receipt:
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

    # -- the answer ----------------------------------------------------------------------------------

    @cached_property
    def answer(self) -> Any:
        """The prediction: a number or a class.

        Returns
        -------
        object
        """
        return links.labels(self.plan.link, self._row(self.scores), self.plan.classes)[0]

    @cached_property
    def probabilities(self) -> NDArray[np.float64] | None:
        """The class probabilities, or None where the plan has none.

        Returns
        -------
        array of (n_classes,), or None
        """
        if not self.plan.has_probabilities:
            return None
        chances: NDArray[np.float64] = links.probabilities(self.plan.link, self._row(self.scores))[0]
        return chances

    @property
    def acquired(self) -> tuple[Any, ...]:
        """The features that were bought, in order."""
        return tuple(self.plan.costs.name(e.column) for e in self.entries if e.outcome in DELIVERED)

    @property
    def values(self) -> dict[Any, Any]:
        """The values that were bought, by feature. What was not ordered is not there; None is no value."""
        return {one.feature: one.value for one in self.trail if one.delivered}

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
    def speculation_cost(self) -> float:
        """What was paid for features that were bought ahead and not needed."""
        return math.fsum(one.cost for one in self.speculated)

    @property
    def evaluation_cost(self) -> float:
        """The part of `cost` that was paid for evaluations: what the sum over `trail` leaves, exactly."""
        return self._parts[-1]

    @property
    def total_cost(self) -> float:
        """`cost` and `speculation_cost` together."""
        return self.cost + self.speculation_cost

    @property
    def overrun(self) -> bool:
        """Whether a source was more expensive than its bound, so that a cap may have been passed."""
        return any(one.overrun for one in self.trail)

    # -- forms ---------------------------------------------------------------------------------------

    def to_dict(self, *, values: bool = True) -> dict[str, Any]:
        """Return the receipt in plain values, for JSON.

        Parameters
        ----------
        values : bool, default=True
            Whether to include the values of features.

        Returns
        -------
        dict
        """
        record = {name: plain_value(getattr(self, name)) for name in _RECORDED}
        record["classes"] = plain_value(self.plan.classes)
        record["unit"] = self.plan.costs.unit
        record["plan"] = self.plan.digest
        record["trail"] = [one.to_dict(values=values) for one in self.trail]
        record["speculated"] = [one.to_dict(values=values) for one in self.speculated]
        return record

    def __str__(self) -> str:
        unit = f" {self.plan.costs.unit}" if self.plan.costs.unit else ""
        lines = [f"answer: {self.answer}{_sure(self)}"]
        widest = max((len(str(one.feature)) for one in self.trail), default=0)
        for one in self.trail:
            happened = "" if one.outcome == VALUE else f"  {one.outcome}: {one.message}".rstrip(": ")
            tries = f"  {one.retries} retries" if one.retries else ""
            shown = "" if one.value is None else f" = {_short(one.value)}"
            lines.append(
                f"  {one.order:>2}. {one.feature!s:<{widest}}{shown:<14} {one.cost:>9.4g}{unit}"
                f"  {1000 * one.seconds:>8.2f} ms  then {_short(one.answer)}{tries}{happened}"
            )
        if self.evaluation_cost:
            lines.append(f"      evaluations {self.evaluation_cost:.4g}{unit}")
        for one in self.speculated:
            lines.append(f"   ahead, not needed: {one.feature}  {one.cost:.4g}{unit}")
        cap = "" if math.isinf(self.budget) else f" of {self.budget:g}"
        lines.append(
            f"paid: {self.cost:.6g}{cap}{unit} in {1000 * self.seconds:.2f} ms; "
            f"stopped by {self.stopped_by}: {self.reason}"
        )
        return "\n".join(lines)

    def __repr__(self) -> str:
        return f"Receipt(answer={self.answer!r}, cost={self.cost:g}, stopped_by={self.stopped_by!r})"

    # -- parts ---------------------------------------------------------------------------------------

    def _row(self, scores: Any) -> NDArray[np.float64]:
        return np.array(scores, dtype=np.float64)[None]

    @cached_property
    def _parts(self) -> list[float]:
        """What was paid for each entry, then for evaluations: their sum in this order is exactly `cost`."""
        pairs = zip(self.entries, self._listed(), strict=True)
        costs = [price if entry.cost is None else entry.cost for entry, price in pairs]
        return adding_up([*costs, self.evaluations], self.cost)

    def _listed(self) -> list[float]:
        """The listed price of each entry, at its time."""
        costs = self.plan.costs
        prices = np.concatenate([costs.feature, costs.setup]) if self.prices is None else self.prices
        opened = {int(costs.group[costs.index(name)]) for name in self.known}
        listed = []
        for entry in self.entries:
            group = int(costs.group[entry.column])
            price = float(prices[entry.column])
            if group >= 0 and group not in opened:
                price += float(prices[len(costs) + group])
            if entry.outcome in DELIVERED:
                opened.add(group)
            listed.append(price if entry.price is None else entry.price)
        return listed

    def _purchases(self, entries: Sequence[Entry], costs: Sequence[float]) -> tuple[Acquisition, ...]:
        if not entries:
            return ()
        plan = self.plan
        scores = np.array([entry.scores for entry in entries], dtype=np.float64)
        answers = links.labels(plan.link, scores, plan.classes)
        chances = links.probabilities(plan.link, scores) if plan.has_probabilities else None
        listed = self._listed() if entries is self.entries else [entry.price or 0.0 for entry in entries]
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
    """Parts whose sum, from left to right, is exactly `total`, if it was `total` but for rounding errors.

    Amounts that were added in another order may give another last digit. One or two of the parts are then
    changed by a unit or so in their own last place; parts of 0 stay 0.

    >>> 0.043 + 0.2, sum(adding_up([0.043, 0.2], 0.24300000000000002))
    (0.243, 0.24300000000000002)
    """
    paid = [i for i, part in enumerate(parts) if part]
    if sum(parts) == total or not paid or abs(sum(parts) - total) > 1e-9 * abs(total):
        return parts
    last, small = paid[-1], min(paid, key=lambda i: parts[i])
    for step in range(17):
        tried = list(parts)
        tried[small] += (step // 2 if step % 2 else -(step // 2)) * math.ulp(parts[small])
        rest = total - sum(tried[:last])
        for one in (rest, math.nextafter(rest, math.inf), math.nextafter(rest, -math.inf)):
            tried[last] = one
            if sum(tried) == total:
                return tried
    return parts


def _sure(receipt: Receipt) -> str:
    chances = receipt.probabilities
    return "" if chances is None else f" ({100 * float(chances.max()):.1f} %)"


def _short(value: Any) -> str:
    return f"{value:.5g}" if isinstance(value, (float, np.floating)) else str(value)


def plain_value(value: Any) -> Any:
    """A value that JSON can hold: numbers that are not finite become None, other objects text."""
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, (list, tuple)):
        return [plain_value(one) for one in value]
    return str(value)

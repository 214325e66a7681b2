"""What receipts show: purchases, sums, and forms to print and to store. They are the same for every plan."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from miserly.costs import fits
from miserly.runtime.faults import NAN, NULL, VALUE

__all__ = ["DELIVERED", "Acquisition", "ReceiptForms", "plain_value"]

DELIVERED = (VALUE, NULL, NAN)

_RECORDED = (
    "answer", "probabilities", "cost", "evaluation_cost", "speculation_cost", "stopped_by", "reason", "node",
    "seconds", "budget", "deadline", "known", "acquired", "overrun",
)  # fmt: skip


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
        return not fits(0.0, self.cost, self.reserved)

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


class ReceiptForms:
    """The parts of a receipt that follow from its answer, its purchases and its sums."""

    if TYPE_CHECKING:

        @property
        def answer(self) -> Any: ...

        @property
        def probabilities(self) -> Any: ...

        @property
        def cost(self) -> float: ...

        @property
        def stopped_by(self) -> str: ...

        @property
        def reason(self) -> str: ...

        @property
        def seconds(self) -> float: ...

        @property
        def budget(self) -> float: ...

        @property
        def trail(self) -> tuple[Acquisition, ...]: ...

        @property
        def speculated(self) -> tuple[Acquisition, ...]: ...

        @property
        def evaluation_cost(self) -> float: ...

        @property
        def unit(self) -> str: ...

        @property
        def classes(self) -> Any: ...

        @property
        def digest(self) -> str: ...

    @property
    def acquired(self) -> tuple[Any, ...]:
        """The features that were bought, in order."""
        return tuple(one.feature for one in self.trail if one.delivered)

    @property
    def values(self) -> dict[Any, Any]:
        """The values that were bought, by feature. What was not ordered is not there; None is no value."""
        return {one.feature: one.value for one in self.trail if one.delivered}

    @property
    def speculation_cost(self) -> float:
        """What was paid for features that were bought ahead and not needed."""
        return math.fsum(one.cost for one in self.speculated)

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
        record["classes"] = plain_value(self.classes)
        record["unit"] = self.unit
        record["plan"] = self.digest
        record["trail"] = [one.to_dict(values=values) for one in self.trail]
        record["speculated"] = [one.to_dict(values=values) for one in self.speculated]
        return record

    def __str__(self) -> str:
        unit = f" {self.unit}" if self.unit else ""
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
        name = type(self).__name__
        return f"{name}(answer={self.answer!r}, cost={self.cost:g}, stopped_by={self.stopped_by!r})"


def _sure(receipt: ReceiptForms) -> str:
    """The probability of the answer; nothing for an action, which is no class."""
    chances, answer = receipt.probabilities, plain_value(receipt.answer)
    if chances is None:
        return ""
    known = None if receipt.classes is None else plain_value(receipt.classes)
    if known is not None and answer not in known:
        return ""
    chance = max(chances) if known is None else chances[known.index(answer)]
    return f" ({100 * float(chance):.1f} %)"


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

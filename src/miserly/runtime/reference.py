"""What a plan did on reference rows or receipts: the figures that a `Monitor` compares new receipts with."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from miserly.errors import DataError, PlanError
from miserly.plan import Plan, links
from miserly.plan.engine.batch import Run
from miserly.runtime.faults import NULL, VALUE
from miserly.runtime.receipt import DELIVERED, Receipt
from miserly.runtime.receipt_forms import ReceiptForms

__all__ = ["QUANTILES", "Outcome", "Reference", "read_outcome"]

Floats = NDArray[np.float64]
Spread = tuple[tuple[float, float, int], ...]  # of sorted values: lowest, highest and number in each group

QUANTILES = (0.1, 0.5, 0.9)  # of answers that are numbers
INFO = "reference"  # key in `Plan.info`
_MOST_GROUPS = 500
_STOPPED = ("failure", "deadline")


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a monitor reads of one receipt.

    Attributes
    ----------
    cost : float
        What was paid.
    ratio : float
        What was paid for features, divided by their listed prices; 1 if that is 0 / 0, 2 if only the listed
        price is 0.
    failed : bool
        Whether a source failed for good, or a failure or the deadline ended the request.
    answer : object
        A class, a number, or several numbers.
    """

    cost: float
    ratio: float
    failed: bool
    answer: Any


def read_outcome(receipt: ReceiptForms | Mapping[str, Any], plan: Plan) -> Outcome:
    """What a monitor reads of a receipt, or of its `to_dict`."""
    if isinstance(receipt, Receipt):
        if receipt.plan is not plan and receipt.plan.digest != plan.digest:
            raise PlanError("this receipt is of another plan")
        outcomes = [entry.outcome for entry in receipt.entries]
        priced = any(entry.cost is not None for entry in receipt.entries)
        ratio = _ratio([(one.cost, one.price, one.outcome) for one in receipt.trail]) if priced else 1.0
        failed = receipt.stopped_by in _STOPPED
        return Outcome(receipt.cost, ratio, failed or _any_failed(outcomes), receipt.answer)
    if isinstance(receipt, ReceiptForms):  # of a plan that is elsewhere
        receipt = receipt.to_dict(values=False)
    try:
        if receipt.get("plan", plan.digest) != plan.digest:
            raise PlanError("this receipt is of another plan")
        trail = receipt["trail"]
        ratio = _ratio([(one["cost"], one["price"], one["outcome"]) for one in trail])
        failed = receipt["stopped_by"] in _STOPPED or _any_failed([one["outcome"] for one in trail])
        return Outcome(float(receipt["cost"]), ratio, failed, receipt["answer"])
    except (AttributeError, KeyError, TypeError) as error:
        raise DataError(f"not a receipt or what its to_dict gives: {error!r}") from None


def _any_failed(outcomes: Iterable[str]) -> bool:
    return any(outcome not in (VALUE, NULL) for outcome in outcomes)


def _ratio(purchases: Sequence[tuple[float, float, str]]) -> float:
    """What was paid over what was listed; calls that brought nothing and were not billed do not count."""
    paid = math.fsum(cost for cost, _, _ in purchases)
    listed = math.fsum(price for cost, price, outcome in purchases if cost > 0.0 or outcome in DELIVERED)
    if abs(paid - listed) <= 1e-9 * listed:
        return 1.0
    return paid / listed if listed > 0.0 else 2.0


@dataclass(frozen=True)
class Reference:
    """What a plan did on reference rows. `Reference.of` makes it.

    Parameters
    ----------
    plan : str
        The digest of the plan.
    n : int
        How many rows there were.
    costs : tuple of (float, float, int)
        What they paid: lowest, highest and number of each of at most 500 groups, in order.
    ratios : tuple of (float, float, int), or None
        Paid over listed prices in the same form; None if every feature had its listed price.
    failures : int or None
        How many had a failure; None if rows were run from a table.
    shares : tuple of int, or None
        How many were answered with each class.
    quantiles : tuple of tuple of (int, float), or None
        For each output of a plan that answers with numbers: places among the sorted answers, from 1, and the
        answers there.

    Examples
    --------
    >>> from miserly import Costs, Plan
    >>> from miserly.plan import Node, Raw
    >>> plan = Plan(costs=Costs([1.0]), terms=[Raw(0)], nodes=[Node([0], [0], [1.0], [0.0])], base=[0.0])
    >>> Reference.of(plan, [[1.0], [2.0], [4.0]]).quantiles
    (((1, 1.0), (2, 2.0), (3, 4.0)),)
    """

    plan: str
    n: int
    costs: Spread
    ratios: Spread | None = None
    failures: int | None = None
    shares: tuple[int, ...] | None = None
    quantiles: tuple[tuple[tuple[int, float], ...], ...] | None = None

    @classmethod
    def of(cls, plan: Plan, given: Any = None) -> Reference:
        """Read or compute the reference of a plan.

        Parameters
        ----------
        plan : Plan
            The plan.
        given : object, optional
            A `Reference`, the `Run` of the plan on rows, a list of receipts, or rows as for `Plan.run`. By
            default what is in ``plan.info["reference"]``.

        Returns
        -------
        Reference

        Raises
        ------
        PlanError
            If the reference is of another plan, or there is none.
        """
        given = plan.info.get(INFO) if given is None else given
        if given is None:
            raise PlanError(
                "the plan has no reference in its info; give rows, a run or receipts as the reference"
            )
        if isinstance(given, Mapping) and "costs" in given and "n" in given:
            given = cls.from_dict(given)
        if isinstance(given, cls):
            if given.plan != plan.digest:
                raise PlanError("this reference is of another plan")
            return given
        if isinstance(given, Sequence) and given and isinstance(given[0], (ReceiptForms, Mapping)):
            seen = [read_outcome(one, plan) for one in given]
            ratios = np.array([one.ratio for one in seen])
            return cls._of(
                plan,
                np.array([one.cost for one in seen]),
                np.array([one.answer for one in seen]),
                failures=sum(one.failed for one in seen),
                ratios=None if (ratios == 1.0).all() else _spread(ratios),
            )
        run = given if isinstance(given, Run) else plan.run(given)
        if run.plan is not plan and run.plan.digest != plan.digest:
            raise PlanError("this run is of another plan")
        scores = run.scores.reshape(len(run.cost), -1)
        return cls._of(plan, run.cost, plan.labels_from(scores, amounts=run.amounts))

    @classmethod
    def _of(cls, plan: Plan, cost: Floats, answers: NDArray[Any], **rest: Any) -> Reference:
        n = len(cost)
        if n == 0:
            raise DataError("a reference needs at least one row")
        if links.gives_numbers(plan.link):
            outputs = np.asarray(answers, dtype=np.float64).reshape(n, -1)
            places = sorted({max(1, math.ceil(q * n)) for q in QUANTILES})
            ordered = np.sort(outputs, axis=0)
            rest["quantiles"] = tuple(
                tuple((k, float(ordered[k - 1, j])) for k in places) for j in range(outputs.shape[1])
            )
        else:
            labels = classes_of(plan)
            index = {label: i for i, label in enumerate(labels)}
            found = np.bincount([class_number(index, one) for one in answers.tolist()], minlength=len(labels))
            rest["shares"] = tuple(found.tolist())
        return cls(plan=plan.digest, n=n, costs=_spread(cost), **rest)

    def attach(self, plan: Plan) -> Plan:
        """Return a copy of the plan that has this reference in its `info`, also in its file.

        Parameters
        ----------
        plan : Plan
            The plan that the reference is of.

        Returns
        -------
        Plan
            With the same digest.
        """
        if self.plan != plan.digest:
            raise PlanError("this reference is of another plan")
        return plan.replace(info={**plan.info, INFO: self.to_dict()})

    def to_dict(self) -> dict[str, Any]:
        """Return the reference in plain values, for JSON.

        Returns
        -------
        dict
        """
        return {name: _plain(value) for name, value in asdict(self).items() if value is not None}

    @classmethod
    def from_dict(cls, record: Mapping[str, Any]) -> Self:
        """Make a reference from what `to_dict` gave.

        Parameters
        ----------
        record : mapping
            The entries by name.

        Returns
        -------
        Reference
        """
        try:
            return cls(**{name: _nested(value) for name, value in record.items()})
        except TypeError as error:
            raise DataError(f"not the record of a reference: {error}") from None


def classes_of(plan: Plan) -> list[Any]:
    """The answers of a plan that classifies, as plain values."""
    n = links.n_labels(plan.link, plan.n_outputs)
    known = list(range(n)) if plan.classes is None else plan.classes.tolist()
    return known if plan.decision is None else [*known, *plan.decision.actions]


def class_number(index: Mapping[Any, int], answer: Any) -> int:
    """The number of the class that is an answer."""
    plain = answer.item() if isinstance(answer, np.generic) else answer
    try:
        return index[plain]
    except (KeyError, TypeError):
        raise DataError(f"the answer {plain!r} is none of the classes of the plan") from None


def _spread(values: Floats) -> Spread:
    """Sorted values in groups: equal ones together, or if there are too many of them, neighbours."""
    ordered = np.sort(np.asarray(values, dtype=np.float64))
    distinct, counts = np.unique(ordered, return_counts=True)
    if len(distinct) <= _MOST_GROUPS:
        return tuple((one, one, n) for one, n in zip(distinct.tolist(), counts.tolist(), strict=True))
    n, half = len(ordered), _MOST_GROUPS // 2  # half of the groups of equal number, half of equal width
    widths = np.searchsorted(ordered, np.linspace(ordered[0], ordered[-1], half)[1:-1])
    cuts = np.unique(np.concatenate([np.arange(1, half) * n // half, widths]))
    parts = np.split(ordered, cuts[(cuts > 0) & (cuts < n)])
    return tuple((float(part[0]), float(part[-1]), len(part)) for part in parts)


def _plain(value: Any) -> Any:
    return [_plain(one) for one in value] if isinstance(value, tuple) else value


def _nested(value: Any) -> Any:
    return tuple(_nested(one) for one in value) if isinstance(value, (list, tuple)) else value

"""Monitoring: whether receipts still match what a plan did on reference rows."""

from __future__ import annotations

import math
import threading
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from miserly.errors import DataError, PlanError
from miserly.plan import Plan, links
from miserly.runtime.drift_test import DriftTest
from miserly.runtime.receipt import Receipt
from miserly.runtime.reference import Reference, classes_of, read_outcome
from miserly.runtime.watched import WATCHED, Mean, means_of, values_of

__all__ = ["Drift", "Monitor"]

_Z = 1.959964  # 95 %


@dataclass(frozen=True, slots=True)
class Drift:
    """An alarm: something no longer matches the reference.

    Attributes
    ----------
    quantity : {"price", "tariff", "answers", "failures"}
        What changed: the mean cost, what is paid over listed prices, the answers, or the failure rate.
    what : str
        The same in words, with the class or the answer.
    found, found_lower, found_upper : float
        The mean since the change, with a 95 % interval. The interval is approximate, because the data chose
        where it starts.
    expected, expected_lower, expected_upper : float
        The mean in the reference, and its limits.
    since : int
        The receipt, from 1, with which the change is estimated to begin.
    noticed : int
        The receipt that raised the alarm.
    text : str
        All of this in a sentence.
    """

    quantity: str
    what: str
    found: float
    found_lower: float
    found_upper: float
    expected: float
    expected_lower: float
    expected_upper: float
    since: int
    noticed: int
    text: str

    def __str__(self) -> str:
        return self.text

    def to_dict(self) -> dict[str, Any]:
        """Return the alarm in plain values, for JSON.

        Returns
        -------
        dict
        """
        return asdict(self)


class Monitor:
    """Watches receipts of a plan, and says when they no longer match what it did on reference rows.

    It watches the mean cost of a request, what is paid over the listed prices, the answers (the share of each
    class, or three quantiles of numbers) and the share of requests with a failure. One can look after every
    receipt: if nothing changes, it ever raises an alarm with probability at most `false_alarm`.

    Parameters
    ----------
    plan : Plan
        The plan whose receipts are watched.
    reference : object, optional
        What to compare with: rows as for `Plan.run`, a `Run`, receipts, or a `Reference`. It must be a random
        sample of requests of the kind that is expected, and not rows that the model was fitted on. By default
        what is in the `info` of the plan.
    false_alarm : float, default=0.01
        The probability of any alarm over the whole life of the monitor, if nothing changes. It is divided
        equally among the four quantities.
    failure_rate : float, optional
        The share of requests with a failure that is accepted. By default that of the reference if it is made
        of receipts, else 0.01.

    Attributes
    ----------
    n : int
        How many receipts it has seen.
    reference : Reference

    Notes
    -----
    Each quantity is tested by betting; see `miserly.runtime.drift_test`. Half of its share of `false_alarm`
    is for the uncertainty of the reference, so that a small reference raises no false alarms, and only large
    changes are noticed then. Receipts must be independent of each other. Requests with a budget, prices or
    known values of their own are not like reference rows: leave their receipts out, or use receipts of such
    requests as the reference. Memory does not grow with the number of receipts.

    References
    ----------
    J. Shin, A. Ramdas and A. Rinaldo. E-detectors: a nonparametric framework for sequential change detection.
    New England Journal of Statistics in Data Science, 2024.

    Examples
    --------
    >>> from miserly import Costs, Plan
    >>> from miserly.plan import Node, Raw
    >>> from miserly.runtime import OnDemand
    >>> nodes = [Node([0], [0], [1.0], [0.0])]
    >>> plan = Plan(costs=Costs({"x": 2.0}), terms=[Raw(0)], nodes=nodes, base=[0.0])
    >>> monitor = Monitor(plan, reference=[[float(i)] for i in range(1000)])
    >>> served = OnDemand(plan, hooks={"on_answer": monitor.add})
    >>> for i in range(200):
    ...     receipt = served.predict({"x": 2000.0 + i})
    >>> [(drift.what, drift.since) for drift in monitor.alarms]
    [('share of answers of at most 899', 1)]
    """

    def __init__(
        self,
        plan: Plan,
        reference: Any = None,
        *,
        false_alarm: float = 0.01,
        failure_rate: float | None = None,
    ) -> None:
        plan = getattr(plan, "plan_", plan)
        if not isinstance(plan, Plan):
            raise PlanError(f"Monitor needs a plan or a fitted model, not {type(plan).__name__}")
        for name, share in (("false_alarm", false_alarm), ("failure_rate", failure_rate)):
            if share is not None and not (isinstance(share, (int, float)) and 0 < share < 1):
                raise DataError(f"{name} must be a number between 0 and 1, not {share!r}")
        self.plan = plan
        self.reference = Reference.of(plan, reference)
        self.false_alarm, self.failure_rate = float(false_alarm), failure_rate
        self._level = self.false_alarm / (2 * len(WATCHED))
        self._means = means_of(plan, self.reference, self._level, failure_rate)
        self._index = {} if links.gives_numbers(plan.link) else {c: i for i, c in enumerate(classes_of(plan))}
        self._test = DriftTest(
            np.array([one.limit for one in self._means]),
            np.array([one.rising for one in self._means]),
            np.array([one.most for one in self._means]),
        )
        self._parts = {
            name: np.array([k for k, one in enumerate(self._means) if one.quantity == name])
            for name in WATCHED
        }
        self._sums = np.zeros(len(self._means))
        self._raised: dict[str, list[float]] = {}  # mean, receipt, start, number, sum, sum of squares
        self._lock = threading.Lock()

    # -- receipts ------------------------------------------------------------------------------------

    def add(self, receipt: Receipt | Mapping[str, Any]) -> tuple[Drift, ...]:
        """Take a receipt. It can be the hook `on_answer` of an `OnDemand`.

        Parameters
        ----------
        receipt : Receipt or mapping
            A receipt, or what its `to_dict` gave.

        Returns
        -------
        tuple of Drift
            The alarms that this receipt has raised; empty if there are none.
        """
        values = values_of(read_outcome(receipt, self.plan), self.reference, self._index)
        with self._lock:
            self._test.add(values)
            self._sums += values
            for sums in self._raised.values():
                value = float(values[int(sums[0])])
                sums[3:] = sums[3] + 1, sums[4] + value, sums[5] + value * value
            evidence = self._test.evidence
            raised = [name for name, part in self._parts.items()
                      if name not in self._raised and evidence[part].mean() * self._level >= 1.0]  # fmt: skip
            for name in raised:
                part = self._parts[name]
                k = int(part[evidence[part].argmax()])
                self._raised[name] = [k, self.n, *self._test.since(k)]
            return tuple(self._drift(name) for name in raised)

    def update(self, receipts: Iterable[Receipt | Mapping[str, Any]]) -> tuple[Drift, ...]:
        """Take many receipts, in order.

        Parameters
        ----------
        receipts : iterable of Receipt or mapping
            As for `add`.

        Returns
        -------
        tuple of Drift
            The alarms that they have raised.
        """
        return tuple(drift for receipt in receipts for drift in self.add(receipt))

    @property
    def n(self) -> int:
        """How many receipts it has seen."""
        return self._test.n

    @property
    def alarms(self) -> tuple[Drift, ...]:
        """The alarms so far, with estimates by all receipts since the change."""
        return tuple(self._drift(name) for name in self._raised)

    def evidence(self, quantity: str) -> float:
        """Return how much speaks against "nothing has changed". There is an alarm when it reaches 1.

        Parameters
        ----------
        quantity : {"price", "tariff", "answers", "failures"}
            What to look at.

        Returns
        -------
        float
        """
        if quantity not in WATCHED:
            raise DataError(f"a monitor watches {', '.join(WATCHED)}, not {quantity!r}")
        return float(self._test.evidence[self._parts[quantity]].mean()) * self._level

    # -- forms ---------------------------------------------------------------------------------------

    def to_dict(self) -> dict[str, Any]:
        """Return the monitor in plain values, for JSON. `from_dict` goes on from there.

        Returns
        -------
        dict
        """
        with self._lock:
            return {
                "false_alarm": self.false_alarm,
                "failure_rate": self.failure_rate,
                "reference": self.reference.to_dict(),
                "test": self._test.to_dict(),
                "sums": self._sums.tolist(),
                "raised": {name: list(sums) for name, sums in self._raised.items()},
            }

    @classmethod
    def from_dict(cls, record: Mapping[str, Any], plan: Plan) -> Monitor:
        """Make a monitor that goes on where another one was when it gave this record.

        Parameters
        ----------
        record : mapping
            What `to_dict` gave.
        plan : Plan
            The plan.

        Returns
        -------
        Monitor
        """
        try:
            rates = {name: record[name] for name in ("false_alarm", "failure_rate")}
            monitor = cls(plan, Reference.from_dict(record["reference"]), **rates)
            monitor._test.restore(record["test"])
            monitor._sums[:] = record["sums"]
            monitor._raised = {name: list(sums) for name, sums in record["raised"].items()}
        except (KeyError, TypeError, AttributeError) as error:
            raise DataError(f"not the record of a monitor: {error!r}") from None
        return monitor

    def __str__(self) -> str:
        state = ", ".join(f"{name} changed" for name in self._raised) or "nothing has changed"
        lines = [f"{self.n:,} receipts, false alarms {self.false_alarm:g}: {state}"]
        lines += [f"! {drift}" for drift in self.alarms]
        if not self.n:
            return lines[0]
        for k, one in enumerate(self._means):
            if one.quantity in self._raised or (k and one.what == self._means[k - 1].what):
                continue
            mean = float(self._sums[k]) / self.n
            lines.append(f"  {one.what}: {self._shown(mean, one)}, {self._reference_words(one)}")
        return "\n".join(lines)

    def __repr__(self) -> str:
        return f"Monitor({self.n} receipts, {len(self._raised)} alarms)"

    def _drift(self, name: str) -> Drift:
        k, noticed, start, n, total, squares = self._raised[name]
        one = self._means[int(k)]
        mean, lower, upper = _interval(n, total, squares, one.kind == "share")
        near = f"{self._shown(lower, one, bare=True)} to {self._shown(upper, one)}"
        text = (
            f"{one.what}: {self._shown(mean, one)} ({near}) since receipt {int(start) + 1:,}, "
            f"{self._reference_words(one)}; noticed at receipt {int(noticed):,}"
        )
        return Drift(
            one.quantity, one.what, mean, lower, upper, one.expected, one.lower, one.upper, int(start) + 1,
            int(noticed), text,
        )  # fmt: skip

    def _reference_words(self, one: Mean) -> str:
        if one.lower == one.upper:
            return f"expected {self._shown(one.expected, one)}"
        if one.quantity == "failures":
            return f"at most {self._shown(one.upper, one)} accepted"
        near = f"{self._shown(one.lower, one, bare=True)} to {self._shown(one.upper, one)}"
        return f"expected {self._shown(one.expected, one)} ({near})"

    def _shown(self, value: float, one: Mean, bare: bool = False) -> str:
        unit = {"share": " %", "price": f" {self.plan.costs.unit}".rstrip(), "ratio": ""}[one.kind]
        return f"{100 * value if one.kind == 'share' else value:.4g}{'' if bare else unit}"


def _interval(n: float, total: float, squares: float, is_share: bool) -> tuple[float, float, float]:
    """A mean and its 95 % interval: Wilson's for shares, else by the normal distribution."""
    mean = total / n
    if is_share:
        middle = (total + _Z**2 / 2) / (n + _Z**2)
        half = _Z * math.sqrt(n * mean * (1 - mean) + _Z**2 / 4) / (n + _Z**2)
        return mean, max(0.0, middle - half), min(1.0, middle + half)
    variance = max(0.0, squares / n - mean**2)
    half = _Z * math.sqrt(variance / n)
    return mean, mean - half, mean + half

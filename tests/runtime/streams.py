"""Simulated streams of receipts, many at a time, and how a monitor would treat them."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from miserly.costs import Costs
from miserly.plan import Node, Plan, Raw
from miserly.runtime.drift_test import DriftTest
from miserly.runtime.reference import Reference
from miserly.runtime.watched import WATCHED, means_of

__all__ = ["World", "classifier", "first_alarms", "references", "regressor"]


def classifier():
    """A plan of two classes whose rows pay at most 80."""
    costs = Costs({"a": 1.0, "b": 4.0, "c": 15.0, "d": 60.0}, unit="CAD")
    nodes = [Node([t], [0], [1.0], [0.0], up=t + 1 if t < 3 else -1) for t in range(4)]
    return Plan(costs=costs, terms=[Raw(t) for t in range(4)], nodes=nodes, base=[0.0], link="logistic",
                classes=["well", "ill"])  # fmt: skip


def regressor():
    return Plan(costs=Costs({"x": 2.0}), terms=[Raw(0)], nodes=[Node([0], [0], [1.0], [0.0])], base=[0.0])


@dataclass(frozen=True)
class World:
    """What receipts are like: costs and their probabilities, the share of class 1, the failure rate."""

    costs: tuple[float, ...] = (1.0, 5.0, 20.0, 80.0)
    chances: tuple[float, ...] = (0.5, 0.3, 0.17, 0.03)
    tariff: float = 1.0  # what is paid over what is listed, on average
    share: float = 0.3
    failing: float = 0.01

    def changed(self, **changes):
        return replace(self, **changes)

    def draw(self, rng, n):
        """Costs, ratios, failures and classes of `n` receipts."""
        ratio = self.tariff * rng.choice([0.5, 1.5], n) if self.tariff != 1.0 else np.ones(n)
        cost = rng.choice(self.costs, n, p=self.chances) * ratio
        return cost, ratio, rng.random(n) < self.failing, rng.random(n) < self.share


def references(plan, world, rng, n_runs, n):
    """References of `n` receipts each."""
    found = []
    for _ in range(n_runs):
        cost, _, failed, chosen = world.draw(rng, n)
        values, counts = np.unique(cost, return_counts=True)
        spread = tuple((v, v, k) for v, k in zip(values.tolist(), counts.tolist(), strict=True))
        ill = int(chosen.sum())
        found.append(Reference(plan.digest, n, spread, failures=int(failed.sum()), shares=(n - ill, ill)))
    return found


def first_alarms(
    plan, given, before, after, rng, n, change=0, false_alarm=0.01, failure_rate=None, until=None
):
    """The receipt of the first alarm of each quantity (-1 for none), (runs, 4).

    Receipts are like `before` for `change` receipts, then like `after`. All runs are one `DriftTest`. It ends
    early if all runs have noticed the quantity `until`.
    """
    level = false_alarm / (2 * len(WATCHED))
    means = [means_of(plan, one, level, failure_rate) for one in given]
    rising = np.array([one.rising for one in means[0]])
    test = DriftTest(
        np.array([[one.limit for one in run] for run in means]), rising,
        np.array([[one.most for one in run] for run in means]),
    )  # fmt: skip
    parts = [np.array([k for k, one in enumerate(means[0]) if one.quantity == name]) for name in WATCHED]
    found = np.full((len(given), len(WATCHED)), -1)
    for t in range(n):
        cost, ratio, failed, chosen = (before if t < change else after).draw(rng, len(given))
        test.add(np.stack([cost, cost, ratio, ratio, failed, chosen, chosen], axis=1).astype(float))
        evidence = test.evidence
        for q, part in enumerate(parts):
            shown = evidence[:, part].mean(axis=1) * level >= 1.0
            found[shown & (found[:, q] < 0), q] = t + 1
        if until is not None and (found[:, WATCHED.index(until)] > 0).all():
            break
    return found

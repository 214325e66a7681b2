"""Which base learner to boost with next: what each one brings, against what it costs.

Boosting multiplies a bound on the training error by ``Z = sqrt(1 - edge^2)`` in every round (Huang, Powers,
Reyzin, Training-Time Optimization of a Budgeted Booster, 2014). A learner that costs `c` leaves money for
about ``left / c`` more like it, so the bound that a budget buys is ``Z^(left / c)``, smallest for the learner
of largest ``-ln Z / c`` (their eq. 1). Here ``drop = -ln Z`` is what a learner brings.

Rules use the costs that a learner had at first, also for features already paid. At a cost of 0 these would
always win, however weak they are. For the same reason a free learner counts as the cheapest that is not free
(`counted`). What a budget really pays is not part of the rules.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = ["RULES", "SelectionRule", "counted", "greedy", "largest_drop", "smoothed", "speed"]

Floats = NDArray[np.float64]

RULES = ("early-stop", "greedy", "smoothed", "hybrid", "speed")


def largest_drop(drop: ArrayLike, cost: ArrayLike, spent: float) -> Floats:
    """``drop``: AdaBoost's own choice, the largest edge, whatever it costs."""
    return np.asarray(drop, dtype=np.float64)


def greedy(drop: ArrayLike, cost: ArrayLike, spent: float) -> Floats:
    """``drop / cost``: the smallest ``(1 - edge^2)^(1 / cost)`` (eq. 1).

    >>> greedy([0.1, 0.2], [1.0, 4.0], 10.0).tolist()
    [0.1, 0.05]
    """
    return np.asarray(drop, dtype=np.float64) / np.asarray(cost, dtype=np.float64)


def smoothed(drop: ArrayLike, cost: ArrayLike, spent: float, tau: float = 1.0) -> Floats:
    """``drop / (tau * spent + cost)``: later rounds will cost what rounds have cost on average (eq. 2).

    The more is spent, the less prices matter; `tau` below 1 keeps them mattering for longer, and at 0 this is
    `greedy`.

    >>> smoothed([0.1, 0.2], [1.0, 4.0], 10.0).round(4).tolist()
    [0.0091, 0.0143]
    """
    return np.asarray(drop, dtype=np.float64) / (tau * spent + np.asarray(cost, dtype=np.float64))


def speed(drop: ArrayLike, cost: ArrayLike, spent: float) -> Floats:
    """``(1 - exp(-drop)) / cost``: by how much the exponential loss falls per unit of cost.

    This is SpeedBoost (Grubb and Bagnell, 2012) with the vote's weight at its best (eq. 4); `greedy` to first
    order.
    """
    fall: Floats = -np.expm1(-np.asarray(drop, dtype=np.float64))
    return fall / np.asarray(cost, dtype=np.float64)


def counted(cost: Floats) -> Floats:
    """Costs as the rules see them: what is free counts as the cheapest that is not.

    >>> counted(np.array([0.0, 5.0, 2.0])).tolist(), counted(np.zeros(2)).tolist()
    ([2.0, 5.0, 2.0], [1.0, 1.0])
    """
    paid = cost[cost > 0]
    return np.where(cost > 0, cost, paid.min() if len(paid) else 1.0)


@dataclass
class SelectionRule:
    """One of `RULES`, and the state of the hybrid one.

    "hybrid" is greedy at first. It switches to the smoothed rule, once and for all, when the best reduction
    per unit of cost of any unused feature falls below `switch` times the best of the first round. From then
    on the greedy rule would only use cheap features again and again.
    """

    name: str
    tau: float = 1.0
    switch: float = 0.1
    switched: bool = field(default=False, init=False)
    _first: float = field(default=0.0, init=False)

    def look(self, drop: Floats, cost: Floats, unused: NDArray[np.bool_]) -> None:
        """Update the state by the reductions of all features at the beginning of a round."""
        if self.name != "hybrid" or self.switched:
            return
        best = float(greedy(drop, cost, 0.0)[unused].max(initial=0.0))
        self._first = self._first or best
        self.switched = best < self.switch * self._first

    def score(self, drop: ArrayLike, cost: ArrayLike, spent: float) -> Floats:
        """What to maximise."""
        if self.name == "early-stop":
            return largest_drop(drop, cost, spent)
        if self.name == "speed":
            return speed(drop, cost, spent)
        if self.name == "greedy" or (self.name == "hybrid" and not self.switched):
            return greedy(drop, cost, spent)
        return smoothed(drop, cost, spent, self.tau)

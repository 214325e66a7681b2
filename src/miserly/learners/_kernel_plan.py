"""Plans of kernel machines: a chain of machines, each with more of the same vectors than the one before."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from miserly.costs import Costs
from miserly.plan import LEAVE, Kernel, Node, Plan
from miserly.solvers.kernel_machine import KernelMachine
from miserly.solvers.moving_vectors import Small

__all__ = ["affordable", "kernel_plan"]

Floats = NDArray[np.float64]

OUTLIER_INLIER = np.array([-1, 1])


def affordable(n_vectors: int, costs: Costs, budget: float | None) -> int:
    """How many of at most `n_vectors` evaluations a budget pays for, on top of all features.

    >>> affordable(100, Costs([1.0, 2.0], evaluation=0.1), 4.05), affordable(100, Costs([1.0]), 0.5)
    (10, 0)
    """
    if budget is None:
        return n_vectors
    left = budget - costs.total
    if left < 0.0:
        return 0
    if costs.evaluation * n_vectors <= left:
        return n_vectors
    return int(left / costs.evaluation)


def kernel_plan(
    machine: KernelMachine,
    stages: Sequence[Small],
    costs: Costs,
    fill: Floats,
    info: Mapping[str, Any],
    classes: NDArray[Any] | None = None,
) -> Plan:
    """A chain of `stages`, the first without vectors and the last the machine itself.

    Each stage has its own coefficients; kernels evaluated for one are there for the next. With two classes
    scores are minus the decisions: a plan's score is positive for the second class.
    """
    kernel = machine.kernel
    terms = [
        Kernel(v, kernel.name, kernel.gamma, kernel.coef0, kernel.degree, fill, costs.evaluation)
        for v in machine.vectors
    ]
    link, sign = _link(machine)
    nodes = [
        _node(stage, sign, place if place + 1 < len(stages) else LEAVE)
        for place, stage in enumerate(stages[1:], start=1)
    ]
    return Plan(
        costs=costs,
        terms=terms,
        nodes=nodes,
        base=sign * stages[0].intercept,
        link=link,
        classes=OUTLIER_INLIER if machine.kind == "one-class" else classes,
        info=info,
    )


def _link(machine: KernelMachine) -> tuple[str, float]:
    """How answers follow from scores, and the sign of the scores."""
    if machine.kind == "regressor":
        return "identity", 1.0
    if machine.kind == "one-class":
        return "sign", 1.0
    return ("sign", -1.0) if machine.n_decisions == 1 else ("votes", 1.0)


def _node(stage: Small, sign: float, up: int) -> Node:
    """One machine, for itself."""
    n_vectors, n_decisions = stage.coef.shape
    return Node(
        np.repeat(np.arange(n_vectors), n_decisions),
        np.tile(np.arange(n_decisions), n_vectors),
        sign * stage.coef.ravel(),
        sign * stage.intercept,
        inherits=False,
        up=up,
    )

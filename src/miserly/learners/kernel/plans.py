"""Plans of kernel machines: a chain of machines, each with more vectors than the one before."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from miserly.costs import Costs, fits, read_budget
from miserly.costs.prices import n_evaluations
from miserly.learners.kernel.svm_models import Affine
from miserly.plan import LEAVE, Kernel, Node, Plan
from miserly.solvers.kernel_machine import KernelFunction, KernelMachine, SmallMachine

__all__ = ["affordable", "kernel_plan"]

Floats = NDArray[np.float64]

OUTLIER_INLIER = np.array([-1, 1])


def affordable(n_vectors: int, costs: Costs, budget: float | None) -> int:
    """Number of kernel evaluations, at most `n_vectors`, that a budget pays for on top of all features.

    >>> affordable(100, Costs([1.0, 2.0], evaluation=0.1), 4.05), affordable(100, Costs([1.0]), 0.5)
    (10, 0)
    """
    if budget is None:
        return n_vectors
    budget = read_budget(budget)
    if not fits(0.0, costs.total, budget):
        return 0
    if fits(costs.total, costs.evaluation * n_vectors, budget):
        return n_vectors
    return int(n_evaluations(budget - costs.total, costs.evaluation))


def kernel_plan(
    machine: KernelMachine,
    stages: Sequence[SmallMachine],
    costs: Costs,
    fill: Floats,
    info: Mapping[str, Any],
    classes: NDArray[Any] | None = None,
    scaler: Affine | None = None,
) -> Plan:
    """A chain of `stages`: the first has no vectors, the last is the machine itself.

    Each stage has its own coefficients. Kernels evaluated for one stage are reused by the next. With two
    classes the scores are minus the decisions, because a plan's score is positive for the second class. The
    plan reads features that are not scaled.
    """
    scaler = Affine.identity(machine.n_features) if scaler is None else scaler
    terms = [_term(machine.kernel, v, scaler, fill, costs.evaluation) for v in machine.vectors]
    link, sign = _link(machine)
    if machine.kernel.name == "linear":
        stages = [_uncentred(stage, scaler) for stage in stages]
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


def _term(kernel: KernelFunction, vector: Floats, scaler: Affine, fill: Floats, evaluation: float) -> Kernel:
    """The kernel of a vector in scaled coordinates, as a term over rows that are not scaled."""
    center, scale, coef0 = scaler.center, scaler.scale, kernel.coef0
    if kernel.name == "rbf":
        place = vector / scale + center
        return Kernel(place, "rbf", kernel.gamma, coef0, kernel.degree, fill, evaluation, scale)
    if kernel.name != "linear":  # `_uncentred` handles the centre of linear kernels
        coef0 = coef0 - kernel.gamma * float(vector @ (scale * center))
    return Kernel(vector * scale, kernel.name, kernel.gamma, coef0, kernel.degree, fill, evaluation)


def _uncentred(stage: SmallMachine, scaler: Affine) -> SmallMachine:
    """The stage of a linear kernel for rows that are not centred."""
    moved = (stage.vectors @ (scaler.scale * scaler.center)) @ stage.coef
    return replace(stage, intercept=stage.intercept - moved)


def _link(machine: KernelMachine) -> tuple[str, float]:
    """The link, and the sign of the scores."""
    if machine.kind == "regressor":
        return "identity", 1.0
    if machine.kind == "one-class":
        return "sign", 1.0
    return ("sign", -1.0) if machine.n_decisions == 1 else ("votes", 1.0)


def _node(stage: SmallMachine, sign: float, up: int) -> Node:
    """One machine. It keeps no scores of the machine before."""
    n_vectors, n_decisions = stage.coef.shape
    return Node(
        np.repeat(np.arange(n_vectors), n_decisions),
        np.tile(np.arange(n_decisions), n_vectors),
        sign * stage.coef.ravel(),
        sign * stage.intercept,
        inherits=False,
        up=up,
    )

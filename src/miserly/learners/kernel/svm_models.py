"""Kernel machines made of scikit-learn's support vector machines (with scalers), and the plans they become.

A plan is a chain of machines, each with more vectors than the one before.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, RobustScaler, StandardScaler
from sklearn.svm import SVC, SVR, OneClassSVM

from miserly.costs import Costs, fits, read_budget
from miserly.costs.prices import n_evaluations
from miserly.errors import DataError
from miserly.learners.common.svm_reading import KINDS, is_fitted, machine_of
from miserly.learners.kernel.libsvm_files import sections
from miserly.plan import LEAVE, Kernel, Node, Plan
from miserly.solvers.columns import means_and_deviations
from miserly.solvers.kernel_machine import KernelFunction, KernelMachine, SmallMachine

__all__ = [
    "KINDS",
    "Affine",
    "affine_of",
    "affordable",
    "filled",
    "fold",
    "is_fitted",
    "kernel_node",
    "kernel_plan",
    "machine_of",
    "scaled_machine",
    "svm_of",
]

Floats: TypeAlias = NDArray[np.float64]

OUTLIER_INLIER = np.array([-1, 1])


# -- back to scikit-learn ----------------------------------------------------------------------------------


def svm_of(machine: KernelMachine) -> Any:
    """Convert a machine into a fitted `SVC`, `SVR` or `OneClassSVM` of scikit-learn.

    With three or more classes a vector that several pairs share is repeated, as in LibSVM's files. The
    decisions are the same, but there are more kernel evaluations than in the machine.
    """
    maker = {"classifier": SVC, "regressor": SVR, "one-class": OneClassSVM}[machine.kind]
    kernel = machine.kernel
    model = maker(kernel=kernel.name, gamma=kernel.gamma, degree=kernel.degree, coef0=kernel.coef0)
    coef, owned = sections(machine)
    rows = np.concatenate(owned) if owned else np.zeros(0, dtype=np.int64)
    if not len(rows):
        raise DataError(
            "a machine without vectors cannot be converted: scikit-learn's SVMs need at least one"
        )
    model._dual_coef_ = np.ascontiguousarray(coef.T)
    model._intercept_ = machine.intercept.copy()
    model.support_vectors_ = np.ascontiguousarray(machine.vectors[rows])
    model.support_ = np.arange(len(rows), dtype=np.int32)
    model._n_support = np.array([len(part) for part in owned], dtype=np.int32)
    model._sparse, model._gamma = False, kernel.gamma
    model._probA, model._probB = np.empty(0), np.empty(0)
    model._num_iter = np.zeros(machine.n_decisions, dtype=np.int32)
    model.n_features_in_ = machine.n_features
    model.shape_fit_ = machine.vectors[rows].shape
    model.fit_status_ = 0
    flipped = machine.classes is not None and len(machine.classes) == 2
    model.dual_coef_ = -model._dual_coef_ if flipped else model._dual_coef_
    model.intercept_ = -model._intercept_ if flipped else model._intercept_
    if machine.classes is not None:
        model.classes_ = machine.classes
        model.class_weight_ = np.ones(len(machine.classes))
    if machine.kind == "one-class":
        model._n_support = np.array([len(rows), 0], dtype=np.int32)
        model.offset_ = -model._intercept_
    elif machine.kind == "regressor":
        model._n_support = np.array([len(rows), 0], dtype=np.int32)
    return model


# -- scalers -------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Affine:
    """``(x - center) * scale``, feature by feature."""

    center: Floats
    scale: Floats

    @classmethod
    def identity(cls, n_features: int) -> Affine:
        return cls(np.zeros(n_features), np.ones(n_features))

    def __call__(self, X: Floats) -> Floats:
        return (X - self.center) * self.scale

    def then(self, other: Affine) -> Affine:
        """The composition: this one first, then `other`."""
        return Affine(self.center + other.center / self.scale, self.scale * other.scale)

    def as_scaler(self) -> StandardScaler:
        """As a fitted `StandardScaler`."""
        scaler = StandardScaler()
        scaler.mean_, scaler.scale_ = self.center.copy(), 1.0 / self.scale
        scaler.var_, scaler.n_features_in_ = scaler.scale_**2, len(self.center)
        scaler.n_samples_seen_ = 1
        return scaler


def affine_of(step: Any, n_features: int) -> Affine | None:
    """The affine map of a fitted scaler; None if the step does anything else."""
    zeros, ones = np.zeros(n_features), np.ones(n_features)
    match step:
        case None | "passthrough":
            return Affine(zeros, ones)
        case StandardScaler():
            mean, scale = step.mean_ if step.with_mean else None, step.scale_
        case RobustScaler():
            mean = step.center_ if step.with_centering else None
            scale = step.scale_ if step.with_scaling else None
        case MaxAbsScaler() if not getattr(step, "clip", False):
            mean, scale = None, step.scale_
        case MinMaxScaler() if not step.clip:
            return Affine(-step.min_ / step.scale_, np.asarray(step.scale_))
        case _:
            return None
    return Affine(zeros if mean is None else mean, ones if scale is None else 1.0 / scale)


def fold(machine: KernelMachine, scaler: Affine) -> KernelMachine | None:
    """The same machine for rows that are not scaled; None if its kernel does not allow it.

    A linear kernel allows any scaler. The rbf kernel needs one scale for all features. Others need a centre
    of 0.
    """
    kernel, center, scale = machine.kernel, scaler.center, scaler.scale
    if kernel.name == "linear":
        moved = machine.coef @ (machine.vectors @ (scale * center))
        return replace(machine, vectors=machine.vectors * scale, intercept=machine.intercept - moved)
    if kernel.name == "rbf":
        if not np.allclose(scale, scale[0], rtol=1e-12, atol=0.0):
            return None
        wide = replace(kernel, gamma=kernel.gamma * float(scale[0]) ** 2)
        return replace(machine, kernel=wide, vectors=machine.vectors / scale + center)
    if center.any():
        return None
    return replace(machine, vectors=machine.vectors * scale)


def scaled_machine(estimator: Any) -> tuple[KernelMachine, Affine]:
    """The machine of a fitted estimator, and the composition of the scalers in front of it."""
    if isinstance(estimator, KernelMachine):
        return estimator, Affine.identity(estimator.n_features)
    if not isinstance(estimator, Pipeline):
        machine = machine_of(estimator)
        return machine, Affine.identity(machine.n_features)
    machine = machine_of(estimator[-1])
    scaler = Affine.identity(machine.n_features)
    for name, step in estimator.steps[:-1]:
        one = affine_of(step, machine.n_features)
        if one is None or not (np.isfinite(one.scale) & (one.scale != 0.0)).all():
            raise DataError(
                f"step {name!r} of the pipeline must be a scaler (standard, robust, min-max or max-abs, no "
                f"clipping), got {type(step).__name__}: use miserly.compress, which keeps other steps, or "
                "put the compressed model into the pipeline in place of the estimator"
            )
        scaler = scaler.then(one)
    return machine, scaler


def filled(values: NDArray[Any], weight: Floats | None = None) -> tuple[Floats, Floats]:
    """The means of the columns, and the rows with missing values replaced by them."""
    fill, _ = means_and_deviations(values, weight, np.arange(values.shape[1]), 1)
    return fill, np.ascontiguousarray(np.where(np.isnan(values), fill, values), dtype=np.float64)


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
        kernel_node(sign * stage.coef, sign * stage.intercept, place if place + 1 < len(stages) else LEAVE)
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


def kernel_node(coef: Floats, intercept: Floats, up: int) -> Node:
    """A machine with coefficients (m, K). It reuses the kernels of the machine before, and not its scores."""
    n_vectors, n_scores = coef.shape
    return Node(
        np.repeat(np.arange(n_vectors), n_scores),
        np.tile(np.arange(n_scores), n_vectors),
        coef.ravel(),
        intercept,
        inherits=False,
        up=up,
    )

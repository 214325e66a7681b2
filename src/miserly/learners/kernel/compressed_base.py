"""Base of the compressed machines: parameters, training, predictions and export."""

from __future__ import annotations

from numbers import Integral, Real
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from miserly.costs import Costs
from miserly.errors import DataError
from miserly.learners.base import PlanEstimator, as_columns
from miserly.learners.base.arguments import ONE_OR_MORE, constraints
from miserly.learners.common.progress import Steps
from miserly.learners.kernel.compression import STARTS, CompressionOptions, compress_machine
from miserly.learners.kernel.libsvm_files import write_libsvm
from miserly.learners.kernel.svm_models import (
    Affine,
    affordable,
    fold,
    is_fitted,
    kernel_plan,
    scaled_machine,
    svm_of,
)
from miserly.solvers.kernel_machine import KernelMachine

__all__ = ["RATIO", "CompressedMachine"]

Floats = NDArray[np.float64]

RATIO = 0.1  # of the support vectors, if no size is given


class CompressedMachine(PlanEstimator):
    """A kernel machine with few vectors, made from one with many."""

    n_vectors_: int
    n_vectors_before_: int
    n_iter_: int
    machine_: KernelMachine
    kind: ClassVar[str]
    default: ClassVar[type[Any]]

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = constraints(
        *("costs", "budget", "random_state", "verbose"),
        estimator=[HasMethods(["fit", "predict"]), None],
        n_vectors=[Interval(Integral, 0, None, closed="left"), None],
        ratio=[Interval(Real, 0, 1, closed="right"), None],
        start=[StrOptions(set(STARTS))],
        move=["boolean"],
        max_iter=[ONE_OR_MORE],
        max_rows=[Interval(Integral, 100, None, closed="left")],
    )

    def __init__(
        self,
        estimator: Any = None,
        *,
        n_vectors: int | None = None,
        ratio: float | None = None,
        budget: float | None = None,
        costs: Any = None,
        start: str = "lars",
        move: bool = True,
        max_iter: int = 200,
        max_rows: int = 16_000,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.estimator = estimator
        self.n_vectors = n_vectors
        self.ratio = ratio
        self.budget = budget
        self.costs = costs
        self.start = start
        self.move = move
        self.max_iter = max_iter
        self.max_rows = max_rows
        self.random_state = random_state
        self.verbose = verbose

    # -- fitting -------------------------------------------------------------------------------------

    def _trained(self, rows: Floats, y: Any, weight: Floats | None) -> tuple[KernelMachine, Affine]:
        """The machine to compress, and the scaler in front of it. A fitted estimator is not trained again."""
        if self.estimator is not None and is_fitted(self.estimator):
            return self._checked(self.estimator, rows.shape[1])
        estimator = self.default() if self.estimator is None else clone(self.estimator)
        given: dict[str, Any] = {}
        if weight is not None:
            name = f"{estimator.steps[-1][0]}__" if isinstance(estimator, Pipeline) else ""
            given[f"{name}sample_weight"] = weight
        estimator.fit(rows, *([] if y is None else [y]), **given)
        return self._checked(estimator, rows.shape[1])

    def _checked(self, estimator: Any, n_features: int) -> tuple[KernelMachine, Affine]:
        machine, scaler = scaled_machine(estimator)
        if machine.kind != self.kind:
            raise DataError(f"{type(self).__name__} needs a {self.kind}, got a {machine.kind}")
        if machine.n_features != n_features:
            raise DataError(f"the estimator was fitted on {machine.n_features} features, X has {n_features}")
        return machine, scaler

    def _compress(
        self,
        machine: KernelMachine,
        scaler: Affine,
        costs: Costs,
        fill: Floats,
        rows: Floats | None,
        weight: Floats | None,
        step: Steps,
    ) -> None:
        """Make the small machine and its plan; `rows` are not scaled yet."""
        rows = None if rows is None else scaler(rows)
        self.n_vectors_before_ = int((machine.coef != 0.0).any(axis=0).sum())
        n_vectors = self._size(self.n_vectors_before_, costs)
        step(f"compressing {self.n_vectors_before_} vectors to {n_vectors}")
        made = compress_machine(machine, n_vectors, self._options(), rows, weight, step)
        self.machine_, self._scaler, self._fill = made.machine, scaler, fill
        self.n_vectors_ = made.machine.n_vectors
        self.n_iter_ = made.n_iter
        self.plan_ = kernel_plan(
            made.machine,
            made.stages,
            costs,
            fill,
            {
                "learner": type(self).__name__,
                "vectors": self.n_vectors_,
                "vectors_before": self.n_vectors_before_,
            },
            self.plan_classes(),
            scaler,
        ).replace(categories=self.categories_)

    def _size(self, before: int, costs: Costs) -> int:
        """Number of vectors of the small machine."""
        if self.n_vectors is not None and self.ratio is not None:
            raise DataError("give n_vectors or ratio, not both")
        if self.n_vectors is not None:
            wanted = min(before, int(self.n_vectors))
        elif self.ratio is None and self.budget is not None:
            wanted = before
        else:
            wanted = max(1, round((RATIO if self.ratio is None else float(self.ratio)) * before))
        return affordable(wanted, costs, self.budget)

    def _options(self) -> CompressionOptions:
        return CompressionOptions(
            start=self.start,
            move=bool(self.move),
            loss=getattr(self, "loss", "squared"),
            max_iter=int(self.max_iter),
            max_rows=int(self.max_rows),
            seed=int(check_random_state(self.random_state).randint(2**31 - 1)),
        )

    # -- answering -----------------------------------------------------------------------------------

    def _answers(
        self, X: Any, budget: float | None, unknown: str = "error", known: Any = None, prices: Any = None
    ) -> NDArray[Any]:
        """Predicted classes, or inliers and outliers.

        Without a budget the machine is evaluated by matrix products, which is much faster than the plan. Rows
        so near a boundary that rounding matters are evaluated by the plan, so that the predictions are always
        those of the plan.
        """
        plan, rows = self.fitted_plan(), self.read_rows(X, unknown)
        by_plan = budget is not None or np.isfinite(plan.budget) or not plan.nodes
        if by_plan or known is not None or prices is not None:
            return self.labels_from(self.raw_scores(X, budget, None, unknown, known, prices))
        filled = np.where(np.isnan(rows), self._fill, rows).astype(np.float64)
        decisions = self.machine_.decisions(self._scaler(filled))
        answers = self.machine_.labels_of(decisions)
        doubtful = self.machine_.doubtful(filled * self._scaler.scale, decisions)
        if doubtful.any():
            done = plan.run(rows[doubtful], n_threads=self.n_threads, account=False, encoded=True)
            answers[doubtful] = self.labels_from(as_columns(done.scores))
        return answers

    # -- export --------------------------------------------------------------------------------------

    def to_libsvm(self, path: str | Path) -> None:
        """Write a LibSVM model file.

        Such a file has no rule for missing values.

        Parameters
        ----------
        path : str or Path
            The file.

        Raises
        ------
        DataError
            If there was a scaler that the kernel cannot include.
        """
        check_is_fitted(self, "machine_")
        folded = fold(self.machine_, self._scaler)
        if folded is None:
            raise DataError(
                "a LibSVM file cannot hold the scaler in front of this kernel: compress the last step of the "
                "pipeline alone, and scale the rows before they are given to LibSVM"
            )
        write_libsvm(folded, path)

    def to_sklearn(self) -> Any:
        """Convert into a fitted estimator of scikit-learn that gives the same predictions.

        With three or more classes scikit-learn's estimator repeats vectors that several pairs of classes
        share, so it evaluates more kernels than this model.

        Returns
        -------
        SVC, SVR, OneClassSVM or Pipeline
            A pipeline with a `StandardScaler` if there was a scaler that the kernel cannot include.
        """
        check_is_fitted(self, "machine_")
        folded = fold(self.machine_, self._scaler)
        if folded is not None:
            return svm_of(folded)
        return make_pipeline(self._scaler.as_scaler(), svm_of(self.machine_))

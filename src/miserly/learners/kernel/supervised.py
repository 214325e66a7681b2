"""Compressed machines that are trained with labels: what classifiers and regressors share."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, Self

from numpy.typing import ArrayLike
from sklearn.base import _fit_context

from miserly.data.rows import Rows
from miserly.data.target import Target
from miserly.learners.base import bind_costs
from miserly.learners.base.arguments import class_weight_of, refuse_text
from miserly.learners.base.row_training import row_training
from miserly.learners.common.linear_fit import evened
from miserly.learners.common.progress import Steps, outcome
from miserly.learners.kernel.compressed_base import CompressedMachine
from miserly.learners.kernel.svm_models import filled
from miserly.solvers.kernel_machine import KernelMachine

__all__ = ["SupervisedMachine"]


class SupervisedMachine(CompressedMachine):
    """Base of the classifier and the regressor, which are trained with labels."""

    @_fit_context(prefer_skip_nested_validation=False)
    def fit(
        self,
        X: Any,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        qid: ArrayLike | None = None,
        *,
        known: Any = None,
        prices: Any = None,
        ordered: Any = None,
        never_ordered: str = "missing",
    ) -> Self:
        """Train the estimator, unless it is fitted, and compress it.

        Parameters
        ----------
        X : array-like or frame of shape (n, n_features)
            Training rows of numbers. NaN is a missing value and is replaced by the mean of its column. If the
            estimator is fitted, these are the rows on which the decisions are compared.
        y : array-like of shape (n,)
            Targets: classes for the classifier, numbers for the regressor.
        sample_weight : array-like of shape (n,), optional
            Weight of each row. By default every row has weight 1. Rows of weight 0 are left out.
        qid : array-like of shape (n,), optional
            Query of each row. It is checked and not used.
        known, prices : optional
            What each row has already, and what it pays, as for `run`. The model is trained at the mean price
            of each feature over the rows.
        ordered, never_ordered : optional
            Which features were ordered for which rows, and how rows count without them: see
            `ordering_weights`. By default all were ordered.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        own = row_training(known, prices, ordered, never_ordered)
        if own is not None:
            return own.fit(self, X, y, sample_weight, qid=qid)
        given = Target(y, sample_weight, qid, class_weight=class_weight_of(self))
        with Steps(self, bool(self.verbose)) as step:
            table = self.read_table(X, reset=True)
            refuse_text(table)
            costs = bind_costs(self.costs, table.names or self.n_features_in_)
            samples = given.checked(table.values, self, self.kind == "regressor").without_zero_weights()
            samples = evened(samples)
            fill, rows = filled(samples.X, samples.weight)
            self._check_labels(samples)
            step(f"training on {len(rows)} rows")
            machine, scaler = self._trained(rows, samples.y, samples.weight)
            self._adopt(machine, samples)
            self._compress(machine, scaler, costs, fill, rows, samples.weight, step)
            step(outcome(self))
        return self

    def _check_labels(self, samples: Rows) -> None:
        """Raise an error if the labels cannot be learned from."""

    @abstractmethod
    def _adopt(self, machine: KernelMachine, samples: Rows) -> None:
        """Take the classes of the machine."""

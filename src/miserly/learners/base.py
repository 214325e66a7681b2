"""What every learner shares: reading data, binding costs, and answering from the plan it fitted."""

from __future__ import annotations

import os
from abc import ABCMeta, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from miserly.costs import Costs
from miserly.data.encoder import Encoder, refuse_infinities
from miserly.data.frames import Table
from miserly.data.reading import encoded, learned
from miserly.errors import DataError
from miserly.plan import Plan, links
from miserly.plan.engine.batch import Run

__all__ = [
    "PlanClassifier",
    "PlanEstimator",
    "PlanRegressor",
    "bind_costs",
    "decision_of",
    "has_probabilities",
    "threads_of",
]


class PlanEstimator(BaseEstimator, metaclass=ABCMeta):
    """An estimator that is fitted once it has a `plan_`; everything it answers, the plan answers.

    A learner derives from this (or from `PlanClassifier`, `PlanRegressor`), reads its training rows with
    ``self._read(X, reset=True)``, binds its costs with `bind_costs`, and ends its `fit` with
    ``self.plan_ = Plan(...)``.
    """

    plan_: Plan
    n_features_in_: int
    feature_names_in_: NDArray[Any]
    _categories: Mapping[int, Sequence[Any]]
    _promised: tuple[Plan, tuple[Any, ...]]

    @property
    def promise_(self) -> tuple[Any, ...]:
        """What `Frontier.best` guarantees of `plan_`, as `Assurance`s; empty once there is another plan."""
        plan, told = getattr(self, "_promised", (None, ()))
        return told if plan is getattr(self, "plan_", None) else ()

    @abstractmethod
    def fit(self, X: Any, y: Any) -> Any:
        """Learn from rows `X` (n, n_features) and labels `y` (n,); sets `plan_` and gives the estimator."""

    # -- answering -----------------------------------------------------------------------------------

    def run(
        self,
        X: Any,
        budget: float | None = None,
        count: str = "path",
        qid: ArrayLike | None = None,
        *,
        unknown: str = "error",
    ) -> Run:
        """Answer every row and account for it.

        Parameters
        ----------
        X : array or frame of (n, n_features)
            Columns of frames are found by name, in any order; those that the plan never reads may be
            missing, and others are ignored.
        budget : float, optional
            No row pays more than this; a row that cannot go on answers from the last node finished.
        count : {"path", "tree"}
            Pay for the splits a row really meets, or for every feature of every tree it evaluates.
        qid : array of (n,), optional
            The query of each row, for plans that compare a document with the others of its query.
        unknown : {"error", "missing"}, default="error"
            A value that is neither a known category nor missing is an error, or counts as missing.

        Returns
        -------
        Run
            With `scores`, `cost` (n,), `acquired` (n, n_features) and `exit` (n,).
        """
        return self._plan_for(qid).run(
            self._rows(X, unknown), budget=budget, count=count, qid=qid, n_threads=self._threads, encoded=True
        )

    def predict(
        self, X: Any, budget: float | None = None, qid: ArrayLike | None = None, *, unknown: str = "error"
    ) -> NDArray[Any]:
        """The answer for every row, in the user's terms: numbers, or classes; parameters as in `run`."""
        return self._labels(self._scores(X, budget, qid, unknown))

    def _scores(
        self, X: Any, budget: float | None = None, qid: ArrayLike | None = None, unknown: str = "error"
    ) -> NDArray[np.float64]:
        """Scores (n, n_outputs); what rows paid is not followed where no budget needs it."""
        done = self._plan_for(qid).run(
            self._rows(X, unknown),
            budget=budget,
            qid=qid,
            n_threads=self._threads,
            account=False,
            encoded=True,
        )  # a budget is kept all the same
        return as_columns(done.scores)

    def _labels(self, scores: NDArray[np.float64]) -> NDArray[Any]:
        return links.labels(self.plan_.link, scores, getattr(self, "classes_", None))

    @property
    def cost_(self) -> float:
        """What a row would pay that met every feature and term of the plan's costliest way."""
        return self.plan_.max_cost

    @property
    def features_(self) -> NDArray[Any]:
        """The features that some row might need: names where there are names, else column numbers."""
        names = self.plan_.costs.names
        return self.plan_.features if names is None else np.array(names, dtype=object)[self.plan_.features]

    # -- reading -------------------------------------------------------------------------------------

    def _read(self, X: Any, *, reset: bool, unknown: str = "error") -> Table:
        """Rows to learn from as numbers; all columns are there.

        With `reset`, what the columns hold is learned from these rows; without, they are read by what was
        learned. Float32 stays float32 and is not copied; missing values are allowed, infinite ones are not.
        """
        if not reset:
            names = getattr(self, "feature_names_in_", None)
            encoder = Encoder(self.n_features_in_, names, self._categories)
            values = encoded(self, X, encoder, None, unknown)
            categories = {column: tuple(known) for column, known in self._categories.items()}
            return Table(values, None if names is None else tuple(names), categories)
        table = learned(self, X)
        refuse_infinities(table.values, getattr(self, "feature_names_in_", None))
        self._categories = table.categories
        return table

    def _rows(self, X: Any, unknown: str = "error") -> NDArray[Any]:
        """Rows to answer as numbers; of frames, only the columns that the plan reads must be there."""
        plan = self._fitted_plan()
        return encoded(self, X, plan.encoder, plan.features, unknown)

    def _plan_classes(self) -> NDArray[Any] | None:
        """What a plan answers with, if these are classes."""
        return None

    def _fitted_plan(self) -> Plan:
        check_is_fitted(self, "plan_")
        return self.plan_

    def _plan_for(self, qid: ArrayLike | None) -> Plan:
        """The plan, if it has what it needs: one that compares documents must know their queries."""
        plan = self._fitted_plan()
        if plan.listwise and qid is None:
            raise DataError("this model compares the documents of a query; give qid, the query of each row")
        return plan

    @property
    def _threads(self) -> int | None:
        return threads_of(getattr(self, "n_jobs", None))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.target_tags.required = True
        return tags


def has_probabilities(learner: Any) -> bool:
    """Whether a learner's plan has, or will have, class probabilities."""
    return bool(learner._has_probabilities())


class PlanClassifier(ClassifierMixin, PlanEstimator):
    """A `PlanEstimator` that answers with classes, `classes_`."""

    classes_: NDArray[Any]

    def decision_function(
        self, X: Any, budget: float | None = None, *, unknown: str = "error"
    ) -> NDArray[np.float64]:
        """Scores before the link: (n,) for two classes, positive for the second one, else (n, n_classes)."""
        return decision_of(self._scores(X, budget, unknown=unknown), len(self.classes_))

    @available_if(has_probabilities)
    def predict_proba(
        self, X: Any, budget: float | None = None, *, unknown: str = "error"
    ) -> NDArray[np.float64]:
        """The probability of each class, (n, n_classes); parameters as in `run`."""
        return links.probabilities(self._fitted_plan().link, self._scores(X, budget, unknown=unknown))

    def _plan_classes(self) -> NDArray[Any]:
        return np.array(self.classes_.tolist())  # text as text, not as objects

    def _has_probabilities(self) -> bool:
        plan = getattr(self, "plan_", None)
        return plan is None or plan.link in ("logistic", "softmax")


class PlanRegressor(RegressorMixin, PlanEstimator):
    """A `PlanEstimator` that answers with numbers."""


def bind_costs(costs: Any, columns: int | Sequence[str]) -> Costs:
    """Costs as a learner is given them (None, array, mapping, `Costs`) in the order of the columns.

    >>> bind_costs({"chol": 5.0, "age": 1.0}, ["age", "chol"]).feature.tolist(), bind_costs(None, 2).total
    ([1.0, 5.0], 2.0)
    """
    if costs is None:
        return Costs.uniform(columns)
    if not isinstance(costs, Costs):
        costs = Costs(costs)
    return cast(Costs, costs).bind(columns)


def threads_of(n_jobs: int | None) -> int | None:
    """`n_jobs` as a number of threads: None is all of them, -1 as well, -2 all but one, and so on."""
    if n_jobs is None or n_jobs > 0:
        return n_jobs
    return max(1, (os.cpu_count() or 1) + 1 + n_jobs)


def as_columns(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    return scores[:, None] if scores.ndim == 1 else scores


def decision_of(scores: NDArray[np.float64], n_classes: int) -> NDArray[np.float64]:
    """Scores as scikit-learn wants them: one number per row where there are two classes."""
    if n_classes == 2 and scores.shape[1] == 2:
        return scores[:, 1] - scores[:, 0]
    return scores[:, 0] if scores.shape[1] == 1 else scores

"""`PlanEstimator`, the base class of all learners: read rows, fit a plan, and predict from the plan."""

from __future__ import annotations

from abc import ABCMeta, abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import MetaEstimatorMixin

from miserly.errors import DataError
from miserly.learners.base.arguments import as_columns
from miserly.learners.base.reading import RowReader
from miserly.plan import Plan
from miserly.plan.engine.batch import Run
from miserly.plan.engine.staged import Stage

__all__ = ["PlanEstimator", "read_encoded_frames"]


class PlanEstimator(RowReader, metaclass=ABCMeta):
    """Base class of all learners: an estimator that is fitted once it has a `plan_`.

    A subclass implements `fit`, which ends with ``self.plan_ = Plan(...)``. Predictions, costs of rows,
    budgets, saving and drawing all come from the plan, so a subclass writes none of them. Regressors derive
    from `PlanRegressor`, classifiers from `PlanClassifier`.

    A `fit` has four steps:

    1. ``table = self.read_table(X, reset=True)`` reads the training rows: ``table.values`` are numbers, with
       NaN for missing values. Check the labels (`miserly.data.target.Target` checks labels, weights and
       queries at once).
    2. ``costs = bind_costs(self.costs, table.names or self.n_features_in_)`` brings the costs into the order
       of the columns.
    3. Learn. A `Ledger` keeps account of what is bought. `n_threads` is the number of threads to use.
    4. ``self.plan_ = Plan(costs=costs, ..., classes=self.plan_classes(), categories=self.categories_)``.

    Subclasses may use `read_table`, `read_rows`, `run_arguments`, `raw_scores`, `labels_from`,
    `plan_classes`, `plan_for`, `fitted_plan`, `copy_columns`, `categories_` and `n_threads`, and may override
    `labels_from`, `n_threads`, `is_quick` and `keeps_budget`. Names with a leading underscore are not for
    subclasses.

    Attributes
    ----------
    plan_ : Plan
        The fitted plan.
    n_features_in_ : int
        Number of columns of the training rows.
    feature_names_in_ : array of str
        Names of the columns, if the training rows were a frame with names.

    Examples
    --------
    A learner that predicts the mean, and pays nothing:

    >>> from miserly.learners.base import PlanRegressor, bind_costs
    >>> from miserly.plan import Node
    >>> class Mean(PlanRegressor):
    ...     def __init__(self, *, costs=None):
    ...         self.costs = costs
    ...
    ...     def fit(self, X, y):
    ...         table = self.read_table(X, reset=True)
    ...         costs = bind_costs(self.costs, table.names or self.n_features_in_)
    ...         self.plan_ = Plan(costs=costs, terms=[], nodes=[Node([], [], [], [0.0])], base=[np.mean(y)])
    ...         return self
    >>> model = Mean(costs=[1.0, 5.0]).fit([[0.0, 1.0], [2.0, 3.0]], [1.0, 2.0])
    >>> model.predict([[7.0, 8.0]]).tolist(), model.cost_
    ([1.5], 0.0)
    """

    _guarantee: tuple[Plan, tuple[Any, ...]]

    is_quick: ClassVar[bool] = False  # whether a fit grows a single tree: a search fits it at every budget
    keeps_budget: ClassVar[bool] = (
        False  # whether a fit with a budget is one fit, no search for one inside it
    )

    @abstractmethod
    def fit(self, X: Any, y: Any) -> Any:
        """Fit the model, and set `plan_`.

        Parameters
        ----------
        X : array or frame of (n, n_features)
            Training rows.
        y : array of (n,)
            Labels.

        Returns
        -------
        self
            The fitted estimator.
        """

    # -- predictions ---------------------------------------------------------------------------------

    def run(
        self,
        X: Any,
        budget: float | None = None,
        count: str = "path",
        qid: ArrayLike | None = None,
        *,
        unknown: str = "error",
        known: Any = None,
        prices: Any = None,
    ) -> Run:
        """Predict every row, and account for what it pays.

        Parameters
        ----------
        X : array or frame of (n, n_features)
            Columns of frames are found by name, in any order. Columns that the plan never reads may be
            missing, and other columns are ignored.
        budget : float or None, default=None
            No row pays more than this. A row that cannot afford the next node is answered by the last node
            it finished.
        count : {"path", "tree"}, default="path"
            Features that a row pays for: those of the splits it meets, or all features of every tree it
            evaluates.
        qid : array of (n,) or None, default=None
            Query of each row, for plans that compare a document with the others of its query.
        unknown : {"error", "missing"}, default="error"
            A value that is no known category is an error, or counts as missing.
        known : bool array of (n, n_features), frame or mapping of bools, list of features, or None
            What each row has already: it is used without paying, and its group counts as set up. A list of
            names or columns is for all rows.
        prices : array of (n, n_features), frame, mapping, function or None, default=None
            What each row pays instead of `costs`, see `Plan.run`.

        Returns
        -------
        Run
            With `scores`, `cost` (n,), `acquired` (n, n_features) and `exit` (n,).
        """
        plan = self.plan_for(qid)
        return plan.run(budget=budget, count=count, qid=qid, **self.run_arguments(X, unknown, known, prices))

    def predict(
        self,
        X: Any,
        budget: float | None = None,
        qid: ArrayLike | None = None,
        *,
        unknown: str = "error",
        known: Any = None,
        prices: Any = None,
    ) -> NDArray[Any]:
        """Predict every row: a number, or a class.

        Parameters
        ----------
        X : array or frame of (n, n_features)
            Rows to predict.
        budget : float or None, default=None
            No row pays more than this.
        qid : array of (n,) or None, default=None
            Query of each row, for plans that compare a document with the others of its query.
        unknown : {"error", "missing"}, default="error"
            A value that is no known category is an error, or counts as missing.
        known, prices : optional
            As for `run`. They change answers only where there is a budget.

        Returns
        -------
        array of (n,)
            Predictions.
        """
        plan = self.plan_for(qid)
        if not plan.amount_columns:
            return self.labels_from(self.raw_scores(X, budget, qid, unknown, known, prices))
        done = plan.run(budget=budget, account=False, **self.run_arguments(X, unknown, known, prices))
        return self.answers_of(done)

    def raw_scores(
        self,
        X: Any,
        budget: float | None = None,
        qid: ArrayLike | None = None,
        unknown: str = "error",
        known: Any = None,
        prices: Any = None,
    ) -> NDArray[np.float64]:
        """Compute the scores of rows before the link.

        Costs of rows are not recorded, which is faster than `run`. The budget is kept all the same.

        Parameters
        ----------
        X : array or frame of (n, n_features)
            Rows to predict.
        budget : float or None, default=None
            No row pays more than this.
        qid : array of (n,) or None, default=None
            Query of each row.
        unknown : {"error", "missing"}, default="error"
            A value that is no known category is an error, or counts as missing.
        known, prices : optional
            As for `run`. They change answers only where there is a budget.

        Returns
        -------
        array of (n, n_outputs)
            Scores.
        """
        plan = self.plan_for(qid)
        given = self.run_arguments(X, unknown, known, prices)
        done = plan.run(budget=budget, qid=qid, account=False, **given)
        return as_columns(done.scores)

    def labels_from(self, scores: NDArray[np.float64]) -> NDArray[Any]:
        """Turn scores into predictions: numbers, or classes of `classes_`.

        Parameters
        ----------
        scores : array of (n, n_outputs)
            Scores before the link.

        Returns
        -------
        array of (n,)
            Predictions.
        """
        return self.plan_.labels_from(scores, getattr(self, "classes_", None))

    def answers_of(self, done: Run | Stage) -> NDArray[Any]:
        """Turn what a run or a stage gave into predictions, by the amounts of rows if the plan reads them.

        Parameters
        ----------
        done : Run or Stage
            The rows.

        Returns
        -------
        array of (n,)
            Predictions.
        """
        scores = as_columns(done.scores)
        if done.amounts is None:
            return self.labels_from(scores)
        return self.plan_.labels_from(scores, getattr(self, "classes_", None), done.amounts)

    @property
    def cost_(self) -> float:
        """Cost of a row that buys every feature and term on the most expensive path of the plan."""
        return self.plan_.max_cost

    @property
    def features_(self) -> NDArray[Any]:
        """Features that some row may buy: names where there are names, else column numbers."""
        names = self.plan_.costs.names
        return self.plan_.features if names is None else np.array(names, dtype=object)[self.plan_.features]

    @property
    def guarantee_(self) -> tuple[Any, ...]:
        """Guarantees that `Frontier.best` gives for `plan_`; empty once the estimator has another plan."""
        plan, guarantees = getattr(self, "_guarantee", (None, ()))
        return guarantees if plan is getattr(self, "plan_", None) else ()

    def set_guarantee(self, guarantees: Sequence[Any]) -> None:
        """Attach guarantees to the present plan.

        Parameters
        ----------
        guarantees : sequence of Guarantee
            What is guaranteed of `plan_`.
        """
        self._guarantee = self.plan_, tuple(guarantees)

    # -- for subclasses: the plan --------------------------------------------------------------------

    def plan_classes(self) -> NDArray[Any] | None:
        """Return the classes for the plan's `classes`.

        Returns
        -------
        array of (n_classes,) or None
            None if the estimator does not classify.
        """
        return None

    def plan_for(self, qid: ArrayLike | None) -> Plan:
        """Return `plan_`, after a check that queries are given if the plan needs them.

        Parameters
        ----------
        qid : array of (n,) or None
            Query of each row.

        Returns
        -------
        Plan
            The fitted plan.

        Raises
        ------
        DataError
            If the plan compares the documents of a query, and `qid` is None.
        """
        plan = self.fitted_plan()
        if plan.listwise and qid is None:
            raise DataError("this model compares the documents of a query; give qid, the query of each row")
        return plan

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.target_tags.required = True
        return tags


def read_encoded_frames(learners: Any) -> bool:
    """Whether all of some learners can be fitted to an `EncodedFrame`, which `read_table` reads.

    Parameters
    ----------
    learners : estimator, list or tuple of estimators, or str
        A str stands for learners of this library.

    Returns
    -------
    bool
        True if each learner is a `PlanEstimator`, and so are the estimators that a meta-estimator fits.
    """
    if isinstance(learners, (list, tuple)):
        return all(map(read_encoded_frames, learners))
    if not isinstance(learners, MetaEstimatorMixin):
        return isinstance(learners, (str, PlanEstimator))
    inner = [value for value in learners.get_params(deep=False).values() if hasattr(value, "fit")]
    return isinstance(learners, PlanEstimator) and read_encoded_frames(inner)

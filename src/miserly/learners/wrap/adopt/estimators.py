"""Estimators around the plan of an adopted model. They are fitted from the start."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, Self

import numpy as np

from miserly.errors import DataError
from miserly.learners.base import PlanRegressor
from miserly.learners.base.kinds import StagedClassifier, StagedEstimator
from miserly.learners.base.outcomes import decide_as_trained
from miserly.learners.wrap.adopt.building import build_plan
from miserly.learners.wrap.adopt.model import AdoptedModel

__all__ = ["AdoptedClassifier", "AdoptedRanker", "AdoptedRegressor"]


class Adopted(StagedEstimator):
    """Base class of estimators around adopted models. The constructor makes the plan."""

    is_quick = True

    def __init__(self, model: AdoptedModel, *, costs: Any = None, n_jobs: int | None = None) -> None:
        self.model = model
        self.costs = costs
        self.n_jobs = n_jobs
        self._adopt()

    @property
    @abstractmethod
    def tasks(self) -> tuple[str, ...]:
        """The tasks of the models that the estimator accepts."""

    def _adopt(self) -> None:
        model = self.model
        if not isinstance(model, AdoptedModel) or model.task not in self.tasks:
            raise DataError(
                f"{type(self).__name__} needs an AdoptedModel of {' or '.join(self.tasks)}; "
                "use miserly.adopt for models of other libraries"
            )
        self.plan_ = build_plan(model, self.costs)
        self.n_features_in_ = model.n_features
        if model.feature_names is not None:
            self.feature_names_in_ = np.array(model.feature_names, dtype=object)
        self.categories_ = model.categories

    def fit(self, X: Any = None, y: Any = None, sample_weight: Any = None, qid: Any = None) -> Self:
        """Make the plan again from the model and the costs. Nothing is learned from rows.

        Parameters
        ----------
        X : array or frame of (n, n_features), optional
            Not used.
        y : array of (n,), optional
            Not used.
        sample_weight : array of (n,), optional
            Not used.
        qid : array of (n,), optional
            Not used.

        Returns
        -------
        self
            The fitted estimator.
        """
        self._adopt()
        return self

    def set_params(self, **params: Any) -> Self:
        """Set parameters, and make the plan again.

        Parameters
        ----------
        **params : object
            Parameters of the constructor and their new values.

        Returns
        -------
        self
            The fitted estimator.
        """
        super().set_params(**params)
        self._adopt()
        return self

    def __sklearn_clone__(self) -> Self:
        return type(self)(self.model, costs=self.costs, n_jobs=self.n_jobs)


class AdoptedClassifier(StagedClassifier, Adopted):
    """Classifier around the plan of an adopted model; `miserly.adopt` makes it.

    The constructor makes the plan, so the estimator and its clones predict without `fit`. `fit` learns
    nothing from rows. Its answers are the classes of the model that was read.

    Parameters
    ----------
    model : AdoptedModel
        The model as it was read.
    costs : Costs, array-like, mapping of name to cost or None, default=None
        Costs of the features. By default each costs 1.
    n_jobs : int or None, default=None
        Threads for large batches; None and -1 mean all.
    outcome_costs : OutcomeCosts, mapping, matrix or None, default=None
        Costs of mistakes; see `miserly.OutcomeCosts`. The answer is then the class or action of least
        expected cost. By default it is the most probable class.

    Attributes
    ----------
    plan_ : Plan
        The plan, with one node for each round of boosting.
    classes_ : array of shape (n_classes,)
        The classes, in the order of the model.
    cost_ : float
        Cost of the most expensive path.
    features_ : array
        Features that the model reads.
    categories_ : mapping of int to sequence
        Values of the columns that hold categories, by column number.
    n_features_in_ : int
        Number of columns.
    feature_names_in_ : array of shape (n_features_in_,)
        Names of the columns. It exists only if the model has names.

    Examples
    --------
    >>> from miserly.learners.wrap.adopt.model import Addend, AdoptedModel
    >>> from miserly.plan.terms import Raw
    >>> model = AdoptedModel("classes", [Raw(0)], [[Addend(0)]], [0.5], n_features=1, link="logistic")
    >>> AdoptedClassifier(model).predict([[1.0], [-1.0]]).tolist()
    [1, 0]
    """

    tasks = ("classes",)

    def __init__(
        self, model: AdoptedModel, *, costs: Any = None, n_jobs: int | None = None, outcome_costs: Any = None
    ) -> None:
        self.outcome_costs = outcome_costs
        super().__init__(model, costs=costs, n_jobs=n_jobs)

    def _adopt(self) -> None:
        super()._adopt()
        self.classes_ = np.asarray(self.model.classes)
        if self.outcome_costs is not None:
            self.plan_ = self.plan_.with_outcome_costs(self.outcome_costs)

    def fit(
        self,
        X: Any = None,
        y: Any = None,
        sample_weight: Any = None,
        qid: Any = None,
        *,
        outcome_costs: Any = None,
    ) -> Self:
        """Make the plan again from the model and the costs. Nothing is learned from rows.

        Parameters
        ----------
        X : array or frame of (n, n_features), optional
            Rows. They are used only with `outcome_costs`.
        y : array of (n,), optional
            Their classes.
        sample_weight : array of (n,), optional
            Their weights.
        qid : array of (n,), optional
            Not used.
        outcome_costs : OutcomeCosts, mapping or array, optional
            Costs of mistakes. They replace the parameter of the constructor. The plan answers with the class
            or action of least expected cost. Costs in columns that are features of the model are those of
            each row. Other costs per row are replaced by their mean in each class.

        Returns
        -------
        self
            The fitted estimator.
        """
        self._adopt()
        if outcome_costs is not None:
            if X is None or y is None:
                raise DataError("fit with outcome_costs needs rows and classes: fit(X, y, ...)")
            self.plan_ = self.plan_.with_outcome_costs(None)
            decide_as_trained(self, X, y, sample_weight, outcome_costs)
        return self

    def __sklearn_clone__(self) -> Self:
        given = {"costs": self.costs, "n_jobs": self.n_jobs, "outcome_costs": self.outcome_costs}
        return type(self)(self.model, **given)


class AdoptedRegressor(PlanRegressor, Adopted):
    """Regressor around the plan of an adopted model; `miserly.adopt` makes it.

    The constructor makes the plan, so the estimator and its clones predict without `fit`. `fit` learns
    nothing from rows. Its answers are the numbers of the model that was read.

    Parameters
    ----------
    model : AdoptedModel
        The model as it was read.
    costs : Costs, array-like, mapping of name to cost or None, default=None
        Costs of the features. By default each costs 1.
    n_jobs : int or None, default=None
        Threads for large batches; None and -1 mean all.

    Attributes
    ----------
    plan_ : Plan
        The plan, with one node for each round of boosting.
    cost_ : float
        Cost of the most expensive path.
    features_ : array
        Features that the model reads.
    categories_ : mapping of int to sequence
        Values of the columns that hold categories, by column number.
    n_features_in_ : int
        Number of columns.
    feature_names_in_ : array of shape (n_features_in_,)
        Names of the columns. It exists only if the model has names.

    Examples
    --------
    >>> from miserly.learners.wrap.adopt.model import Addend, AdoptedModel
    >>> from miserly.plan.terms import Raw
    >>> model = AdoptedModel("numbers", [Raw(0)], [[Addend(0, weight=2.0)]], [0.5], n_features=1)
    >>> AdoptedRegressor(model).predict([[1.0]]).tolist()
    [2.5]
    """

    tasks = ("numbers",)


class AdoptedRanker(Adopted):
    """Ranker around the plan of an adopted model; `miserly.adopt` makes it.

    The constructor makes the plan, so the estimator and its clones predict without `fit`. `fit` learns
    nothing from rows. Its answers are the ranking scores of the model that was read.

    Parameters
    ----------
    model : AdoptedModel
        The model as it was read.
    costs : Costs, array-like, mapping of name to cost or None, default=None
        Costs of the features. By default each costs 1.
    n_jobs : int or None, default=None
        Threads for large batches; None and -1 mean all.

    Attributes
    ----------
    plan_ : Plan
        The plan, with one node for each round of boosting.
    cost_ : float
        Cost of the most expensive path.
    features_ : array
        Features that the model reads.
    categories_ : mapping of int to sequence
        Values of the columns that hold categories, by column number.
    n_features_in_ : int
        Number of columns.
    feature_names_in_ : array of shape (n_features_in_,)
        Names of the columns. It exists only if the model has names.

    Examples
    --------
    >>> from miserly.learners.wrap.adopt.model import Addend, AdoptedModel
    >>> from miserly.plan.terms import Raw
    >>> model = AdoptedModel("ranking", [Raw(0)], [[Addend(0)]], [0.0], n_features=1)
    >>> AdoptedRanker(model).predict([[1.0], [3.0]]).tolist()
    [1.0, 3.0]
    """

    tasks = ("ranking",)

"""Learners that answer with what one model says: the last word of a call, as a plan of one node.

A learner of trees over the answers of several models has to find out what each column means. With many
classes and few rows it loses accuracy against the model whose columns it reads. These learners only fit how
certain the model is, so that plans can hand over from one model to another (`Handover`).
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from miserly.costs import Costs
from miserly.data.frames import NumericTable
from miserly.data.rows import Rows
from miserly.data.target import Target
from miserly.errors import DataError, did_you_mean
from miserly.learners.base import PlanClassifier, PlanRegressor, bind_costs
from miserly.learners.base.arguments import constraints
from miserly.learners.base.kinds import WeightedFit
from miserly.learners.common.linear_fit import evened
from miserly.learners.common.terms import LinearTerms
from miserly.losses import PointwiseLoss, Squared, log_loss
from miserly.plan import Node, Plan
from miserly.solvers.temperature import class_slope, score_line

__all__ = ["AnswerClassifier", "AnswerLearner", "AnswerRegressor"]


class AnswerLearner(WeightedFit):
    """Base of both learners. They need the columns of a call, so no other table suits them."""

    slope_: float
    intercept_: float

    is_quick = True
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = constraints("costs", model=[str])

    def __init__(self, model: str, *, costs: Any = None) -> None:
        self.model = model
        self.costs = costs

    def _fit(self, X: Any, given: Target) -> None:
        table = self.read_table(X, reset=True)
        costs = bind_costs(self.costs, table.names or self.n_features_in_)
        samples = given.checked(table.values, self, self._numeric_target).without_zero_weights()
        samples = evened(replace(samples, y=self._encode(samples.y)))
        columns = self._find(self._wanted(), table, costs)
        terms = LinearTerms.fit(replace(samples, X=np.ascontiguousarray(samples.X)), costs, columns)
        values = samples.X[:, columns].astype(np.float64)
        values = np.where(np.isnan(values), terms.center, values)
        self.slope_, self.intercept_ = self._line(values, samples)
        loss, places = self._loss, np.arange(len(columns))
        self.plan_ = Plan(
            costs=costs,
            terms=terms.plan_terms,
            nodes=[
                Node(
                    places,
                    places,
                    np.full(len(columns), self.slope_),
                    np.full(len(columns), self.intercept_),
                    inherits=False,
                )
            ],
            base=loss.initial(samples.y, samples.weight),
            link=loss.link,
            classes=self.plan_classes(),
            categories=self.categories_,
            info={"learner": type(self).__name__, "model": self.model},
        )

    def _find(self, wanted: Sequence[Sequence[str]], table: NumericTable, costs: Costs) -> NDArray[np.int64]:
        """The number of a column for each list of names, of which one must be in the table."""
        names = table.names or costs.names
        if names is None:
            raise DataError(
                f"{type(self).__name__} finds the columns of {self.model!r} by name: give a frame, or costs "
                "with names"
            )
        place = {name: column for column, name in enumerate(names)}
        found = []
        for some in wanted:
            column = next((place[name] for name in some if name in place), None)
            if column is None:
                near = did_you_mean(some[0], names)
                raise DataError(f"no column {some[0]!r} of the model {self.model!r} in the table{near}")
            if column in table.categories and self._holds_text(table.categories[column]):
                raise DataError(f"column {names[column]!r} holds text; scores of a model are numbers")
            found.append(column)
        return np.array(found, dtype=np.int64)

    @staticmethod
    def _holds_text(categories: Sequence[Any]) -> bool:
        return not all(isinstance(value, bool) for value in categories)

    _numeric_target: ClassVar[bool]

    @property
    @abstractmethod
    def _loss(self) -> PointwiseLoss:
        """The loss; its link is that of the plan."""

    @abstractmethod
    def _wanted(self) -> Sequence[Sequence[str]]:
        """The names that each column may have."""

    @abstractmethod
    def _line(self, values: NDArray[np.float64], samples: Rows) -> tuple[float, float]:
        """Slope and intercept of the score of each column."""


class AnswerClassifier(PlanClassifier, AnswerLearner):
    """Classifier that answers with the scores of one model of `ModelCalls`.

    The plan has one node. It asks the model and answers with the class of its highest score. What is learned
    is one number, the slope that turns scores into probabilities (for two classes also an intercept). The
    class probabilities say for which rows the model can be trusted: `Handover` and
    ``frontier(..., handovers=True)`` use them to hand other rows over to a more expensive model.

    Parameters
    ----------
    model : str
        Name of a model whose columns are in the table: ``model=class`` for each class (for two classes, for
        the second one), as `ModelCalls` makes them of classifiers with probabilities or decision values. If
        a callable answers with a mapping by class, they are ``model.class``.
    costs : Costs, array-like, mapping of name to cost or None, default=None
        Costs of the columns, `ModelCalls.costs_`. By default each column costs 1.
    class_weight : mapping of class to weight, "balanced" or None, default=None
        Weights of the classes, by which the weights of the rows are multiplied. "balanced" gives all classes
        the same total weight. Classes that a mapping leaves out have weight 1.

    Attributes
    ----------
    plan_ : Plan
        The plan of one node.
    slope_ : float
        What scores are multiplied by: the inverse of the temperature.
    intercept_ : float
        What is added to them; 0 for more than two classes.
    classes_ : array of shape (n_classes,)
        The classes, sorted.
    cost_ : float
        Price of the model.
    features_ : array
        The columns of the model that are read.
    n_features_in_ : int
        Number of features seen by `fit`.
    feature_names_in_ : array of shape (n_features_in_,)
        Names of the features. It exists only if `X` had names.

    Notes
    -----
    With scores x, the probabilities are softmax(a x), or for two classes sigmoid(a x + b). The log loss of
    the training rows is minimised over a (and b), with a penalty that only matters if the model is always
    right; see `miserly.solvers.temperature`. This is temperature scaling [1]_, or Platt's method [2]_ for two
    classes. With more than two classes and a > 0 the answers are exactly those of the model.

    A missing score (a call that failed) counts as the mean of its column. A row that a budget stops before
    the call is answered by the shares of the classes.

    References
    ----------
    .. [1] C. Guo, G. Pleiss, Y. Sun, K. Q. Weinberger, "On Calibration of Modern Neural Networks", ICML 2017.
    .. [2] J. Platt, "Probabilistic Outputs for Support Vector Machines", Advances in Large Margin
       Classifiers, 1999.

    Examples
    --------
    A tree answers most rows, a kernel machine the rest:

    >>> from sklearn.datasets import load_digits
    >>> from sklearn.svm import SVC
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from miserly import AnswerClassifier, Handover, ModelCalls
    >>> X, y = load_digits(return_X_y=True)
    >>> models = {"tree": DecisionTreeClassifier(min_samples_leaf=5, random_state=0), "svm": SVC()}
    >>> calls = ModelCalls(models, prices={"tree": 1, "svm": 50}, random_state=0)
    >>> table, new = calls.fit_transform(X[:1200], y[:1200]), calls.transform(X[1200:])
    >>> tree, svm = AnswerClassifier("tree"), AnswerClassifier("svm")
    >>> model = Handover(tree, svm, threshold=0.9, costs=calls.costs_).fit(table, y[:1200])
    >>> for one in (model.first_, model.then_, model):
    ...     print(round(float(one.run(new).cost.mean()), 1), round(one.score(new, y[1200:]), 3))
    1.0 0.772
    50.0 0.956
    15.4 0.894
    """

    _numeric_target = False
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **AnswerLearner._parameter_constraints,
        **constraints("class_weight"),
    }

    def __init__(self, model: str, *, costs: Any = None, class_weight: Any = None) -> None:
        super().__init__(model, costs=costs)
        self.class_weight = class_weight

    @property
    def _loss(self) -> PointwiseLoss:
        return log_loss(len(self.classes_))

    def _wanted(self) -> list[tuple[str, str]]:
        classes = self.classes_ if len(self.classes_) > 2 else self.classes_[1:]
        return [(f"{self.model}={label}", f"{self.model}.{label}") for label in classes]

    def _line(self, values: NDArray[np.float64], samples: Rows) -> tuple[float, float]:
        codes = samples.y.astype(np.int64)
        if len(self.classes_) > 2:
            return class_slope(values, codes, samples.weight), 0.0
        return score_line(values[:, 0], codes, samples.weight)


class AnswerRegressor(PlanRegressor, AnswerLearner):
    """Regressor that answers with the value of one model of `ModelCalls`.

    The plan has one node. It asks the model and answers with ``slope_ * value + intercept_``, the line of
    least squares.

    Parameters
    ----------
    model : str
        Name of a model whose column ``model.value`` is in the table, as `ModelCalls` makes it of regressors
        and of callables that answer with a number.
    costs : Costs, array-like, mapping of name to cost or None, default=None
        Costs of the columns, `ModelCalls.costs_`. By default each column costs 1.

    Attributes
    ----------
    plan_ : Plan
        The plan of one node.
    slope_ : float
        What the value is multiplied by.
    intercept_ : float
        What is added to it.
    cost_ : float
        Price of the model.
    features_ : array
        The column of the model.
    n_features_in_ : int
        Number of features seen by `fit`.
    feature_names_in_ : array of shape (n_features_in_,)
        Names of the features. It exists only if `X` had names.

    Notes
    -----
    A missing value (a call that failed) counts as the mean of the column, so that the answer is the mean of
    the targets. So it is for a row that a budget stops before the call.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import Ridge
    >>> from miserly import AnswerRegressor, ModelCalls
    >>> X = np.random.default_rng(0).normal(size=(500, 3))
    >>> y = X @ [1.0, 2.0, 3.0]
    >>> calls = ModelCalls({"expert": Ridge()}, prices={"expert": 20}, random_state=0)
    >>> table = calls.fit_transform(X, y)
    >>> model = AnswerRegressor("expert", costs=calls.costs_).fit(table, y)
    >>> model.cost_, round(model.score(calls.transform(X), y), 2)
    (20.0, 1.0)
    """

    _numeric_target = True
    _loss = Squared()

    def _wanted(self) -> list[tuple[str]]:
        return [(f"{self.model}.value",)]

    def _line(self, values: NDArray[np.float64], samples: Rows) -> tuple[float, float]:
        x, y, weight = values[:, 0], samples.y, samples.weight
        mean, target = float(np.average(x, weights=weight)), float(np.average(y, weights=weight))
        spread = float(np.average((x - mean) ** 2, weights=weight))
        slope = float(np.average((x - mean) * y, weights=weight)) / spread if spread > 0.0 else 0.0
        return slope, target - slope * mean

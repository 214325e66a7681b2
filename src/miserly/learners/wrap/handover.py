"""Handover: a cheap model for all rows, and an expensive one for those that the first is not sure of."""

from __future__ import annotations

from collections.abc import Mapping
from numbers import Real
from typing import Any, ClassVar

from numpy.typing import ArrayLike
from sklearn.base import MetaEstimatorMixin, _fit_context, clone, is_classifier
from sklearn.utils import get_tags
from sklearn.utils._param_validation import HasMethods, Interval

from miserly.costs import Costs
from miserly.data.target import check_classes, check_target
from miserly.errors import DataError
from miserly.learners.base import PlanClassifier, threads_of
from miserly.learners.base.arguments import fit_arguments
from miserly.learners.base.row_training import row_training
from miserly.plan import Plan
from miserly.plan.compose import can_hand_over, hand_over, suit_each_other

__all__ = ["Handover"]


class Handover(MetaEstimatorMixin, PlanClassifier):
    """Two classifiers in sequence: the second predicts the rows that the first is not sure of.

    Both are trained on all rows. At prediction, rows whose most probable class reaches `threshold` are
    answered by the first classifier. The other rows go on to the second. Features that the first has bought
    are free for the second.

    Parameters
    ----------
    first : classifier
        Learner of miserly with class probabilities and a chain without exits as its plan: Greedy Miser, AFR,
        SpeedBoost, a cost lasso, ... A clone is fitted.
    then : classifier
        Learner of miserly with class probabilities and any plan. A clone is fitted.
    threshold : float, default=0.8
        Rows whose top probability is at least `threshold` are answered by `first`. Above 1, all rows go on to
        `then`.
    costs : Costs, array-like, mapping of name to cost or None, default=None
        Costs that both classifiers are given. By default both must have the same costs of their own.
    budget : float or None, default=None
        Cap on what each row pays, stored in the plan. A row that it stops is answered by the last node that
        it has paid for. By default there is no cap.

    Attributes
    ----------
    plan_ : Plan
        The plan of the first classifier, a gate, and the plan of the second.
    first_ : classifier
        The first classifier, fitted.
    then_ : classifier
        The second classifier, fitted.
    classes_ : array of shape (n_classes,)
        The classes, sorted.
    cost_ : float
        Cost of a row that needs all features of both classifiers.
    features_ : array
        The features that some row may need: names if there are names, else column numbers.
    n_features_in_ : int
        Number of features seen by `fit`.
    feature_names_in_ : array of shape (n_features_in_,)
        Names of the features. It exists only if `X` had names.

    Notes
    -----
    The rule is ``max_k p_first(k | x) >= threshold``. It is a cascade, as in [1]_, of two stages. The models
    are trained independently of each other and of the threshold, so that the threshold can be changed without
    a new fit (see `of`).

    References
    ----------
    .. [1] P. Viola, M. Jones, "Rapid Object Detection using a Boosted Cascade of Simple Features", CVPR 2001.

    Examples
    --------
    One cheap feature settles most rows:

    >>> import numpy as np
    >>> from miserly import GreedyMiserClassifier, Handover
    >>> X = np.random.default_rng(0).normal(size=(2000, 2))
    >>> y = X @ [2.0, 1.0] > 0
    >>> cheap, expensive = GreedyMiserClassifier(budget=1), GreedyMiserClassifier()
    >>> model = Handover(cheap, expensive, threshold=0.9, costs=[1, 10]).fit(X, y)
    >>> for one in (model.first_, model.then_, model):
    ...     print(round(float(one.run(X).cost.mean()), 1), round(one.score(X, y), 2))
    1.0 0.87
    11.0 1.0
    5.7 0.99
    """

    first_: Any
    then_: Any

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "first": [HasMethods(["fit", "predict"])],
        "then": [HasMethods(["fit", "predict"])],
        "threshold": [Interval(Real, 0, None, closed="left")],
        "costs": [None, Costs, Mapping, "array-like"],
        "budget": [Interval(Real, 0, None, closed="left"), None],
    }

    def __init__(
        self, first: Any, then: Any, *, threshold: float = 0.8, costs: Any = None, budget: float | None = None
    ) -> None:
        self.first = first
        self.then = then
        self.threshold = threshold
        self.costs = costs
        self.budget = budget

    @classmethod
    def of(cls, first: Any, then: Any, threshold: float) -> Handover:
        """Combine two fitted classifiers without fitting them again.

        Parameters
        ----------
        first : classifier
            The first classifier, fitted.
        then : classifier
            The second classifier, fitted.
        threshold : float
            Rows whose top probability is at least `threshold` are answered by `first`.

        Returns
        -------
        Handover
            The fitted combination.
        """
        model = cls(first, then, threshold=threshold)
        model._join(first, then)
        return model

    @_fit_context(prefer_skip_nested_validation=False)
    def fit(
        self,
        X: Any,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        *,
        known: Any = None,
        prices: Any = None,
        ordered: Any = None,
        never_ordered: str = "missing",
    ) -> Handover:
        """Fit both classifiers to all rows, and combine their plans.

        Parameters
        ----------
        X : array-like or frame of shape (n, n_features)
            Training rows.
        y : array-like of shape (n,)
            Classes.
        sample_weight : array-like of shape (n,), optional
            Weight of each row. By default every row has weight 1.
        known, prices : optional
            What each row has already, and what it pays, as for `run`. The model is trained at the mean price
            of each feature over the rows.
        ordered, never_ordered : optional
            Which features were ordered for which rows, and how rows count without them: see
            `ordering_weights`. By default all were ordered.

        Returns
        -------
        self : Handover
            The fitted estimator.
        """
        own = row_training(known, prices, ordered, never_ordered)
        if own is not None:
            return own.fit(self, X, y, sample_weight)
        for name, learner in (("first", self.first), ("then", self.then)):
            if not is_classifier(learner):
                raise DataError(f"`{name}` must be a classifier, got {type(learner).__name__}")
        check_classes(check_target(y, self.read_table(X, reset=True).values, self, numeric=False))
        self._join(*(self._fit(learner, X, y, sample_weight) for learner in (self.first, self.then)))
        return self

    def _fit(self, learner: Any, X: Any, y: ArrayLike, sample_weight: ArrayLike | None) -> Any:
        fresh = clone(learner)
        if self.costs is not None:
            prices = [path for path in fresh.get_params() if path.rpartition("__")[2] == "costs"]
            if not prices:
                raise DataError(f"costs are given, but {type(fresh).__name__} has no parameter 'costs'")
            fresh.set_params(**dict.fromkeys(prices, self.costs))
        return fresh.fit(X, y, **fit_arguments(fresh, sample_weight))

    def _join(self, first: Any, then: Any) -> None:
        for learner in (first, then):
            if not isinstance(getattr(learner, "plan_", None), Plan):
                raise DataError(
                    f"both classifiers must be fitted learners of miserly, but {type(learner).__name__} has "
                    "no plan_"
                )
        if not can_hand_over(first.plan_):
            raise DataError(
                f"the plan of `first` must have class probabilities and no exits, but that of "
                f"{type(first).__name__} does not"
            )
        if not suit_each_other(first.plan_, then.plan_):
            raise DataError(
                f"the plans of {type(first).__name__} and {type(then).__name__} must have the same costs, "
                "classes and kind of score, and no budget of their own"
            )
        self.copy_columns(first)
        self.first_, self.then_ = first, then
        plan = hand_over(first.plan_, then.plan_, float(self.threshold))
        self.plan_ = plan.replace(budget=self.budget, info={**plan.info, "learner": type(self).__name__})

    @property
    def n_threads(self) -> int | None:
        return threads_of(getattr(self.then_, "n_jobs", None))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        inner = [get_tags(learner) for learner in (self.first, self.then)]
        tags.classifier_tags.multi_class = all(
            one.classifier_tags is not None and one.classifier_tags.multi_class for one in inner
        )
        tags.input_tags.allow_nan = all(one.input_tags.allow_nan for one in inner)
        return tags

"""Handover: a cheap model for all, and a dearer one for those whom the first leaves in doubt.

Both learn from all rows; the threshold says how sure the first one must be to have the last word. What the
first has bought the second need not buy again.
"""

from __future__ import annotations

from collections.abc import Mapping
from numbers import Real
from typing import Any, ClassVar

from numpy.typing import ArrayLike
from sklearn.base import MetaEstimatorMixin, _fit_context, clone, is_classifier
from sklearn.utils import get_tags
from sklearn.utils._param_validation import HasMethods, Interval
from sklearn.utils.validation import has_fit_parameter

from miserly.costs import Costs
from miserly.data.target import check_classes, check_target
from miserly.errors import DataError
from miserly.learners.base import PlanClassifier, threads_of
from miserly.plan import Plan
from miserly.plan.compose import can_hand_over, hand_over, suit_each_other

__all__ = ["Handover"]


class Handover(MetaEstimatorMixin, PlanClassifier):
    """Two classifiers in turn: `then` answers where `first` is not sure enough.

    Parameters
    ----------
    first : classifier with class probabilities and a plan that nobody leaves early
        A Greedy Miser, AFR, SpeedBoost, a cost lasso: any chain. Cloned and fitted here.
    then : classifier with class probabilities
        Any learner with a plan, early exits and trees of classifiers too.
    threshold : float, default=0.8
        Whoever's most probable class has at least this probability, as `first` sees it, is answered by
        `first`; everybody else goes on to `then`.
    costs : as for learners, optional
        Given to both, if given; else both must have the same of their own.
    budget : float, optional
        What no row ever pays more than: it is kept in the plan. Whoever it stops on the way is answered as
        far as `then` had come.

    Attributes
    ----------
    plan_ : Plan
        The plan of the first, a gate, and the plan of the second.
    first_, then_ : the fitted classifiers
    classes_ : array

    Examples
    --------
    One feature settles most cases, two settle all:

    >>> import numpy as np
    >>> from miserly.learners import GreedyMiserClassifier, Handover
    >>> X = np.random.default_rng(0).normal(size=(2000, 2))
    >>> y = X @ [2.0, 1.0] > 0
    >>> cheap, dear = GreedyMiserClassifier(budget=1), GreedyMiserClassifier()
    >>> model = Handover(cheap, dear, threshold=0.9, costs=[1, 10]).fit(X, y)
    >>> bool(model.run(X).cost.mean() < 8), bool(model.score(X, y) > 0.95), model.first_.score(X, y) < 0.9
    (True, True, True)
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
        """Two fitted classifiers as they are."""
        return cls(first, then, threshold=threshold)._joined(first, then)

    @_fit_context(prefer_skip_nested_validation=False)
    def fit(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Handover:
        """Fit both to all rows, and put their plans one after the other."""
        for learner in (self.first, self.then):
            if not is_classifier(learner):
                raise DataError(f"{type(learner).__name__} does not classify: nobody can be in doubt")
        check_classes(check_target(y, self.read_table(X, reset=True).values, self, numeric=False))
        return self._joined(*(self._fit(learner, X, y, sample_weight) for learner in (self.first, self.then)))

    def _fit(self, learner: Any, X: Any, y: ArrayLike, sample_weight: ArrayLike | None) -> Any:
        fresh = clone(learner)
        if self.costs is not None:
            prices = [path for path in fresh.get_params() if path.rpartition("__")[2] == "costs"]
            if not prices:
                raise DataError(f"{type(fresh).__name__} has no parameter 'costs', so no price reaches it")
            fresh.set_params(**dict.fromkeys(prices, self.costs))
        if sample_weight is None:
            return fresh.fit(X, y)
        if not has_fit_parameter(fresh, "sample_weight"):
            raise DataError(f"{type(fresh).__name__} takes no sample_weight")
        return fresh.fit(X, y, sample_weight=sample_weight)

    def _joined(self, first: Any, then: Any) -> Handover:
        for learner in (first, then):
            if not isinstance(getattr(learner, "plan_", None), Plan):
                raise DataError(
                    f"{type(learner).__name__} has no plan_: only fitted learners of miserly have"
                )
        if not can_hand_over(first.plan_):
            raise DataError(
                f"{type(first).__name__} cannot be the first of two: its plan has no class probabilities, or "
                "somebody leaves it before its end"
            )
        if not suit_each_other(first.plan_, then.plan_):
            raise DataError(
                f"the plans of {type(first).__name__} and {type(then).__name__} differ in their costs, "
                "classes or kind of score, or have a budget of their own"
            )
        self.copy_columns(first)
        self.first_, self.then_ = first, then
        plan = hand_over(first.plan_, then.plan_, float(self.threshold))
        self.plan_ = plan.replace(budget=self.budget, info={**plan.info, "learner": type(self).__name__})
        return self

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

"""Handover: a cheap model for all rows, and an expensive one for those that the first is not sure of."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from numbers import Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import MetaEstimatorMixin, _fit_context, clone, is_classifier
from sklearn.utils import check_random_state, get_tags
from sklearn.utils._param_validation import HasMethods, Interval

from miserly.costs import Costs
from miserly.data.frames import is_frame
from miserly.data.rows import Rows, validation_mask, without_new_categories
from miserly.data.target import Target, check_classes
from miserly.errors import DataError
from miserly.learners.base import PlanClassifier, as_columns, threads_of
from miserly.learners.base.arguments import constraints, fit_arguments
from miserly.learners.base.outcomes import outcomes_for
from miserly.learners.base.row_training import row_training
from miserly.learners.wrap.exits import dividers
from miserly.plan import Plan, links
from miserly.plan.compose import can_hand_over, hand_over, handing_over_at, suit_each_other

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
    threshold : float or None, default=0.8
        Rows whose top probability is at least `threshold` are answered by `first`. Above 1, all rows go on to
        `then`. With None, and `outcome_costs` given to `fit`, it is the one with the least mean cost of tests
        and mistakes on a validation set; both classifiers are then fitted again to all rows.
    costs : Costs, array-like, mapping of name to cost or None, default=None
        Costs that both classifiers are given. By default both must have the same costs of their own.
    budget : float or None, default=None
        Cap on what each row pays, stored in the plan. A row that it stops is answered by the last node that
        it has paid for. By default there is no cap.
    validation_fraction : float, default=0.2
        Share of the rows in the validation set, if the threshold is chosen.
    random_state : int, RandomState or None, default=None
        Random seed of the validation split.

    Attributes
    ----------
    plan_ : Plan
        The plan of the first classifier, a gate, and the plan of the second.
    first_ : classifier
        The first classifier, fitted.
    then_ : classifier
        The second classifier, fitted.
    threshold_ : float
        The threshold.
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
    threshold_: float

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "first": [HasMethods(["fit", "predict"])],
        "then": [HasMethods(["fit", "predict"])],
        "threshold": [Interval(Real, 0, None, closed="left"), None],
        "costs": [None, Costs, Mapping, "array-like"],
        "budget": [Interval(Real, 0, None, closed="left"), None],
        **constraints("validation_fraction", "random_state"),
    }

    def __init__(
        self,
        first: Any,
        then: Any,
        *,
        threshold: float | None = 0.8,
        costs: Any = None,
        budget: float | None = None,
        validation_fraction: float = 0.2,
        random_state: Any = None,
    ) -> None:
        self.first = first
        self.then = then
        self.threshold = threshold
        self.costs = costs
        self.budget = budget
        self.validation_fraction = validation_fraction
        self.random_state = random_state

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
        model._join(first, then, float(threshold))
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
        outcome_costs: Any = None,
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
        outcome_costs : OutcomeCosts, mapping or array, optional
            What mistakes cost. Both classifiers are fitted with them.

        Returns
        -------
        self : Handover
            The fitted estimator.
        """
        own = row_training(known, prices, ordered, never_ordered)
        if own is not None:
            return own.fit(self, X, y, sample_weight, outcome_costs=outcome_costs)
        for name, learner in (("first", self.first), ("then", self.then)):
            if not is_classifier(learner):
                raise DataError(f"`{name}` must be a classifier, got {type(learner).__name__}")
        values = self.read_table(X, reset=True).values
        rows = Target(y, sample_weight).checked(values, self, numeric=False)
        check_classes(rows.y)
        outcomes = outcomes_for(self, X, rows.y, outcome_costs)
        rows = replace(rows, X=X if is_frame(X) else values, outcomes=outcomes)
        threshold = self._choose(rows) if self.threshold is None else float(self.threshold)
        self._join(*self._fit_both(rows), threshold)
        return self

    def _choose(self, rows: Rows) -> float:
        """The threshold of least mean cost of tests and mistakes on a validation set."""
        if rows.outcomes is None:
            raise DataError("threshold=None needs outcome_costs, by which it is chosen")
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        mask = validation_mask(len(rows), self.validation_fraction, seed, rows.y)
        held_out = without_new_categories(rows.X, mask, None)
        self._join(*self._fit_both(rows.take(~held_out)), 1.0)
        validation = rows.take(held_out)
        values = self.read_table(validation.X, reset=False, unknown="missing").values
        return least_total_threshold(self.first_.plan_, self.plan_, values, validation)

    def _fit_both(self, rows: Rows) -> tuple[Any, Any]:
        return self._fit(self.first, rows), self._fit(self.then, rows)

    def _fit(self, learner: Any, rows: Rows) -> Any:
        fresh = clone(learner)
        if self.costs is not None:
            prices = [path for path in fresh.get_params() if path.rpartition("__")[2] == "costs"]
            if not prices:
                raise DataError(f"costs are given, but {type(fresh).__name__} has no parameter 'costs'")
            fresh.set_params(**dict.fromkeys(prices, self.costs))
        return fresh.fit(rows.X, rows.y, **fit_arguments(fresh, rows.weight, None, rows.outcomes))

    def _join(self, first: Any, then: Any, threshold: float) -> None:
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
        self.first_, self.then_, self.threshold_ = first, then, threshold
        plan = hand_over(first.plan_, then.plan_, threshold)
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


def least_total_threshold(first: Plan, both: Plan, X: NDArray[Any], rows: Rows) -> float:
    """The threshold of a handover with the least mean cost of tests and mistakes on encoded rows.

    Candidates lie half way between two confidences; at the first one no row is handed over, at the last one
    all are.
    """

    def totals(plan: Plan) -> NDArray[np.float64]:
        run = plan.run(X, encoded=True)
        answers = plan.labels_from(as_columns(run.scores), amounts=run.amounts)
        return run.cost + rows.outcomes.cost_of(rows.y, answers)

    alone, handed = totals(first), totals(handing_over_at(both, 2.0))
    scores = as_columns(first.run(X, account=False, encoded=True).scores)
    sure = links.confidence(first.link, scores)
    found = np.array([0.0, *dividers(sure), 2.0])
    means = [np.average(np.where(sure >= level, alone, handed), weights=rows.weight) for level in found]
    return float(found[np.argmin(means)])

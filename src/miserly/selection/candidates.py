"""The candidate learners of a search: each learner with one hyperparameter that trades cost for quality."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.utils import get_tags
from sklearn.utils.multiclass import type_of_target
from sklearn.utils.validation import has_fit_parameter

from miserly import learners as every
from miserly.costs import Costs
from miserly.data.frames import first_text
from miserly.data.rows import Rows
from miserly.data.target import check_classes
from miserly.data.tasks import Task
from miserly.errors import DataError
from miserly.learners.base.arguments import fit_arguments
from miserly.metrics import Metric
from miserly.selection.hyperparameters import (
    Hyperparameter,
    View,
    budget_hyperparameter,
    cost_range,
    hyperparameters_of,
    parameter_paths,
    views_of,
)
from miserly.selection.requests import SearchBudgets

__all__ = ["CandidateLearner", "candidate_learners", "check_labels", "check_learner",
           "pool_for", "read_pool", "takes_text"]  # fmt: skip

_N_START = 2  # values of a hyperparameter that are tried before any is chosen
_NO_BUDGETS = SearchBudgets()


@dataclass(frozen=True, eq=False)
class CandidateLearner:
    """A learner with one of its hyperparameters: how to fit it, and which views of a fit to evaluate.

    Attributes
    ----------
    name : str
    estimator : estimator
        The learner as it was given.
    hyperparameter : Hyperparameter, optional
        None for the constant answer, and for learners without a parameter that trades cost for quality. They
        are fitted once.
    costs : Costs
    seed : int
    views : tuple of View
    n_start : int
        How many values are tried before the search chooses further ones.
    fixed : mapping
        Parameters with the values that the hyperparameter or the views need.
    budgets : tuple of float
        Budgets of the search at which it is fitted before any other value.
    searches : bool
        Whether each fit at a budget is a search of its own, and so takes much longer than others.
    is_quick : bool
        Whether a fit grows a single tree, so that fits at all budgets take hardly any time.
    cautious : bool
        Whether the middle of the range is tried first, because no model beyond the largest budget is needed.
    is_constant : bool
        Whether it is the answer for which nothing is paid: from free features, or a constant.
    """

    name: str
    estimator: Any
    hyperparameter: Hyperparameter | None
    costs: Costs
    seed: int
    views: tuple[View, ...] = ({},)
    n_start: int = _N_START
    fixed: Mapping[str, Any] = field(default_factory=dict)
    budgets: tuple[float, ...] = ()
    searches: bool = False
    is_quick: bool = False
    cautious: bool = False
    is_constant: bool = False

    def ready(self, value: float) -> Any:
        """A clone that is ready to be fitted, with the hyperparameter at `value`."""
        paths = parameter_paths(self.estimator)
        params = {paths["costs"]: self.costs, **self.fixed}
        if self.hyperparameter is not None:
            params[self.hyperparameter.path] = value
        for path, given in self.estimator.get_params(deep=True).items():
            if path.rpartition("__")[2] == "random_state" and given is None:
                params[path] = self.seed
        return clone(self.estimator).set_params(**params)

    def fit(self, rows: Rows, value: float) -> Any:
        """A fitted clone, with the hyperparameter at `value`."""
        model = self.ready(value)
        given = fit_arguments(model, rows.weight, rows.qid, rows.outcomes)
        own = rows.own_costs if has_fit_parameter(model, "known") else {}
        return model.fit(rows.X, rows.y, **given, **own)

    def start(self) -> list[float]:
        """The values to try first; none if it is fitted at budgets of the search instead."""
        return [] if self.budgets else self.first_values()

    def first_values(self) -> list[float]:
        """The values to try first, whether the search has budgets or not."""
        if self.hyperparameter is None:
            return [np.nan]
        values = self.hyperparameter.first_values(self.n_start)
        return [*values[1:2], *values[:1], *values[2:]] if self.cautious else values

    def params(self, value: float, view: View) -> dict[str, Any]:
        """The parameters that distinguish this model from others of its learner."""
        chosen = {} if self.hyperparameter is None else {self.hyperparameter.name: value}
        fixed = {path: given for path, given in self.fixed.items() if path not in view}
        return {**chosen, **fixed, **view}


def candidate_learners(
    pool: Sequence[Any],
    task: Task,
    rows: Rows,
    costs: Costs,
    seed: int,
    budgets: SearchBudgets = _NO_BUDGETS,
) -> list[CandidateLearner]:
    """The constant answer, then every learner with each of its hyperparameters.

    If the search has budgets, a learner whose hyperparameter is no budget is also taken with its budget.
    """
    for learner in pool:
        check_learner(learner, task)
        fit_arguments(learner, rows.weight)  # an error if it takes no weights
    found = [_constant(task, costs, seed)]
    if budgets.largest < np.min(costs.marginals(np.zeros(len(costs), dtype=np.bool_)) + costs.evaluation):
        return found  # no feature fits
    for name, learner in zip(_names(pool), pool, strict=True):
        found += _of_learner(name, learner, task, rows, costs, seed, budgets)
    return found


def _of_learner(
    name: str, learner: Any, task: Task, rows: Rows, costs: Costs, seed: int, budgets: SearchBudgets
) -> list[CandidateLearner]:
    """A learner with each of its hyperparameters, and with its budget if the search has budgets."""
    views = views_of(learner, costs, budgets)
    everything = cost_range(costs, learner, _NO_BUDGETS)[1]
    wanted = budgets.to_fit_at(everything)
    is_quick = getattr(learner, "is_quick", False)
    cautious = budgets.largest < everything
    one = CandidateLearner(name, learner, None, costs, seed, views, is_quick=is_quick, cautious=cautious)
    alone = "up_to_cost" in views[0]  # an anytime model is a whole curve
    found = []
    parameters = hyperparameters_of(learner, rows, costs, budgets)
    if not parameters:
        return [replace(one, fixed=_fixed(learner, views, None, task))]
    for parameter in parameters:
        own = (wanted[:1] if alone else wanted) if parameter.is_budget else ()
        fixed = _fixed(learner, views, parameter, task)
        n_start = 1 if alone else _N_START
        found.append(replace(one, hyperparameter=parameter, n_start=n_start, fixed=fixed, budgets=own))
    own_budget = budget_hyperparameter(learner, costs, budgets)
    # a budget that pays for all features is no limit: the other hyperparameter covers this case
    wanted = tuple(budget for budget in wanted if budget < everything)
    if wanted and own_budget is not None and not any(other.budgets for other in found):
        fixed = _fixed(learner, views, own_budget, task)
        keeps = "lookahead" in parameter_paths(learner) or getattr(learner, "keeps_budget", False)
        found.append(replace(one, hyperparameter=own_budget, fixed=fixed, budgets=wanted, searches=not keeps))
    return found


def _fixed(
    learner: Any, views: Sequence[View], parameter: Hyperparameter | None, task: Task
) -> dict[str, Any]:
    """Parameters that a hyperparameter, or the views of a fit, need."""
    fixed: dict[str, Any] = {}
    if "threshold" in views[0]:
        fixed["threshold"] = views[0]["threshold"]  # all others are views of the same fit
    lookahead = parameter_paths(learner).get("lookahead")
    has_budget = parameter is not None and parameter.is_budget
    if has_budget and lookahead is not None and task != "ranking":
        fixed[lookahead] = True
    return fixed


def _constant(task: Task, costs: Costs, seed: int) -> CandidateLearner:
    """The best answer from free features, and the best constant answer, which is better if they are noise."""
    misers = {"ranking": every.GreedyMiserRanker, "numbers": every.GreedyMiserRegressor}
    miser = misers.get(task, every.GreedyMiserClassifier)
    is_free = costs.marginals(np.zeros(len(costs), dtype=np.bool_)) + costs.evaluation == 0.0
    views: tuple[View, ...] = ({}, {"rounds": 0}) if is_free.any() else ({},)
    return CandidateLearner("nothing paid", miser(budget=0.0), None, costs, seed, views, is_constant=True)


def _names(pool: Sequence[Any]) -> list[str]:
    """Class names; where several learners are of one class, with the parameters that differ.

    Costs are left out: the search gives its own to all learners.
    """
    classes = [type(learner).__name__ for learner in pool]
    alike = Counter(classes)
    names = [
        name if alike[name] == 1 else " ".join(repr(_without_costs(learner)).split()).removesuffix("()")
        for name, learner in zip(classes, pool, strict=True)
    ]
    seen: Counter[str] = Counter()
    for place, name in enumerate(names):
        seen[name] += 1
        names[place] = name if seen[name] == 1 else f"{name} ({seen[name]})"
    return names


def _without_costs(learner: Any) -> Any:
    paths = [path for path in learner.get_params(deep=True) if path.rpartition("__")[2] == "costs"]
    return clone(learner).set_params(**dict.fromkeys(paths))


# -- the learners of "auto" ----------------------------------------------------------------------------------


def read_pool(
    learners: Any, task: Task, X: Any, y: NDArray[Any], metric: Metric | None = None
) -> tuple[list[Any], dict[str, str]]:
    """The learners of the search and, with "auto", the reasons why others are left out."""
    if not isinstance(learners, str):
        pool = [learners] if hasattr(learners, "get_params") else list(learners)
        if not pool:
            raise DataError('an empty list of learners; give "auto" or some estimators')
        return _asked_for(pool, metric), {}
    if learners != "auto":
        raise DataError(f'learners are "auto" or a list of estimators, not {learners!r}')
    pool, text = _asked_for(pool_for(task, y), metric), first_text(X)
    if text is None:
        return pool, {}
    able = [learner for learner in pool if takes_text(learner)]
    names = _class_names(pool) - _class_names(able)
    return able, dict.fromkeys(sorted(names), f"needs numbers, and column {text!r} holds text")


def _asked_for(pool: Sequence[Any], metric: Metric | None) -> list[Any]:
    """Learners. Those with a parameter `metric` get the metric of the search, unless it is one of costs."""
    if metric is None or metric.rows is not None or metric.name.endswith("_cost"):
        return list(pool)
    return [
        clone(learner).set_params(metric=metric.name)
        if getattr(learner, "chooses_by_metric", False) and learner.metric is None
        else learner
        for learner in pool
    ]


def pool_for(task: Task, y: NDArray[Any]) -> list[Any]:
    """The learners of "auto" for labels `y`, roughly in the order of their fit times."""
    if task == "ranking":
        return [every.GreedyMiserRanker(), every.ASTCRegressor(), every.CSTCRegressor()]
    if task == "numbers":
        return [
            every.CostLassoRegressor(),
            every.GreedyMiserRegressor(),
            every.BudgetedSelectorRegressor(),
            every.ASTCRegressor(),
            every.ASTCRegressor(terms="boosted"),
            every.CSTCRegressor(),
        ]
    pool = [
        every.GreedyMiserClassifier(),
        every.CostLassoClassifier(),
        every.EarlyExit(every.GreedyMiserClassifier()),
        every.BudgetedSelectorClassifier(),
        every.AcquirerClassifier(),
        every.PurchaseTreeClassifier(),
        every.SpeedBoostClassifier(),
        every.ASTCClassifier(),
        every.ASTCClassifier(terms="boosted"),
        every.AdaBoostBTClassifier(base="tree"),
        every.SoftCascadeClassifier(),
        every.CSCCClassifier(),
        every.CSTCClassifier(),
        every.CronusClassifier(),
        every.BudgetedTreeClassifier(),
        every.AFRClassifier(),
    ]
    return pool if len(np.unique(y)) <= 2 else [learner for learner in pool if _takes_several(learner)]


def check_labels(y: NDArray[Any], task: Task) -> None:
    """Refuse labels that do not suit the task."""
    if task == "ranking":
        return
    if task == "classes" and y.dtype == object:
        check_classes(y)
    kind = type_of_target(y)
    if kind not in ("binary", "multiclass") and not (kind == "continuous" and task == "numbers"):
        raise DataError(f"labels of the kind {kind!r}: give classes or numbers, one per row")


def check_learner(learner: Any, task: Task) -> None:
    """Refuse objects that are not estimators, and estimators for another task."""
    if not hasattr(learner, "get_params"):
        raise DataError(f'learners are "auto" or a list of estimators, not {learner!r}')
    inner = getattr(learner, "estimator", learner)
    if is_classifier(inner) != (task == "classes") or (task == "numbers" and not is_regressor(inner)):
        name = type(learner).__name__
        if task == "ranking":
            raise DataError(f"{name} is not for ranking")
        raise DataError(
            f"{name} is not for labels that are {task}; set task= if the labels are something else"
        )


def takes_text(learner: Any) -> bool:
    """Whether a learner splits by category; linear ones need numbers."""
    given = learner.get_params(deep=True)
    return given.get("terms") == "boosted" or any(path.endswith("categorical_features") for path in given)


def _takes_several(learner: Any) -> bool:
    return bool(get_tags(getattr(learner, "estimator", learner)).classifier_tags.multi_class)


def _class_names(pool: Sequence[Any]) -> set[str]:
    return {type(learner).__name__ for learner in pool}

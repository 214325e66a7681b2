"""Every learner, found by looking, made small, on every task it can do: what the contract is run over.

A learner written later is covered the day it is listed by `all_learners`. Its parameters are recognised by
the names that all learners share, its options (`loss`, `rule`, ...) by the parameter constraints of
scikit-learn. Only what cannot be seen from outside is written down here: which options suit which task.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache, cached_property
from inspect import Parameter, signature
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import is_classifier, is_regressor
from sklearn.utils import get_tags
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import has_fit_parameter

from miserly.learners import GreedyMiserClassifier, GreedyMiserRanker, GreedyMiserRegressor, all_learners
from miserly.plan.engine.batch import Run

from .tasks import TASKS, Rows, Task

__all__ = ["Case", "cases_of", "every_case", "give", "make", "takes"]

# Sizes that keep a fit to milliseconds, for whichever learner has the parameter.
SMALL = {
    "n_rounds": 8,
    "n_terms": 12,
    "n_vectors": 12,
    "max_iter": 12,
    "n_blocks": 4,
    "n_dimensions": 2,
    "n_trees": 3,
    "n_members": 1,
    "n_stages": 4,
    "max_sweeps": 2,
    "max_depth": 3,
    "min_samples_leaf": 5,
    "every": 2,
    "k": 3,
    "random_state": 0,
    "n_jobs": 1,
}

# A tree whose nodes are models: seven of them, which take as long as hundreds of ordinary trees.
SMALL_TREE_OF_MODELS = {"max_depth": 2}

# Who has to be inside a learner that wraps another one.
INNER = {
    "two classes": GreedyMiserClassifier,
    "three classes": GreedyMiserClassifier,
    "numbers": GreedyMiserRegressor,
    "documents": GreedyMiserRanker,
}

# Options that suit only some tasks; all others must work for every task of the learner.
ONLY_FOR = {
    ("loss", "logistic"): {"two classes"},
    ("loss", "squared_hinge"): {"two classes"},
    ("rule", "confidence"): {"two classes", "three classes"},
    ("rule", "score"): {"two classes", "numbers", "documents"},
    ("rule", "proximity"): {"documents"},
    ("rule", "rank"): {"documents"},
    ("rule", "capacity"): {"documents"},
    ("rule", "lossless"): {"two classes", "three classes", "documents"},
}


@dataclass(frozen=True, eq=False)
class Case:
    """One learner with some parameters on one task."""

    learner: type[Any]
    task: Task
    variant: str
    parameters: dict[str, Any] = field(default_factory=dict)
    _fitted_to: dict[str, Any] = field(default_factory=dict, init=False)

    def __str__(self) -> str:
        return f"{self.learner.__name__}, {self.task.name}, {self.variant}"

    def make(self, **changes: Any) -> Any:
        """The learner, not fitted; `changes` are given to learners that have a parameter of that name."""
        model = make(self.learner, self.task.name)
        small = {**SMALL, **SMALL_TREE_OF_MODELS} if hasattr(model, "max_sweeps") else SMALL
        return give(model, {**small, **self.parameters, **changes})

    def fit(self, model: Any, rows: Rows | None = None, X: Any = None, sample_weight: Any = None) -> Any:
        """Fit to the rows to learn from, or others; to a frame `X` of them if one is given."""
        rows = self.task.learn if rows is None else rows
        given = {} if sample_weight is None else {"sample_weight": sample_weight}
        if rows.qid is not None and has_fit_parameter(model, "qid"):
            given["qid"] = rows.qid
        return model.fit(rows.X if X is None else X, rows.y, **given)

    @cached_property
    def fitted(self) -> Any:
        """The fitted learner; tests only look at it."""
        return self.fit(self.make())

    def fitted_to(self, kind: str) -> Any:
        """The learner fitted to the rows as a frame, "pandas" or "polars"; tests only look at it."""
        if kind not in self._fitted_to:
            self._fitted_to[kind] = self.fit(self.make(), X=getattr(self.task, kind)(self.task.learn.X))
        return self._fitted_to[kind]

    @cached_property
    def weights(self) -> NDArray[np.float64]:
        """Weights of the rows to learn from, all different."""
        return np.random.default_rng(5).gamma(2.0, size=len(self.task.learn))

    @cached_property
    def fitted_with_weights(self) -> Any:
        """The learner fitted with `weights`; tests only look at it."""
        return self.fit(self.make(), sample_weight=self.weights)

    def run(self, rows: Rows, budget: float | None = None, count: str = "path", X: Any = None) -> Run:
        return self.fitted.run(rows.X if X is None else X, budget=budget, count=count, qid=rows.qid)

    def predict(self, model: Any, rows: Rows, X: Any = None, **given: Any) -> NDArray[Any]:
        """Answers, with the queries of the rows if the learner asks for them."""
        if rows.qid is not None and "qid" in signature(model.predict).parameters:
            given["qid"] = rows.qid
        return model.predict(rows.X if X is None else X, **given)

    @cached_property
    def budgets(self) -> dict[str, float | None]:
        """Budgets worth trying: none, nothing, some, and exactly what some row pays."""
        cost = np.sort(self.run(self.task.fresh).cost)
        return {
            "no budget": None,
            "nothing": 0.0,
            "a little": 0.15 * self.fitted.cost_,
            "half": 0.5 * self.fitted.cost_,
            "the median bill": float(cost[len(cost) // 2]),
        }

    @property
    def fit_parameters(self) -> set[str]:
        """What `fit` takes."""
        return set(signature(self.learner.fit).parameters)

    @cached_property
    def has(self) -> set[str]:
        """The names of all parameters, those of an inner estimator too."""
        return {key.rpartition("__")[2] for key in self.make().get_params(deep=True)}


# -- making --------------------------------------------------------------------------------------------------


def make(learner: type[Any], task: str) -> Any:
    """An instance with defaults; a learner that needs an estimator, or two, gets them for the task."""
    required = [
        name
        for name, parameter in signature(learner).parameters.items()
        if parameter.default is Parameter.empty and parameter.kind is not Parameter.VAR_KEYWORD
    ]
    if not required:
        return learner()
    if required == ["model"]:  # the name of a model whose answers are columns of the table
        return learner("expert")
    assert required in (["estimator"], ["first", "then"]), (
        f"{learner.__name__} needs {required}: give them defaults, or say here how to make one"
    )
    return learner(*(INNER[task]() for _ in required))


def give(model: Any, parameters: dict[str, Any]) -> Any:
    """Set parameters wherever the model, or an estimator inside, has one of that name."""
    keys = model.get_params(deep=True)
    changes = {key: parameters[name] for key in keys if (name := key.rpartition("__")[2]) in parameters}
    return model.set_params(**changes)


def takes(model: Any, task: str) -> bool:
    """Whether a model does a task, as its tags say."""
    if is_classifier(model):
        multi = get_tags(model).classifier_tags.multi_class
        return task == "two classes" or (task == "three classes" and multi)
    if is_regressor(model):
        return task == "numbers"
    return task == "documents" and has_fit_parameter(model, "qid")


# -- finding -------------------------------------------------------------------------------------------------


@cache
def every_case() -> tuple[Case, ...]:
    """All cases of all learners: the same ones for every file of tests, so that a learner is fitted once."""
    return tuple(case for learner in all_learners() for case in cases_of(learner))


def cases_of(learner: type[Any]) -> list[Case]:
    """A learner on each of its tasks: as it comes, pressed by a tradeoff, by a budget, with each option."""
    found: list[Case] = []
    for name, task in TASKS.items():
        model = make(learner, name)
        if takes(model, name):
            fitting = task() if get_tags(model).input_tags.allow_nan else task().without_missing()
            found += _cases(learner, fitting, model)
    assert found, f"{learner.__name__} is neither a classifier nor a regressor, and its fit takes no qid"
    return found


def _cases(learner: type[Any], task: Task, model: Any) -> list[Case]:
    choices = {name: _suiting(name, options, task.name) for name, options in _options(model).items()}
    base = {
        name: options[0]
        for name, options in choices.items()
        if options and getattr(model, name) not in options
    }
    priced = {**base, "costs": task.costs}
    variants = {
        "unit costs": base,
        "prices": priced,
        "tradeoff": {**priced, "tradeoff": 0.002},
        "budget": {**priced, "budget": _tight(model, task)},
        "early stopping": {**priced, "early_stopping": 3, "tradeoff": 0.0005},
        "saving": {**priced, "saving": 0.03},
        "anytime=True": {**priced, "anytime": True},
        "anytime=True, unit costs": {**base, "anytime": True},
    }
    variants |= {f"{name}=auto": {**priced, name: "auto"} for name in _numbers_or_auto(model)}
    for name, options in choices.items():
        for option in options:
            if option != base.get(name, getattr(model, name)):
                variants[f"{name}={option}"] = {**priced, name: option, "tradeoff": 0.0005}
    has = Case(learner, task, "").has
    if "tradeoff" in has:
        del variants["prices"]  # which then come with a tradeoff
    return [
        Case(learner, task, variant, parameters)
        for variant, parameters in variants.items()
        if variant in ("unit costs", "prices") or variant.partition("=")[0].replace(" ", "_") in has
    ]


def _tight(model: Any, task: Task) -> float:
    """A budget that leaves something out: features, or where a kernel reads all of them, evaluations."""
    if hasattr(model, "n_vectors"):
        return task.costs.total + 6.5 * task.costs.evaluation
    return 0.85 * task.costs.total


def _options(model: Any) -> dict[str, list[str]]:
    """The parameters with a list of options, and the options."""
    found = {}
    for name, constraints in getattr(model, "_parameter_constraints", {}).items():
        for constraint in constraints:
            if isinstance(constraint, StrOptions) and len(constraint.options) > 1:
                found[name] = sorted(constraint.options)
    return found


def _numbers_or_auto(model: Any) -> list[str]:
    """The parameters that are numbers by default, and may be "auto"."""
    auto = StrOptions({"auto"})
    return [
        name
        for name, constraints in getattr(model, "_parameter_constraints", {}).items()
        if getattr(model, name) != "auto"
        and any(isinstance(one, StrOptions) and one.options == auto.options for one in constraints)
        and any(isinstance(one, Interval) for one in constraints)
    ]


def _suiting(name: str, options: list[str], task: str) -> list[str]:
    return [option for option in options if task in ONLY_FOR.get((name, option), TASKS)]

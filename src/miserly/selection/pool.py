"""The learners of "auto": which suit the labels and the columns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import is_classifier, is_regressor
from sklearn.utils import get_tags
from sklearn.utils.multiclass import type_of_target

from miserly import learners as every
from miserly.data.frames import first_text
from miserly.data.target import check_classes
from miserly.data.tasks import Task
from miserly.errors import DataError

__all__ = ["check_labels", "check_learner", "pool_for", "read_pool", "takes_text"]


def read_pool(learners: Any, task: Task, X: Any, y: NDArray[Any]) -> tuple[list[Any], dict[str, str]]:
    """The learners that take part and, of "auto", why others do not."""
    if not isinstance(learners, str):
        pool = [learners] if hasattr(learners, "get_params") else list(learners)
        if not pool:
            raise DataError('an empty list of learners; give "auto" or some estimators')
        return pool, {}
    if learners != "auto":
        raise DataError(f'learners are "auto" or a list of estimators, not {learners!r}')
    pool, text = pool_for(task, y), first_text(X)
    if text is None:
        return pool, {}
    able = [learner for learner in pool if takes_text(learner)]
    names = _class_names(pool) - _class_names(able)
    return able, dict.fromkeys(sorted(names), f"needs numbers, and column {text!r} holds text")


def pool_for(task: Task, y: NDArray[Any]) -> list[Any]:
    """The learners of "auto" for labels `y`, roughly in the order of their fit times."""
    if task == "ranking":
        return [every.GreedyMiserRanker(), every.ASTCRegressor(), every.CSTCRegressor()]
    if task == "numbers":
        return [
            every.CostLassoRegressor(),
            every.GreedyMiserRegressor(),
            every.ASTCRegressor(),
            every.ASTCRegressor(terms="boosted"),
            every.CSTCRegressor(),
        ]
    pool = [
        every.GreedyMiserClassifier(),
        every.CostLassoClassifier(),
        every.EarlyExit(every.GreedyMiserClassifier()),
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
    """Refuse what is no estimator, or one for another task."""
    if not hasattr(learner, "get_params"):
        raise DataError(f'learners are "auto" or a list of estimators, not {learner!r}')
    inner = getattr(learner, "estimator", learner)
    if is_classifier(inner) != (task == "classes") or (task == "numbers" and not is_regressor(inner)):
        name = type(learner).__name__
        if task == "ranking":
            raise DataError(f"{name} is not for ranking")
        raise DataError(f"{name} is not for labels that are {task}; task= says what labels are")


def takes_text(learner: Any) -> bool:
    """Whether a learner splits by category; linear ones need numbers."""
    given = learner.get_params(deep=True)
    return given.get("terms") == "boosted" or any(path.endswith("categorical_features") for path in given)


def _takes_several(learner: Any) -> bool:
    return bool(get_tags(getattr(learner, "estimator", learner)).classifier_tags.multi_class)


def _class_names(pool: Sequence[Any]) -> set[str]:
    return {type(learner).__name__ for learner in pool}

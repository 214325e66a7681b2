"""`adopt`: a plan from a fitted model of another library."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from numpy.typing import ArrayLike

from miserly.errors import DataError
from miserly.learners.wrap.adopt.estimators import AdoptedClassifier, AdoptedRanker, AdoptedRegressor
from miserly.learners.wrap.adopt.files import ModelFile
from miserly.learners.wrap.adopt.registry import read_model
from miserly.utils.checks import shown

__all__ = ["adopt"]

_ESTIMATORS: dict[str, Any] = {
    "classes": AdoptedClassifier,
    "numbers": AdoptedRegressor,
    "ranking": AdoptedRanker,
}


def adopt(
    model: Any,
    costs: Any = None,
    feature_names: Sequence[str] | None = None,
    *,
    classes: ArrayLike | None = None,
    categories: Mapping[Any, Sequence[Any]] | None = None,
    iterations: int | tuple[int, int | None] | None = None,
    n_jobs: int | None = None,
    outcome_costs: Any = None,
) -> AdoptedClassifier | AdoptedRegressor | AdoptedRanker:
    """Turn a fitted model of another library into a plan, with the same answers.

    Parameters
    ----------
    model : estimator, booster, str or Path
        A fitted model, or the path of a model file. The guide lists what can be read. Files are read without
        the library that wrote them, and nothing in them is executed.
    costs : Costs, array, mapping of name to cost or None, default=None
        Costs of the columns of the model. By default each costs 1.
    feature_names : sequence of str, optional
        Names of the columns, in their order. By default those of the model.
    classes : array, optional
        Class labels, in the order of the model. By default its own labels, or 0, 1, ... if it has none.
    categories : mapping of column name or number to sequence, optional
        Categories of the categorical columns, for a model that holds only their codes 0, 1, ....
    iterations : int or tuple of int, optional
        Number of boosting rounds to use, or a pair (first, stop) as in ``range(first, stop)``. By default the
        rounds that the library would use (up to the best iteration after early stopping).
    n_jobs : int or None, default=None
        Threads for large batches; None and -1 mean all.
    outcome_costs : OutcomeCosts, mapping or matrix, optional
        Costs of mistakes, for a classifier; see `miserly.OutcomeCosts`. The answer is then the class or
        action of least expected cost. Nothing is trained, and the probabilities do not change. Costs in
        columns need typical amounts, or rows: see `fit` of the result.

    Returns
    -------
    AdoptedClassifier, AdoptedRegressor or AdoptedRanker
        A fitted estimator; its `plan_` can be saved, served and run on demand.

    Raises
    ------
    DataError
        If the model cannot be read, or a plan cannot give the same answers.
    CostError
        If the costs do not match the columns.

    Examples
    --------
    >>> from miserly.learners.wrap.adopt import Addend, AdoptedModel
    >>> from miserly.plan.terms import Raw
    >>> line = AdoptedModel("numbers", [Raw(0)], [[Addend(0, weight=2.0)]], [1.0], n_features=1)
    >>> model = adopt(line, costs={"age": 3.0}, feature_names=["age"])
    >>> model.plan_.predict([[5.0]]).tolist(), model.cost_
    ([11.0], 3.0)
    """
    source = ModelFile.open(model) if isinstance(model, (str, Path)) else model
    read = read_model(source, _rounds(iterations), categories).named(feature_names, classes)
    more: dict[str, Any] = {}
    if outcome_costs is not None:
        if read.task != "classes":
            raise DataError(f"outcome_costs are for classifiers, and this is a model for {read.task}")
        more["outcome_costs"] = outcome_costs
    return _ESTIMATORS[read.task](read, costs=costs, n_jobs=n_jobs, **more)


def _rounds(iterations: Any) -> tuple[int, int | None] | None:
    """The rounds to use, as in ``range(first, stop)``."""
    if iterations is None:
        return None
    given = iterations if isinstance(iterations, tuple) else (0, iterations)
    if len(given) != 2 or not _is_count(given[0]) or not (given[1] is None or _is_count(given[1])):
        raise DataError(
            f"iterations must be a number of rounds or a pair (first, stop), not {shown(iterations)}"
        )
    first, stop = int(given[0]), None if given[1] is None else int(given[1])
    if stop is not None and stop <= first:
        raise DataError(f"iterations {shown(iterations)} select no round")
    return first, stop


def _is_count(value: Any) -> bool:
    return hasattr(value, "__index__") and not isinstance(value, bool) and value.__index__() >= 0

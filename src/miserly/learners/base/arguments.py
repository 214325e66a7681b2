"""What all learners treat alike: constraints of parameters, costs, threads, classes, columns and scores."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from numbers import Integral, Real
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import has_fit_parameter

from miserly.costs import Costs
from miserly.data.frames import NumericTable
from miserly.data.target import check_classes
from miserly.errors import DataError, did_you_mean
from miserly.grow.binning import MAX_BINS
from miserly.metrics import Metric

__all__ = [
    "NOT_NEGATIVE",
    "ONE_OR_MORE",
    "POSITIVE",
    "as_columns",
    "bind_costs",
    "categorical_columns",
    "class_codes",
    "class_signs",
    "class_weight_of",
    "constraints",
    "decision_of",
    "encode_classes",
    "fit_arguments",
    "refuse_text",
    "threads_of",
]


ONE_OR_MORE = Interval(Integral, 1, None, closed="left")
POSITIVE = Interval(Real, 0, None, closed="neither")
NOT_NEGATIVE = Interval(Real, 0, None, closed="left")
BUDGET = [Interval(Real, 0, None, closed="both"), None]

SHARED: dict[str, list[Any]] = {
    "costs": [None, Costs, Mapping, "array-like"],
    "tradeoff": [NOT_NEGATIVE],
    "budget": BUDGET,
    "mean_budget": BUDGET,
    "terms": [StrOptions({"linear", "boosted"})],
    "n_terms": [ONE_OR_MORE],
    "term_tradeoff": [NOT_NEGATIVE, StrOptions({"falling"}), None],
    "step": [POSITIVE],
    "l1_regularization": [NOT_NEGATIVE],
    "l2_regularization": [POSITIVE],
    "n_rounds": [ONE_OR_MORE],
    "min_samples_leaf": [ONE_OR_MORE],
    "max_bins": [Interval(Integral, 2, MAX_BINS, closed="both")],
    "categorical_features": [StrOptions({"from_dtype"}), "array-like", None],
    "optimise": ["boolean"],
    "early_stopping": ["boolean", ONE_OR_MORE],
    "validation_fraction": [Interval(Real, 0, 1, closed="neither")],
    "metric": [str, Metric, None],
    "class_weight": [Mapping, StrOptions({"balanced"}), None],
    "random_state": ["random_state"],
    "n_jobs": [ONE_OR_MORE, Interval(Integral, None, -1, closed="right"), None],
    "verbose": ["verbose"],
}


def bind_costs(costs: Any, columns: int | Sequence[str]) -> Costs:
    """Bring the costs that a learner was given into the order of the columns.

    Parameters
    ----------
    costs : Costs, array, mapping or None
        None means a cost of 1 for each feature.
    columns : int or sequence of str
        Number of columns, or their names.

    Returns
    -------
    Costs
        Costs of the columns, in their order.

    Examples
    --------
    >>> bind_costs({"chol": 5.0, "age": 1.0}, ["age", "chol"]).feature.tolist(), bind_costs(None, 2).total
    ([1.0, 5.0], 2.0)
    """
    if costs is None:
        return Costs.uniform(columns)
    if not isinstance(costs, Costs):
        costs = Costs(costs)
    return cast(Costs, costs).bind(columns)


def threads_of(n_jobs: int | None) -> int | None:
    """Turn `n_jobs` into a number of threads.

    Parameters
    ----------
    n_jobs : int or None
        None and -1 mean all threads, -2 all but one, and so on.

    Returns
    -------
    int or None
        Number of threads; None means all.
    """
    if n_jobs is None or n_jobs > 0:
        return n_jobs
    return max(1, (os.cpu_count() or 1) + 1 + n_jobs)


def as_columns(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return scores in two dimensions.

    Parameters
    ----------
    scores : array of (n,) or (n, K)
        Scores.

    Returns
    -------
    array of (n, 1) or (n, K)
        The same scores.
    """
    return scores[:, None] if scores.ndim == 1 else scores


def decision_of(scores: NDArray[np.float64], n_classes: int) -> NDArray[np.float64]:
    """Return scores in the form of scikit-learn's `decision_function`.

    Parameters
    ----------
    scores : array of (n, K)
        Scores before the link.
    n_classes : int
        Number of classes.

    Returns
    -------
    array of (n,) or (n, K)
        One number per row if there are two classes, positive for the second one.
    """
    if n_classes == 2 and scores.shape[1] == 2:
        return scores[:, 1] - scores[:, 0]
    return scores[:, 0] if scores.shape[1] == 1 else scores


def constraints(*names: str, **own: list[Any]) -> dict[str, list[Any]]:
    """The constraints of shared parameters by name, and those of a learner's own.

    >>> sorted(constraints("budget", prune=["boolean"]))
    ['budget', 'prune']
    """
    return {name: SHARED[name] for name in names} | own


def refuse_text(table: NumericTable) -> None:
    """Raise an error that names the first column that holds categories."""
    for column, values in table.categories.items():
        if not all(isinstance(value, bool) for value in values):
            name = column if table.names is None else table.names[column]
            raise DataError(
                f"column {name!r} holds categories; a linear model needs numbers: encode it first"
            )


def encode_classes(y: NDArray[Any]) -> tuple[NDArray[Any], NDArray[np.float64]]:
    """The sorted classes, and the code of each label: its position among the classes.

    >>> classes, codes = encode_classes(np.array(["no", "yes", "no"]))
    >>> classes.tolist(), codes.tolist()
    (['no', 'yes'], [0.0, 1.0, 0.0])
    """
    check_classes(y)
    classes, codes = np.unique(y, return_inverse=True)
    if len(classes) < 2:
        only = classes.tolist()[0]
        raise DataError(f"y holds only one class, {only!r}; a classifier needs at least two classes")
    return classes, codes.astype(np.float64)


def class_signs(codes: NDArray[np.float64], n_classes: int) -> NDArray[np.float64]:
    """Classes 0, 1, ... as columns of +1 and -1: one column for two classes, else one for each.

    >>> class_signs(np.array([0.0, 1.0]), 2).tolist(), class_signs(np.array([2.0]), 3).tolist()
    ([[-1.0], [1.0]], [[-1.0, -1.0, 1.0]])
    """
    return np.where(codes[:, None] == (1 if n_classes == 2 else np.arange(n_classes)), 1.0, -1.0)


def class_codes(y: NDArray[Any], classes: NDArray[Any]) -> NDArray[np.int64]:
    """The position of each label among known `classes`; an error if a label is none of them.

    >>> class_codes(np.array(["yes", "no"]), np.array(["no", "yes"])).tolist()
    [1, 0]
    """
    place = {label: code for code, label in enumerate(classes.tolist())}
    labels, inverse = np.unique(y, return_inverse=True)
    for label in labels.tolist():
        if label not in place:
            raise DataError(f"class {label!r} is not one of classes_{did_you_mean(label, place)}")
    return np.array([place[label] for label in labels.tolist()], dtype=np.int64)[inverse]


def categorical_columns(wanted: Any, table: NumericTable, n_features: int) -> NDArray[np.bool_]:
    """Mark the columns that are split by category.

    Parameters
    ----------
    wanted : "from_dtype", None, or list of str, int or bool
        Columns that hold categories in the table, no columns, or the listed columns: names, numbers or a
        mask.
    table : NumericTable
        The training rows.
    n_features : int
        Number of columns.

    Returns
    -------
    array of bool (n_features,)
        The mask.
    """
    mask = np.zeros(n_features, dtype=np.bool_)
    if wanted is None:
        return mask
    if isinstance(wanted, str):
        mask[list(table.categories)] = True
        return mask
    listed = np.asarray(wanted)
    if listed.dtype == np.bool_ and listed.shape == mask.shape:
        return listed
    for column in listed.tolist():
        mask[_column(column, table.names, n_features)] = True
    return mask


def _column(column: Any, names: tuple[str, ...] | None, n_features: int) -> int:
    if isinstance(column, str):
        if names is None or column not in names:
            raise DataError(f"categorical_features: no column {column!r}{did_you_mean(column, names or ())}")
        return names.index(column)
    if isinstance(column, bool) or not isinstance(column, int) or not 0 <= column < n_features:
        raise DataError(f"categorical_features: no column {column!r} among {n_features}")
    return column


def class_weight_of(estimator: Any) -> Any:
    """The class weights by which an estimator multiplies the weights of rows; None if it has none.

    An estimator whose class has `class_weight_in_loss` weighs its loss with them, and not the rows.

    >>> from miserly import AFRClassifier, CSCCClassifier
    >>> [class_weight_of(learner(class_weight={0: 2.0})) for learner in (AFRClassifier, CSCCClassifier)]
    [{0: 2.0}, None]
    """
    in_loss = getattr(estimator, "class_weight_in_loss", False)
    return None if in_loss else getattr(estimator, "class_weight", None)


def fit_arguments(
    estimator: Any, sample_weight: Any, qid: Any = None, outcome_costs: Any = None
) -> dict[str, Any]:
    """Weights, queries and outcome costs as keyword arguments; queries only if the estimator takes them.

    Searches and wrappers choose by the total cost on rows of their own, also among prefixes of a model. These
    models are not calibrated, because the line of all rounds would be wrong for fewer of them.
    """
    given: dict[str, Any] = {}
    if sample_weight is not None:
        if not has_fit_parameter(estimator, "sample_weight"):
            raise DataError(f"sample_weight is given, but {type(estimator).__name__}.fit does not take it")
        given["sample_weight"] = sample_weight
    if qid is not None and has_fit_parameter(estimator, "qid"):
        given["qid"] = qid
    if outcome_costs is not None:
        if not has_fit_parameter(estimator, "outcome_costs"):
            raise DataError(f"outcome_costs are given, but {type(estimator).__name__}.fit does not take them")
        given["outcome_costs"] = outcome_costs
        if has_fit_parameter(estimator, "calibrate"):
            given["calibrate"] = False
    return given

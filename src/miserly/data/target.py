"""Check labels, weights and queries that users pass to `fit`; errors name the argument and the row."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.exceptions import NotFittedError
from sklearn.utils import column_or_1d
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import assert_all_finite

from miserly.data.class_weights import class_weights, weigh_classes
from miserly.data.rows import Rows
from miserly.errors import DataError, MiserlyError, NotNumericError
from miserly.utils import checks as _checks
from miserly.utils.checks import as_number, is_missing, refuse_masked, shown

__all__ = [
    "Target",
    "as_data_errors",
    "check_classes",
    "check_grades",
    "check_no_missing",
    "check_queries",
    "check_target",
    "check_weight",
]

MAX_GRADE = 30  # the gain of a grade is 2**grade - 1


@dataclass(frozen=True, eq=False)
class Target:
    """Labels, weights and queries as passed to `fit`, not yet checked.

    Parameters
    ----------
    y : array-like of (n,)
        Labels.
    weight : array-like of (n,), optional
        Sample weights.
    qid : array-like of (n,), optional
        Queries.
    ranked : bool, default=False
        Whether queries are required.
    suffix : str, default=""
        Ending of the argument names in errors: "_val" for validation data.
    class_weight : mapping of class to weight, "balanced" or None, default=None
        Weights of the classes, by which the weights of the rows are multiplied.
    """

    y: Any
    weight: Any = None
    qid: Any = None
    ranked: bool = False
    suffix: str = ""
    class_weight: Any = None

    def checked(self, X: NDArray[Any], estimator: Any, numeric: bool) -> Rows:
        """Check that labels, weights and queries fit the rows `X`, and return all of them as `Rows`.

        Parameters
        ----------
        X : array of (n, n_features)
            Rows, already read as numbers.
        estimator : estimator
            The estimator that errors name.
        numeric : bool
            Whether labels must be numbers.
        """
        y = check_target(self.y, X, estimator, numeric, self.suffix)
        weight = check_weight(self.weight, X, self.suffix)
        if self.class_weight is not None:
            check_classes(y, f"y{self.suffix}")
            weight = weigh_classes(self.class_weight, y, weight)
        has_queries = self.ranked or self.qid is not None
        qid = check_queries(self.qid, len(X), self.suffix) if has_queries else None
        return Rows(X, y, weight=weight, qid=qid)

    def weights_of_classes(self) -> dict[Any, float] | None:
        """The weight of each class by `class_weight`; None without one.

        A validation set is given these weights, so that "balanced" means the balance of the training rows.
        """
        if self.class_weight is None:
            return None
        labels = np.asarray(column_or_1d(self.y))
        return class_weights(self.class_weight, labels, check_weight(self.weight, labels))


def check_target(y: Any, X: Any, estimator: Any, numeric: bool, suffix: str = "") -> NDArray[Any]:
    """Check labels: one column, as long as `X`.

    Parameters
    ----------
    y : array-like of (n,)
        Labels.
    X : array or frame
        Rows, for their number.
    estimator : estimator
        The estimator that errors name.
    numeric : bool
        Whether labels must be numbers; they become float64.
    suffix : str, default=""
        Ending of the argument names in errors.

    Returns
    -------
    array of (n,)
        Labels.

    Raises
    ------
    DataError
        If labels are missing, infinite, of the wrong number or of the wrong type.
    """
    name, what = type(estimator).__name__, f"y{suffix}"
    if y is None:
        raise DataError(
            f"This {name} estimator requires y to be passed, but the target y is None."
            if not suffix
            else f"X{suffix} needs {what}, its labels"
        )
    refuse_masked(y, what)
    with as_data_errors(f"{what}: "):
        labels: NDArray[Any] = column_or_1d(y, warn=True)
    if len(labels) != len(X):
        raise DataError(f"{what} has {len(labels)} labels for {len(X)} rows")
    if labels.dtype.kind == "S" and not numeric:
        raise DataError(f"{what} holds bytes, such as {shown(labels[0])}; give text or numbers")
    if labels.dtype.kind in "mM":
        raise DataError(f"{what} holds dates or times ({labels.dtype}); give numbers, or text as classes")
    if numeric:
        labels = _numbers(labels, what)
    elif labels.dtype == object:
        _refuse_missing(labels, what)
    if labels.dtype.kind == "f" or labels.dtype == object:
        _refuse_infinite(labels, what, name)
    return labels


def _numbers(labels: NDArray[Any], what: str) -> NDArray[np.float64]:
    """Labels as numbers; an error names the row of the first label that is no number."""
    if labels.dtype.kind in "iufb":
        return labels.astype(np.float64)
    _refuse_missing(labels, what)
    numbers = np.empty(len(labels))
    for row, label in enumerate(labels.tolist()):
        number = float(label) if isinstance(label, bool) else as_number(label)
        if number is None:
            raise DataError(f"{what} must hold numbers: {what}[{row}] is {shown(label)}")
        if np.isinf(number) and not isinstance(label, float):
            raise DataError(f"{what}[{row}] is {shown(label)}, which is too large a number")
        numbers[row] = number
    return numbers


def check_no_missing(y: Any, what: str = "y") -> None:
    """Check that no label is missing where `score` compares labels with answers.

    Parameters
    ----------
    y : array-like of (n,)
        Labels. What is not one column is left to the metric.
    what : str, default="y"
        Name of the argument in the error.

    Raises
    ------
    DataError
        If a label is missing; the error names the first.

    Examples
    --------
    >>> check_no_missing(["ill", None])
    Traceback (most recent call last):
    miserly.errors.DataError: Input y contains NaN or None: y[1] is None
    """
    labels = np.asarray(y)
    if labels.ndim == 1 and labels.dtype.kind in "fO":
        _refuse_missing(labels, what)


def _refuse_missing(labels: NDArray[Any], what: str) -> None:
    for row, label in enumerate(labels.tolist()):
        if is_missing(label):
            raise DataError(f"Input {what} contains NaN or None: {what}[{row}] is {shown(label)}")


def _refuse_infinite(labels: NDArray[Any], what: str, name: str) -> None:
    with as_data_errors():
        if labels.dtype.kind == "f" and not np.isfinite(labels).all():
            row = int(np.flatnonzero(~np.isfinite(labels))[0])
            try:
                assert_all_finite(labels, input_name=what, estimator_name=name)
            except ValueError as error:
                first = str(error).splitlines()[0].rstrip(".")
                raise DataError(f"{first}: {what}[{row}] is {labels[row]:g}") from None
        assert_all_finite(labels, input_name=what, estimator_name=name)


def check_classes(labels: NDArray[Any], what: str = "y") -> None:
    """Raise an error for labels that are no classes: numbers with fractions, or values of several types."""
    if labels.dtype == object:
        text = isinstance(labels[0], str)
        for row, one in enumerate(labels.tolist()):
            known = isinstance(one, str) if text else isinstance(one, (bool, int, float)) and abs(one) < 2**63
            if not known:
                others = "text" if text else "numbers of usual size"
                why = f"those before it are {others}" if row else "text, numbers or booleans"
                raise DataError(
                    f"Unknown label type: {what}[{row}] is {shown(one)}; classes must be of one type, {why}"
                )
    with as_data_errors(f"{what}: "):
        check_classification_targets(labels)


def check_weight(sample_weight: Any, X: Any, suffix: str = "") -> NDArray[np.float64] | None:
    """Check weights: one non-negative number per row, not all zero; a single number is for all rows."""
    if sample_weight is None:
        return None
    what = f"sample_weight{suffix}"
    refuse_masked(sample_weight, what)
    with as_data_errors(f"{what}: "):
        given = np.asarray(sample_weight)
    given = np.full(len(X), given) if given.ndim == 0 else given
    if given.shape != (len(X),) or given.dtype.kind not in "iufbO":
        raise DataError(f"{what} must hold {len(X)} numbers, not {given.dtype} of shape {given.shape}")
    weight = np.empty(len(X)) if given.dtype == object else given.astype(np.float64)
    if given.dtype == object:
        for row, one in enumerate(given.tolist()):
            number = as_number(one)
            if number is None:
                raise DataError(f"{what}[{row}] is {shown(one)}; weights are numbers")
            weight[row] = number
    for wrong, why in ((~np.isfinite(weight), "be finite"), (weight < 0, "not be negative")):
        if wrong.any():
            row = int(np.flatnonzero(wrong)[0])
            raise DataError(f"{what}[{row}] is {weight[row]:g}; weights must {why}")
    if not weight.any():
        raise DataError(f"{what}: Sample weights must contain at least one non-zero number")
    return weight


def check_queries(qid: ArrayLike | None, n: int, suffix: str = "") -> NDArray[Any]:
    """Check queries: one per row. None is an error."""
    if qid is None:
        raise DataError(f"a ranker needs qid{suffix}, the query of each row: fit(X, y, qid{suffix}=...)")
    return _checks.check_queries(qid, n, f"qid{suffix}")


def check_grades(y: NDArray[np.float64]) -> None:
    """Raise an error for grades of relevance that are not whole numbers from 0 to 30."""
    wrong = (y != np.floor(y)) | (y < 0) | (y > MAX_GRADE)
    if wrong.any():
        row = int(np.flatnonzero(wrong)[0])
        raise DataError(
            f"y[{row}] is {y[row]:g}; lambdarank needs grades, whole numbers from 0 to {MAX_GRADE}"
        )


@contextmanager
def as_data_errors(place: str = "") -> Iterator[None]:
    """Raise `TypeError`, `ValueError` and `OverflowError` of the block as `DataError`, with `place` in front.

    Callers then catch one family of errors, `MiserlyError`.
    """
    try:
        yield
    except (MiserlyError, NotFittedError):
        raise
    except TypeError as error:
        raise NotNumericError(f"{place}{error}") from None
    except (ValueError, OverflowError) as error:
        raise DataError(f"{place}{error}") from None

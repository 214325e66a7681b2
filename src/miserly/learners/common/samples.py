"""Training rows with their labels, weights and queries: checking them, and setting some aside."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import column_or_1d
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import assert_all_finite

from miserly.data.frames import is_frame, read_frame
from miserly.data.reading import in_our_words
from miserly.errors import DataError
from miserly.utils import checks as _checks
from miserly.utils.checks import as_number, is_missing, refuse_masked, shown

__all__ = [
    "Given",
    "Samples",
    "check_classes",
    "check_grades",
    "check_queries",
    "check_target",
    "check_weight",
    "less_new_categories",
    "rows_aside",
    "set_aside",
]

MAX_GRADE = 30  # the gain of a grade is 2**grade - 1


@dataclass(frozen=True, eq=False)
class Samples:
    """Rows, their labels, and where there are any, their weights and queries."""

    X: NDArray[Any]
    y: NDArray[Any]
    weight: NDArray[np.float64] | None = None
    qid: NDArray[Any] | None = None

    def __len__(self) -> int:
        return len(self.y)

    def take(self, rows: NDArray[Any]) -> Samples:
        """Some of the rows."""
        pick = [None if part is None else part[rows] for part in (self.weight, self.qid)]
        return Samples(self.X[rows], self.y[rows], *pick)

    def without_zero_weights(self) -> Samples:
        """Only rows that count; a row of weight zero must not even have a say in where bins begin."""
        if self.weight is None or (self.weight > 0).all():
            return self
        return self.take(self.weight > 0)

    def with_mean_weight_one(self) -> Samples:
        """Weights that average 1 (None if all are equal), so that their scale can play no part."""
        if self.weight is None or (self.weight == self.weight[0]).all():
            return replace(self, weight=None)
        return replace(self, weight=self.weight / self.weight.mean())


@dataclass(frozen=True, eq=False)
class Given:
    """Labels, weights and queries as the user gave them, before anything is checked."""

    y: Any
    weight: Any = None
    qid: Any = None
    ranked: bool = False  # whether there must be queries
    note: str = ""  # what to add to the names of the arguments in errors: "_val" for validation data

    def checked(self, X: NDArray[Any], estimator: Any, numeric: bool) -> Samples:
        """Labels, weights and queries that fit the rows `X`."""
        y = check_target(self.y, X, estimator, numeric, self.note)
        weight = check_weight(self.weight, X, self.note)
        has_queries = self.ranked or self.qid is not None
        return Samples(X, y, weight, check_queries(self.qid, len(X), self.note) if has_queries else None)


def check_target(y: Any, X: Any, estimator: Any, numeric: bool, note: str = "") -> NDArray[Any]:
    """Labels as one column as long as `X`; numbers where numbers are wanted."""
    name, what = type(estimator).__name__, f"y{note}"
    if y is None:
        raise DataError(
            f"This {name} estimator requires y to be passed, but the target y is None."
            if not note
            else f"X{note} needs {what}, its labels"
        )
    refuse_masked(y, what)
    with in_our_words(f"{what}: "):
        labels = column_or_1d(y, warn=True)
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
    """Labels as numbers; what is none is named by its row."""
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


def _refuse_missing(labels: NDArray[Any], what: str) -> None:
    for row, label in enumerate(labels.tolist()):
        if is_missing(label):
            raise DataError(f"Input {what} contains NaN or None: {what}[{row}] is {shown(label)}")


def _refuse_infinite(labels: NDArray[Any], what: str, name: str) -> None:
    with in_our_words():
        if labels.dtype.kind == "f" and not np.isfinite(labels).all():
            row = int(np.flatnonzero(~np.isfinite(labels))[0])
            try:
                assert_all_finite(labels, input_name=what, estimator_name=name)
            except ValueError as error:
                first = str(error).splitlines()[0].rstrip(".")
                raise DataError(f"{first}: {what}[{row}] is {labels[row]:g}") from None
        assert_all_finite(labels, input_name=what, estimator_name=name)


def check_classes(labels: NDArray[Any], what: str = "y") -> None:
    """Refuse labels that are no classes: numbers with fractions, or values of several types."""
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
    with in_our_words(f"{what}: "):
        check_classification_targets(labels)


def check_weight(sample_weight: Any, X: Any, note: str = "") -> NDArray[np.float64] | None:
    """Weights as one non-negative number per row, not all zero."""
    if sample_weight is None:
        return None
    what = f"sample_weight{note}"
    refuse_masked(sample_weight, what)
    with in_our_words(f"{what}: "):
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


def check_queries(qid: ArrayLike | None, n: int, note: str = "") -> NDArray[Any]:
    """The query of each row."""
    if qid is None:
        raise DataError(f"a ranker needs qid{note}, the query of each row: fit(X, y, qid{note}=...)")
    return _checks.check_queries(qid, n, f"qid{note}")


def check_grades(y: NDArray[np.float64]) -> None:
    """Grades of relevance are whole numbers from 0."""
    wrong = (y != np.floor(y)) | (y < 0) | (y > MAX_GRADE)
    if wrong.any():
        row = int(np.flatnonzero(wrong)[0])
        raise DataError(
            f"y[{row}] is {y[row]:g}; lambdarank needs grades, whole numbers from 0 to {MAX_GRADE}"
        )


# -- setting some aside ------------------------------------------------------------------------------------


def set_aside(
    samples: Samples, fraction: float, seed: int, classes: Sequence[Any] | NDArray[Any] | None = None
) -> tuple[Samples, Samples]:
    """Split rows into those to learn from and those to judge by.

    Whole queries where there are queries; the same share of every class where `classes` (the class of each
    row) are given, and always one row of each class to learn from.
    """
    aside = rows_aside(len(samples), fraction, seed, classes, samples.qid)
    return samples.take(~aside), samples.take(aside)


def rows_aside(
    n: int,
    fraction: float,
    seed: int,
    classes: Sequence[Any] | NDArray[Any] | None = None,
    qid: NDArray[Any] | None = None,
) -> NDArray[np.bool_]:
    """Which of `n` rows `set_aside` sets aside."""
    random = np.random.default_rng(seed)
    if qid is not None:
        aside = _whole_queries(qid, fraction, random)
    else:
        aside = _rows_by_class(np.zeros(n) if classes is None else classes, fraction, random)
    if not aside.any() or aside.all():
        what = "queries" if qid is not None else "rows"
        raise DataError(f"too few {what} to set {fraction:g} of them aside for validation (n_samples={n})")
    return aside


def less_new_categories(X: Any, aside: NDArray[np.bool_], qid: NDArray[Any] | None) -> NDArray[np.bool_]:
    """Rows set aside, less those with a category of a frame that no row to learn from has.

    A model refuses categories that it has not met, so it must meet those of the rows it was given. Where
    no row would be left, all stay aside.
    """
    if not is_frame(X):
        return aside
    table, back = read_frame(X), np.zeros(len(aside), dtype=np.bool_)
    for column, known in table.categories.items():
        codes = table.values[:, column]
        if known != (False, True):  # booleans are known, both of them
            back |= np.isin(codes, np.setdiff1d(np.arange(len(known)), codes[~aside]))
    if qid is not None:
        back = np.isin(qid, qid[back])
    return aside & ~back if (aside & ~back).any() else aside


def _whole_queries(qid: NDArray[Any], fraction: float, random: np.random.Generator) -> NDArray[np.bool_]:
    names, number = np.unique(qid, return_inverse=True)
    wanted = max(1, round(fraction * len(names)))
    chosen = random.permutation(len(names))[:wanted]
    return np.isin(number, chosen)


def _rows_by_class(classes: Any, fraction: float, random: np.random.Generator) -> NDArray[np.bool_]:
    """Rows at even distances in a list that is shuffled, then ordered by class."""
    classes = np.asarray(classes)
    shuffled = random.permutation(len(classes))
    listed = shuffled[np.argsort(classes[shuffled], kind="stable")]
    first_of_class = np.append(True, classes[listed][1:] != classes[listed][:-1])
    spare = listed[~first_of_class]
    wanted = min(len(spare), max(1, round(fraction * len(classes))))
    places = (np.arange(wanted) + 0.5) * len(spare) / max(1, wanted)
    aside = np.zeros(len(classes), dtype=np.bool_)
    aside[spare[places.astype(np.int64)]] = True
    return aside

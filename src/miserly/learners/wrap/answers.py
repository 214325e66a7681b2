"""Answers of models as columns, and the sources that ask models for one row."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone, is_regressor
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import KFold, StratifiedKFold, check_cv
from sklearn.utils import _safe_indexing

from miserly.errors import DataError
from miserly.learners.wrap.call_rows import Columns, RowMaker, row_count, row_of
from miserly.utils.sources import Priced, read_signature

__all__ = [
    "PARTS",
    "AnswerSource",
    "AsyncAnswerSource",
    "ModelSource",
    "answer_columns",
    "check_outputs",
    "fitted_to",
    "is_estimator",
    "model_columns",
    "out_of_fold",
    "recorded_answers",
    "split_rows",
]

PARTS = ("probabilities", "label", "confidence")


def check_outputs(parts: Any) -> tuple[str, ...]:
    """The parts of an answer, each one known."""
    if isinstance(parts, str):
        parts = (parts,)
    for part in parts:
        if part not in PARTS:
            raise DataError(f"outputs are some of {', '.join(PARTS)}, not {part!r}")
    if not parts:
        raise DataError(f"outputs must name at least one of {', '.join(PARTS)}")
    return tuple(parts)


def is_estimator(model: Any) -> bool:
    return hasattr(model, "fit") and hasattr(model, "predict")


# -- estimators ----------------------------------------------------------------------------------------------


def kind_of(model: Any) -> str:
    """The method of a fitted estimator that gives most information. Callers keep it: the lookup is slow."""
    if is_regressor(model):
        return "predict"
    methods = ("predict_proba", "decision_function")
    return next((method for method in methods if hasattr(model, method)), "label")


def model_columns(
    name: str,
    model: Any,
    rows: Any,
    parts: Sequence[str],
    classes: NDArray[Any] | None = None,
    kind: str | None = None,
) -> Columns:
    """The answers of a fitted estimator to rows, as columns.

    `classes` are those of the columns; a model of a fold may know fewer. `kind` is what `kind_of` gives.
    """
    kind = kind or kind_of(model)
    if kind == "predict":
        return {f"{name}.value": np.asarray(model.predict(rows), dtype=np.float64)}
    if kind == "label":
        return {f"{name}.label": [str(label) for label in model.predict(rows)]}
    known, scores = model.classes_, np.asarray(getattr(model, kind)(rows), dtype=np.float64)
    if scores.ndim == 1:  # the decision values of two classes
        scores = np.column_stack([-scores, scores])
    best = scores.argmax(axis=1)
    has_probabilities = kind == "predict_proba"
    columns: Columns = {}
    if "probabilities" in parts:
        # A class that a fold did not have: its probability is 0, its decision value is missing.
        absent = 0.0 if has_probabilities else np.nan
        columns |= _by_class(name, known if classes is None else classes, known, scores, absent)
    if "label" in parts:
        words = [str(one) for one in known]
        columns[f"{name}.label"] = [words[i] for i in best]
    if "confidence" in parts:
        columns[f"{name}.confidence"] = _confidence(scores, best, has_probabilities)
    return columns


def _by_class(
    name: str, wanted: NDArray[Any], known: NDArray[Any], scores: NDArray[np.float64], absent: float
) -> Columns:
    """One column for each class, or for the second of two."""
    if wanted is not known and not np.array_equal(wanted, known):
        filled = np.full((len(scores), len(wanted)), absent)
        filled[:, np.searchsorted(wanted, known)] = scores
        scores = filled
    if len(wanted) == 2:
        return {f"{name}={wanted[1]}": scores[:, 1]}
    return {f"{name}={label}": scores[:, k] for k, label in enumerate(wanted)}


def _confidence(scores: NDArray[np.float64], best: NDArray[Any], probabilities: bool) -> NDArray[np.float64]:
    top: NDArray[np.float64] = scores[np.arange(len(scores)), best]
    if probabilities or scores.shape[1] < 2:
        return top
    second: NDArray[np.float64] = np.partition(scores, -2, axis=1)[:, -2]
    return top - second


class ModelSource:
    """Asks a fitted estimator: a source of `OnDemand` that takes many raw inputs at once.

    Parameters
    ----------
    name : str
        The group of its features.
    model : estimator
        Fitted.
    parts : sequence of str
        What its answer is made of.
    known : mapping of str to set of str
        Categories of columns that hold some; others are missing values.
    row : callable or None
        Gives the input of the model from a raw input.
    maker : RowMaker
        Puts inputs together.
    """

    __miserly_batched__ = True

    def __init__(
        self,
        name: str,
        model: Any,
        parts: Sequence[str],
        known: Mapping[str, set[str]],
        row: Callable[[Any], Any] | None,
        maker: RowMaker,
    ) -> None:
        self.name, self.parts, self.known = name, tuple(parts), dict(known)
        self.row, self.maker = row, maker
        self.model = model.estimator if isinstance(model, FrozenEstimator) else model
        self.kind = kind_of(self.model)

    def __call__(self, raws: Sequence[Any]) -> list[dict[str, Any]]:
        """Return the answers to raw inputs, by column."""
        rows = raws if self.row is None else [self.row(raw) for raw in raws]
        return self.rows_of(self.maker(rows))

    def rows_of(self, X: Any) -> list[dict[str, Any]]:
        """Return the answers to rows that are as the model takes them."""
        columns = model_columns(self.name, self.model, X, self.parts, kind=self.kind)
        names = tuple(columns)
        values = [
            [one if one in self.known.get(name, ()) else None for one in given]
            if isinstance(given, list)
            else given.tolist()
            for name, given in columns.items()
        ]
        return [dict(zip(names, row, strict=True)) for row in zip(*values, strict=True)]

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r}, {self.model!r})"


def is_fitted_here(model: Any) -> bool:
    return is_estimator(model) and not isinstance(model, FrozenEstimator)


def split_rows(
    models: Mapping[str, Any], X: Any, y: Any, cv: Any, random_state: int | None
) -> list[tuple[Any, Any]]:
    """The folds for models that are fitted here; none if there is no such model."""
    fitted = {name: model for name, model in models.items() if is_fitted_here(model)}
    if not fitted:
        return []
    if y is None:
        raise DataError(f"{next(iter(fitted))!r} is fitted here and needs labels: give y")
    if len(y) != row_count(X):
        raise DataError(f"{row_count(X)} rows, but {len(y)} labels")
    classes = not all(map(is_regressor, fitted.values()))
    if isinstance(cv, (int, np.integer)):
        kind = StratifiedKFold if classes else KFold
        cv = kind(int(cv), shuffle=True, random_state=random_state)
    folds = list(check_cv(cv, y, classifier=classes).split(np.zeros(len(y)), y))
    seen = np.sort(np.concatenate([rows for _, rows in folds]))
    if not np.array_equal(seen, np.arange(len(y))):
        raise DataError("cv must hold out every row exactly once")
    return folds


def fitted_to(model: Any, X: Any, y: Any, rows: Any) -> Any:
    if rows is None:
        return clone(model).fit(X, y)
    return clone(model).fit(_safe_indexing(X, rows), _safe_indexing(y, rows))


def out_of_fold(name: str, model: Any, X: Any, y: Any, fold: Any, parts: Any, classes: Any) -> Columns:
    """The answers of a model to the rows of a fold, fitted to the other rows."""
    learn, held_out = fold
    fitted = fitted_to(model, X, y, learn)
    return model_columns(name, fitted, _safe_indexing(X, held_out), parts, classes)


# -- callables -----------------------------------------------------------------------------------------------


def read_answer(name: str, answer: Any) -> dict[str, Any]:
    """One answer of a callable, by column: text, a number, a pair, a mapping, or None.

    >>> read_answer("llm", ("spam", 0.9))
    {'llm.label': 'spam', 'llm.confidence': 0.9}
    """
    if answer is None:
        return {}
    if isinstance(answer, Mapping):
        return {f"{name}.{key}": _plain(name, value) for key, value in answer.items()}
    if isinstance(answer, tuple):
        if len(answer) != 2:
            raise DataError(f"{name!r} gave {len(answer)} values; a pair is a label and its confidence")
        label = None if answer[0] is None else str(answer[0])
        return {f"{name}.label": label, f"{name}.confidence": _plain(name, answer[1])}
    value = _plain(name, answer)
    return {f"{name}.label" if isinstance(value, str) else f"{name}.value": value}


def _plain(name: str, value: Any) -> str | float | None:
    if value is None or isinstance(value, str):
        return None if value is None else str(value)
    if isinstance(value, (bool, int, float, np.bool_, np.integer, np.floating)):
        return float(value)
    raise DataError(
        f"{name!r} gave {type(value).__name__}; an answer is text, a number, a pair of label and "
        "confidence, or a mapping of such values"
    )


def answer_columns(name: str, answers: Sequence[Any]) -> Columns:
    """Recorded answers of a callable, as columns."""
    read = [read_answer(name, answer) for answer in answers]
    names = list(dict.fromkeys(key for row in read for key in row))
    if not names:
        raise DataError(f"{name!r} has no answer to any row")
    columns: Columns = {}
    for column in names:
        values = [row.get(column) for row in read]
        text = {isinstance(value, str) for value in values if value is not None}
        if len(text) == 2:
            raise DataError(f"{column!r} holds text and numbers; give one of them")
        columns[column] = values if text == {True} else np.array([np.nan if v is None else v for v in values])
    return columns


def recorded_answers(name: str, model: Any, X: Any, given: Any, n: int) -> Sequence[Any]:
    """The answers of a callable to all rows, without prices: those given, or those it gives now."""
    if given is None:
        if read_signature(model, name).is_async:
            raise DataError(f"{name!r} is async; give its recorded answers")
        given = (model(row_of(X, i)) for i in range(n))
    listed = [one.value if isinstance(one, Priced) else one for one in given]
    if len(listed) != n:
        raise DataError(f"{len(listed)} answers of {name!r} for {n} rows")
    return listed


class AnswerSource:
    """Asks a callable: a source of `OnDemand`.

    Parameters
    ----------
    name : str
        The group of its features.
    function : callable
        Takes one raw input.
    columns : sequence of str
        Its columns in the training table.
    known : mapping of str to set of str
        Categories of columns that hold some; others are missing values.
    row : callable or None
        Gives the input of the callable from a raw input.
    """

    def __init__(
        self,
        name: str,
        function: Callable[..., Any],
        columns: Sequence[str],
        known: Mapping[str, set[str]],
        row: Callable[[Any], Any] | None,
    ) -> None:
        self.name, self.function, self.row = name, function, row
        self.columns, self.known = tuple(columns), dict(known)

    @property
    def __signature__(self) -> inspect.Signature:
        """That of the function: it may ask for features acquired before."""
        return inspect.signature(self.function)

    def __call__(self, raw: Any, **acquired: Any) -> Any:
        """Return the answer to one raw input, by column."""
        return self.read(self.function(self._input(raw), **acquired))

    def _input(self, raw: Any) -> Any:
        return raw if self.row is None else self.row(raw)

    def read(self, answer: Any) -> Any:
        """Return an answer by column. What the training table did not hold is missing."""
        if isinstance(answer, Priced):
            return Priced(self.read(answer.value), answer.cost)
        read = read_answer(self.name, answer)
        strange = [column for column in read if column not in self.columns]
        if strange:
            raise DataError(f"{self.name!r} gave {strange[0]!r}, which the training answers did not have")
        return {column: self._kept(column, read.get(column)) for column in self.columns}

    def _kept(self, column: str, value: Any) -> Any:
        if column in self.known:
            return value if value in self.known[column] else None
        if isinstance(value, str):
            raise DataError(f"{column!r} is the text {value!r}, but the training answers were numbers")
        return value

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r}, {self.function!r})"


class AsyncAnswerSource(AnswerSource):
    """Asks an async callable: a source of `OnDemand`."""

    async def __call__(self, raw: Any, **acquired: Any) -> Any:
        """Return the answer to one raw input, by column."""
        return self.read(await self.function(self._input(raw), **acquired))

"""The columns after fitted scikit-learn transformers, as functions of raw columns.

Transformers are recognised by the names of their classes in scikit-learn, so that this module imports nothing
from it. A step that a plan cannot reproduce raises an error with its name.
"""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from miserly.costs.transformers import places_of, sources_of
from miserly.data.encoder import OTHER
from miserly.errors import CostError, DataError
from miserly.learners.wrap.adopt.folding.columns import Categories, Column, Numbers, Unread
from miserly.utils.checks import is_missing

__all__ = ["columns_after", "input_columns", "kinds_of"]

_UNKNOWN = "__a value that is no category__"


def kinds_of(model: Any) -> list[str]:
    """The names of the scikit-learn classes that an object is an instance of, its own class first."""
    return [kind.__name__ for kind in type(model).__mro__ if kind.__module__.partition(".")[0] == "sklearn"]


def input_columns(n_features: int) -> list[Column]:
    """The raw columns of a table."""
    return [Unread(i) for i in range(n_features)]


def columns_after(step: Any, columns: Sequence[Column], where: str) -> list[Column]:
    """Express the outputs of a fitted transformer as functions of raw columns.

    Parameters
    ----------
    step : object
        The transformer, "passthrough", "drop" or None.
    columns : sequence of Column
        Its inputs.
    where : str
        The name of the step, for errors.

    Returns
    -------
    list of Column
        Its outputs.

    Raises
    ------
    DataError
        If a plan cannot do what the step does.
    """
    if step is None or isinstance(step, str):
        return [] if step == "drop" else list(columns)
    for kind in kinds_of(step):
        if kind in _STEPS:
            return _STEPS[kind](step, columns, where)
    if callable(getattr(step, "get_support", None)):  # selection of features
        return [columns[i] for i in np.flatnonzero(step.get_support()).tolist()]
    raise _refusal(step, where, f"supported steps: {', '.join(_STEPS)} and feature selection")


def _refusal(step: Any, where: str, why: str) -> DataError:
    return DataError(f"step {where!r} ({type(step).__name__}) cannot be a part of a plan; {why}")


# -- composite steps ----------------------------------------------------------------------------------------


def _pipeline(step: Any, columns: Sequence[Column], where: str) -> list[Column]:
    found = list(columns)
    for name, part in step.steps:
        found = columns_after(part, found, f"{where}.{name}" if where else name)
    return found


def _column_transformer(step: Any, columns: Sequence[Column], where: str) -> list[Column]:
    width = max((part.stop for part in step.output_indices_.values()), default=0)
    found: list[Column | None] = [None] * width
    for name, part, listed in step.transformers_:
        place = step.output_indices_.get(name)
        if place is None or place.stop == place.start:
            continue
        picked = [columns[i] for i in places_of(listed, step, len(columns))]
        outputs = columns_after(part, picked, f"{where}.{name}" if where else name)
        if len(outputs) != place.stop - place.start:
            raise _refusal(part, f"{where}.{name}", f"it makes {place.stop - place.start} columns")
        found[place] = outputs
    return [column for column in found if column is not None]


def _union(step: Any, columns: Sequence[Column], where: str) -> list[Column]:
    if step.transformer_weights:
        raise _refusal(step, where, "fit it without transformer_weights")
    return [
        column
        for name, part in step.transformer_list
        for column in columns_after(part, columns, f"{where}.{name}" if where else name)
    ]


# -- scalers -------------------------------------------------------------------------------------------------


def _as_number(column: Column, step: Any, where: str) -> Numbers | Categories:
    if not isinstance(column, Unread):
        return column
    if column.fill is None:
        return Numbers(column.source)
    if not isinstance(column.fill, (int, float, np.integer, np.floating)):
        raise _refusal(step, where, f"it reads a column whose missing values are replaced by {column.fill!r}")
    return Numbers(column.source, missing=float(column.fill))


def _scaled(*operations: tuple[str, str, str]) -> Callable[[Any, Sequence[Column], str], list[Column]]:
    """Make the rule of a step that applies operations with one constant for each column.

    Each operation is a tuple (operation, attribute, parameter that turns it off).
    """

    def follow(step: Any, columns: Sequence[Column], where: str) -> list[Column]:
        found: list[Any] = [_as_number(column, step, where) for column in columns]
        for operation, attribute, switch in operations:
            constants = getattr(step, attribute)
            if constants is None or (switch and not getattr(step, switch)):
                continue
            if operation in ("divide", "multiply") and not (constants > 0.0).all():
                raise _refusal(step, where, "its scales are not all positive")
            found = [one.then(operation, float(c)) for one, c in zip(found, constants, strict=True)]
        if getattr(step, "clip", False):
            low, high = getattr(step, "feature_range", (-1.0, 1.0))
            found = [one.then("at least", float(low)).then("at most", float(high)) for one in found]
        return found

    return follow


def _identity(step: Any, columns: Sequence[Column], where: str) -> list[Column]:
    """The rule of a `FunctionTransformer` that has no function, or only checks its input."""
    function = step.func
    inner = getattr(function, "func", function)
    if function is not None and getattr(inner, "__name__", "") != "check_array":
        raise _refusal(step, where, "a plan cannot contain a function of Python")
    return list(columns)


# -- missing values ------------------------------------------------------------------------------------------


def _imputed(step: Any, columns: Sequence[Column], where: str) -> list[Column]:
    if not is_missing(step.missing_values):
        raise _refusal(step, where, "missing_values must be NaN or None")
    found: list[Column] = []
    for column, fill in zip(columns, step.statistics_, strict=True):
        if is_missing(fill):
            if not getattr(step, "keep_empty_features", False):
                continue  # a column without values is dropped
            fill = 0 if step.strategy != "constant" else step.fill_value
        found.append(_filled(column, fill))
    if step.add_indicator:
        found += _indicators(step.indicator_, columns, where)
    return found


def _filled(column: Column, fill: Any) -> Column:
    if isinstance(column, Unread):
        return column if column.fill is not None else replace(column, fill=_plain(fill))
    if np.isnan(column.missing):
        column = replace(column, missing=float(fill))
    if isinstance(column, Categories) and np.isnan(column.table).any():
        return replace(column, table=np.where(np.isnan(column.table), float(fill), column.table))
    return column


def _indicators(step: Any, columns: Sequence[Column], where: str) -> list[Column]:
    found: list[Column] = []
    for i in step.features_:
        column = columns[i]
        if isinstance(column, Unread):
            found.append(Numbers(column.source, constant=0.0, missing=float(column.fill is None)))
        elif isinstance(column, Numbers):
            found.append(Numbers(column.source, constant=0.0, missing=float(np.isnan(column.missing))))
        else:
            missing = float(np.isnan(column.missing))
            found.append(replace(column, table=np.isnan(column.table).astype(float), missing=missing))
    return found


# -- categories ----------------------------------------------------------------------------------------------


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value


def _encoded(step: Any, columns: Sequence[Column], where: str) -> list[Column]:
    """The rule of an encoder of categories. Its `transform` gives the output for each category."""
    for column in columns:
        if not isinstance(column, Unread):
            raise _refusal(step, where, "it encodes the output of another step")
    try:
        made = [next(iter(sources)) for _, sources in sources_of(step)[1]]
    except CostError as error:
        raise _refusal(step, where, str(error)) from None
    unnamed = copy.copy(step)
    vars(unnamed).pop("feature_names_in_", None)
    outputs: dict[int, list[Column]] = {}
    for i, column in enumerate(columns):
        places = np.flatnonzero(np.array(made) == i)
        outputs[i] = _encoded_column(unnamed, i, column, places)  # type: ignore[arg-type]
    return [outputs[i].pop(0) for i in made]


def _encoded_column(step: Any, i: int, column: Unread, places: Any) -> list[Column]:
    categories = [_plain(value) for value in step.categories_[i]]
    values = tuple(value for value in categories if not is_missing(value))
    table = _transformed(step, i, values)[:, places]
    missing = _missing_row(step, i, categories, column)[places]
    other = _other_row(step, i, values)
    if other is not None and not np.array_equal(other[places], missing, equal_nan=True):
        values, table = (*values, OTHER), np.vstack([table, other[places]])
    return [
        Categories(column.source, values, np.ascontiguousarray(table[:, k]), float(missing[k]))
        for k in range(len(places))
    ]


def _missing_row(step: Any, i: int, categories: Sequence[Any], column: Unread) -> Any:
    """The output of an encoder for a missing value: that of `transform`, or zeros if `transform` raises."""
    if column.fill is not None:
        tried = [column.fill]
    else:
        tried = [value for value in categories if is_missing(value)] or [np.nan, None, _UNKNOWN]
    for value in tried:
        try:
            return _transformed(step, i, [value])[0]
        except (ValueError, TypeError):
            continue
    return np.zeros(_transformed(step, i, [categories[0]]).shape[1])


def _other_row(step: Any, i: int, values: Sequence[Any]) -> Any:
    """The output of an encoder for a value that it has not seen; None if `transform` raises."""
    numbers = all(isinstance(value, (int, float)) for value in values)
    unseen = float(max(values)) + 1.0 if numbers and values else _UNKNOWN
    try:
        return _transformed(step, i, [unseen])[0]
    except (ValueError, TypeError):
        return None


def _transformed(step: Any, i: int, values: Sequence[Any]) -> Any:
    """The outputs for values of column `i`. All other columns have their first category."""
    rows = np.empty((len(values), len(step.categories_)), dtype=object)
    for j, known in enumerate(step.categories_):
        for row in range(len(values)):
            rows[row, j] = values[row] if j == i else _plain(known[0])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = step.transform(rows)
    found = found.toarray() if hasattr(found, "toarray") else found
    return np.asarray(found, dtype=np.float64)


_STEPS: dict[str, Callable[[Any, Sequence[Column], str], list[Column]]] = {
    "Pipeline": _pipeline,
    "ColumnTransformer": _column_transformer,
    "FeatureUnion": _union,
    "StandardScaler": _scaled(("subtract", "mean_", "with_mean"), ("divide", "scale_", "with_std")),
    "RobustScaler": _scaled(("subtract", "center_", "with_centering"), ("divide", "scale_", "with_scaling")),
    "MinMaxScaler": _scaled(("multiply", "scale_", ""), ("add", "min_", "")),
    "MaxAbsScaler": _scaled(("divide", "scale_", "")),
    "FunctionTransformer": _identity,
    "SimpleImputer": _imputed,
    "MissingIndicator": _indicators,
    "OneHotEncoder": _encoded,
    "OrdinalEncoder": _encoded,
    "TargetEncoder": _encoded,
}

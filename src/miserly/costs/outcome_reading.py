"""Reading outcome costs: cells of a mapping, matrices and amounts of rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from miserly.costs.amounts import Amount, AmountCells
from miserly.costs.outcome_table import OutcomeTable
from miserly.errors import CostError, did_you_mean
from miserly.utils.checks import read_price, shown

__all__ = ["read_amounts", "read_array", "read_cells", "table_from_cells"]

Floats: TypeAlias = NDArray[np.float64]


def read_cells(costs: Mapping[Any, Any]) -> dict[tuple[Any, Any], Any]:
    """Costs by (actual, answer); None as `actual` is every class."""
    cells: dict[tuple[Any, Any], Any] = {}
    for key, value in costs.items():
        if isinstance(value, Mapping):
            pairs = [((key, answer), cost) for answer, cost in value.items()]
        elif isinstance(key, tuple):
            if len(key) != 2:
                raise CostError(f"an outcome is a pair (actual, answer), not {shown(key)}")
            pairs = [(key, value)]
        else:
            pairs = [((None, key), value)]
        for pair, cost in pairs:
            if pair in cells:
                raise CostError(f"the cost of {pair} is given twice")
            what = f"outcome {pair}"
            if isinstance(cost, str):
                cells[pair] = Amount.read(str(cost))
            else:
                cells[pair] = read_price(cost, what) if np.ndim(cost) == 0 else read_amounts(cost, what)
    if not cells:
        raise CostError("no outcome costs are given")
    return cells


def table_from_cells(
    classes: list[Any],
    cells: Mapping[tuple[Any, Any], Any],
    default: float | None,
    typical: Mapping[str, float] | None = None,
) -> OutcomeTable:
    """The costs of known classes; amounts have values, and `typical` stands for those of new rows."""
    names = {str(label): place for place, label in enumerate(classes)}
    given: dict[Any, Any] = {
        pair: cost.values if isinstance(cost, Amount) else cost for pair, cost in cells.items()
    }
    lengths = {len(cost) for cost in given.values() if np.ndim(cost)}
    if len(lengths) > 1:
        raise CostError(f"amounts per row are given for different numbers of rows: {sorted(lengths)}")
    actions = list(dict.fromkeys(str(answer) for _, answer in cells if str(answer) not in names))
    answers = {**names, **{name: len(names) + i for i, name in enumerate(actions)}}
    table = np.full((lengths.pop() if lengths else 1, len(names), len(answers)), np.nan)
    amounts = np.full(table.shape[1:], None, dtype=object)
    order = sorted(cells, key=lambda pair: pair[0] is not None)  # what holds for every class comes first
    for actual, answer in order:
        if actual is None and str(answer) in names:
            raise CostError(
                f"the cost of answering {answer!r} needs the actual class: give ({answer!r}, answer)"
            )
        if actual is not None and str(actual) not in names:
            raise CostError(
                f"outcome costs for class {actual!r}, which is none of the classes "
                f"{', '.join(map(shown, classes))}{did_you_mean(actual, names)}"
            )
        places = slice(None) if actual is None else names[str(actual)]
        cost = given[actual, answer]
        table[:, places, answers[str(answer)]] = cost[:, None] if np.ndim(cost) and actual is None else cost
        amounts[places, answers[str(answer)]] = _named(cells[actual, answer])
    known = np.isnan(table[0])
    known[np.arange(len(names)), np.arange(len(names))] = False  # right answers are free by default
    for k, a in np.argwhere(known):
        if default is None or a >= len(names):
            pair = (classes[k], [*classes, *actions][a])
            raise CostError(f"no cost of the outcome {pair} is given (0 if it is free, or default=)")
    table = np.where(np.isnan(table), _else(table, default), table)
    return _with_amounts(OutcomeTable(tuple(classes), tuple(actions), table), amounts, typical or {})


def _named(cost: Any) -> Amount | None:
    return cost if isinstance(cost, Amount) else None


def _with_amounts(table: OutcomeTable, amounts: Any, typical: Mapping[str, float]) -> OutcomeTable:
    """The table with the names of columns in which some of its costs are."""
    names = tuple(dict.fromkeys(one.column for one in amounts.ravel() if one is not None))
    if not names:
        return table
    columns = [[-1 if one is None else names.index(one.column) for one in line] for line in amounts]
    factors = [[1.0 if one is None else one.factor for one in line] for line in amounts]
    return replace(
        table,
        amounts=AmountCells(np.array(columns, dtype=np.int64), np.array(factors)),
        names=names,
        typical=tuple(typical.get(name, np.nan) for name in names),
    )


def _else(table: Floats, default: float | None) -> Floats:
    """What outcomes cost that are not given: nothing for right answers, else the default."""
    rest = np.full(table.shape[1:], 0.0 if default is None else default)
    rest[np.arange(len(rest)), np.arange(len(rest))] = 0.0
    return rest


def read_array(costs: Any) -> Floats:
    """A matrix with one dimension in front, or amounts of rows."""
    try:
        array = np.array(costs, dtype=np.float64)
    except (TypeError, ValueError):
        raise CostError(
            "outcome costs are a mapping, a matrix cost[actual, answer] or one amount per row, not "
            f"{shown(costs)}"
        ) from None
    if array.ndim not in (1, 2, 3) or 0 in array.shape:
        raise CostError(f"outcome costs have one to three dimensions, not the shape {array.shape}")
    if array.ndim > 1 and array.shape[-1] < array.shape[-2]:
        raise CostError(
            f"a matrix of outcome costs has a line per class and a column per answer, and the first answers "
            f"are the classes; its shape is {array.shape[-2:]}"
        )
    _check_finite(array, "outcome costs")
    return array[None] if array.ndim == 2 else array


def read_amounts(values: Any, what: str) -> Floats:
    try:
        amounts = np.array(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise CostError(f"{what} must be numbers, not {shown(values)}") from None
    if amounts.ndim != 1 or not len(amounts):
        raise CostError(f"{what} must be one amount per row; its shape is {amounts.shape}")
    _check_finite(amounts, what)
    return amounts


def _check_finite(array: Floats, what: str) -> None:
    bad = ~(np.isfinite(array) & (array >= 0.0))
    if bad.any():
        place = tuple(int(i) for i in np.argwhere(bad)[0])
        raise CostError(
            f"{what} must be finite and 0 or more; at {place} is {array[place]:g}. A gain is written by "
            "adding the same amount to all answers to that class"
        )

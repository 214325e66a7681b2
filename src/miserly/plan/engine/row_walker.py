"""One row at a time, without bookkeeping: for a service that answers one request at a time."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from miserly.errors import DataError
from miserly.plan.engine.batch import FLOATS, encode, engine_of, run_rows
from miserly.plan.engine.chain import chain_of
from miserly.plan.engine.row_chain import row_chain_of
from miserly.utils.inputs import as_input

if TYPE_CHECKING:
    from miserly.plan.plan import Plan

__all__ = ["walker"]

_NUMBERS = frozenset((float, int, np.float64))
_KEYS = _NUMBERS | {str}
_MOST = 2.0**53


def walker(plan: Plan) -> Callable[[Any], NDArray[np.float64]]:
    """A function from one row to its scores, without bookkeeping; the plan's own budget is kept.

    The row is an array or a list with one entry per input of the plan. Additive chains of trees take the
    compiled short way, fastest for numbers in float32 or float64; any other plan runs as `Plan.run` runs it.
    A row of another length is refused: compiled code would read past its end.

    Parameters
    ----------
    plan : Plan
        The plan.

    Returns
    -------
    callable
    """
    engine, shape = engine_of(plan, None), (plan.n_features,)
    chain = None if engine is None or np.isfinite(plan.budget) else chain_of(plan)
    if chain is None:
        return lambda x: run_rows(plan, encode(plan, _row(x, shape)[None]), account=False).scores.reshape(-1)
    base, n_outputs, packed, read = plan.base, plan.n_outputs, row_chain_of(plan), _reader(plan)
    coded = not set(plan.categories).isdisjoint(plan.features.tolist())
    narrow, wide = (None, None) if coded else FLOATS  # numbers are no categories

    def add(x: NDArray[Any], scores: NDArray[np.float64]) -> None:
        engine.score_chain(*chain, x[None], 0, 1, scores[None])

    if packed is not None:
        base, add = packed.base, partial(engine.score_row, *packed.arrays)

    def walk(x: Any) -> NDArray[np.float64]:
        if type(x) is not np.ndarray or x.shape != shape or (x.dtype is not wide and x.dtype is not narrow):
            row = _row(x, shape)
            x = read(row)
            x = encode(plan, row[None])[0] if x is None else x
        scores = base.copy()
        add(as_input(np.ascontiguousarray(x)), scores)
        return scores[:n_outputs]

    return walk


def _row(x: Any, shape: tuple[int, ...]) -> NDArray[Any]:
    """One row for a walker."""
    row = x if isinstance(x, np.ndarray) else np.array(x, dtype=object)
    if row.shape != shape:
        raise DataError(f"a row must have {shape[0]} values, one for each column; its shape is {row.shape}")
    return row


def _reader(plan: Plan) -> Callable[[NDArray[Any]], NDArray[np.float64] | None]:
    """A function that encodes a row of plain numbers and known categories as `Encoder.rows` does.

    It gives None for a row with any other value, such as a category that is not known: the encoder decides.
    """
    codes = [
        (f, {value: float(code) for code, value in enumerate(plan.categories[f])})
        for f in plan.features.tolist()
        if f in plan.categories
    ]
    numbers = [f for f in plan.features.tolist() if f not in plan.categories]
    blank = np.full(plan.n_features, np.nan).tolist()

    def read(row: NDArray[Any]) -> NDArray[np.float64] | None:
        if row.dtype.kind != "O":
            return None
        values, found = row.tolist(), blank.copy()
        for f in numbers:
            value = values[f]
            if value is None:
                continue
            if type(value) not in _NUMBERS or not (-_MOST < value < _MOST or value != value):
                return None
            found[f] = value
        for f, places in codes:
            value = values[f]
            if value is None:
                continue
            if type(value) not in _KEYS:
                return None
            code = places.get(value)
            if code is not None:
                found[f] = code
            elif value == value:  # else it is missing
                return None
        return np.array(found)

    return read

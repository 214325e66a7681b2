"""What single rows know for free, and what they pay: the arguments `known` and `prices` of a run."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from miserly.costs.costs import Costs
from miserly.costs.prices import Bools, Floats, RowPrices, groups_of_rows, row_totals
from miserly.data.arrays import (
    EncodedFrame,
    array_of,
    column_at,
    is_table,
    labels_of,
    matrix_from,
)
from miserly.errors import CostError, did_you_mean
from miserly.utils.checks import read_price

__all__ = ["RowCosts", "free_features", "read_mask", "read_row_costs"]


@dataclass(frozen=True, eq=False)
class RowCosts:
    """What each row knows already, and the prices that it pays. Made by `read_row_costs`.

    Parameters
    ----------
    known : bool array of (n, d), optional
        What each row has already. It costs nothing, and its group counts as set up.
    prices : RowPrices
        The prices of each row. Read-only arrays.
    tops : pair of arrays, optional
        The highest prices of features and set-ups, if these are some of more rows.

    Examples
    --------
    >>> costs = Costs([1.0, 4.0])
    >>> some = read_row_costs(costs, 2, known=np.array([[False, True], [False, False]]))
    >>> some.of_each(np.array([[True, True], [True, True]])).tolist(), some.expected(costs).feature.tolist()
    ([1.0, 5.0], [1.0, 2.0])
    """

    known: Bools | None
    prices: RowPrices
    tops: tuple[Floats, Floats] | None = None

    @property
    def opened(self) -> Bools | None:
        """The groups (n, groups) that are set up already, because a row knows a feature of them."""
        return None if self.known is None else groups_of_rows(self.known, self.prices)

    def take(self, rows: NDArray[Any]) -> RowCosts:
        """Select some of the rows, by number or by a mask.

        Parameters
        ----------
        rows : array of int or bool
            The rows.

        Returns
        -------
        RowCosts
            Those of the selected rows, in the order of `rows`.
        """
        own, setup = (
            part if len(part) == 1 else _read_only(part[rows])
            for part in (self.prices.own, self.prices.setup)
        )
        return RowCosts(
            None if self.known is None else self.known[rows],
            self.prices._replace(own=own, setup=setup),
            self._tops,
        )

    @cached_property
    def _tops(self) -> tuple[Floats, Floats]:
        return self.tops or (self.prices.own.max(axis=0), self.prices.setup.max(axis=0))

    def of_each(self, acquired: Bools) -> Floats:
        """Return what each row pays for the features (n, d) that it acquires.

        Parameters
        ----------
        acquired : bool array of (n, d)
            The features of each row.

        Returns
        -------
        array of (n,)
        """
        return row_totals(acquired, self.prices, self.known)

    def expected(self, costs: Costs, weight: Floats | None = None) -> Costs:
        """Return the mean price of each feature and each set-up over the rows.

        A row that knows a feature pays nothing for it, and nothing for the set-up of its group.

        Parameters
        ----------
        costs : Costs
            The list of prices, whose names, groups, evaluation and unit are kept.
        weight : array of (n,), optional
            Weights of the rows.

        Returns
        -------
        Costs
        """
        own, setup = self.prices.own, self.prices.setup
        if self.known is not None:
            own = np.where(self.known, 0.0, own)
            setup = np.where(groups_of_rows(self.known, self.prices), 0.0, setup)
        return _changed(costs, *(_mean(part, weight) for part in (own, setup)))

    def highest(self, costs: Costs) -> Costs:
        """Return the highest price of each feature and each set-up in any row, taken or not.

        Parameters
        ----------
        costs : Costs
            The list of prices, whose names, groups, evaluation and unit are kept.

        Returns
        -------
        Costs
        """
        return _changed(costs, *self._tops)

    @property
    def run_arguments(self) -> dict[str, Any]:
        """The arguments `known` and `prices` of `Plan.run`; without prices if all rows pay the list's."""
        listed = len(self.prices.own) == len(self.prices.setup) == 1
        return {"known": self.known, "prices": None if listed else self.prices}


def read_row_costs(
    costs: Costs, rows: Any, known: Any = None, prices: Any = None, n_rows: int | None = None
) -> RowCosts | None:
    """Read and check what rows know, and the prices that they pay.

    Parameters
    ----------
    costs : Costs
        The list of prices, of the columns of the rows.
    rows : frame, array of (n, d), or int
        The rows as users give them, or only their number. A function for `prices` needs the rows.
    known : bool array of (n, d), frame or mapping of bools, or list of str or int, optional
        What each row has already. Columns of frames and mappings are found by name; those that are left out
        are not known. A list names features that all rows have.
    prices : array of (n, d), frame, mapping or function, optional
        Prices of each row. Frames and mappings name features, and groups for the price of their set-up; what
        they do not name keeps its price in `costs`. An entry of a mapping may be one number for all rows. A
        function is called with a mapping from each free feature that the rows have to its values, and gives
        any of these. Free are features of price 0, and those that all rows know.
    n_rows : int, optional
        The number of rows, if it is known already.

    Returns
    -------
    RowCosts or None
        None if neither is given.

    Raises
    ------
    CostError
        If a shape, a name or a price is wrong.

    Examples
    --------
    >>> costs = Costs({"age": 0.0, "mri": 400.0})
    >>> def by_age(free):
    ...     return {"mri": np.where(free["age"] > 65, 100.0, 400.0)}
    >>> read_row_costs(costs, np.array([[70.0, 1.0], [50.0, 1.0]]), prices=by_age).prices.own.tolist()
    [[0.0, 100.0], [0.0, 400.0]]
    """
    if known is None and prices is None:
        return None
    n = n_rows if n_rows is not None else rows if isinstance(rows, int) else len(rows)
    mask = None if known is None else read_mask(known, costs, n)
    if callable(prices):
        prices = prices(_free_values(costs, rows, mask))
        if prices is None or callable(prices):
            raise CostError(f"the function for prices must give prices, not {prices!r}")
    return RowCosts(mask, _read_prices(prices, costs, n))


# -- masks ---------------------------------------------------------------------------------------------------


def read_mask(given: Any, costs: Costs, n: int, what: str = "known", default: bool = False) -> Bools:
    """Read a mask of rows and features.

    Parameters
    ----------
    given : bool array of (n, d), frame or mapping of bools, or list of str or int
        Columns of frames and mappings are found by name. A list names features of all rows.
    costs : Costs
        The features.
    n : int
        The number of rows.
    what : str, default="known"
        The name of the mask in errors.
    default : bool, default=False
        What features have that a frame or mapping leaves out.

    Returns
    -------
    bool array of (n, d)
        A new array.
    """
    if is_table(given) or isinstance(given, Mapping):
        mask = np.full((n, len(costs)), default, dtype=np.bool_)
        for name, values in _columns(given):
            mask[:, _index(costs, name, what)] = _flags(values, f"{what}[{name!r}]", n)
        return mask
    if np.ndim(given) != 2:
        if isinstance(given, np.ndarray) and given.dtype == np.bool_ and given.shape != costs.feature.shape:
            raise CostError(f"{what} must be of shape ({n}, {len(costs)}), not {given.shape}")
        return np.tile(costs.mask(given), (n, 1))
    given = np.asarray(given)
    if given.shape != (n, len(costs)) or given.dtype != np.bool_:
        shape = f"({n}, {len(costs)})"
        raise CostError(
            f"{what} must hold booleans and be of shape {shape}, not {given.dtype} of {given.shape}"
        )
    return given.copy()


def _flags(values: Any, what: str, n: int) -> Bools:
    given = np.asarray(values) if np.ndim(values) == 0 else array_of(values, what)
    if given.dtype == object and all(isinstance(one, (bool, np.bool_)) for one in given.ravel()):
        given = given.astype(np.bool_)
    if given.dtype != np.bool_ or given.shape not in ((), (n,)):
        raise CostError(f"{what} must hold {n} booleans, not {given.dtype} of shape {given.shape}")
    return given


# -- prices --------------------------------------------------------------------------------------------------


def _read_prices(prices: Any, costs: Costs, n: int) -> RowPrices:
    own, setup = costs.feature[None], costs.setup[None]
    if isinstance(prices, RowPrices):
        if not {len(prices.own), len(prices.setup)} <= {1, n} or prices.own.shape[1] != len(costs):
            raise CostError(
                f"prices of {prices.own.shape} are not those of {n} rows and {len(costs)} features"
            )
        return RowPrices(_read_only(prices.own), costs.memberships, _read_only(prices.setup))
    if prices is None:
        return RowPrices(_read_only(own), costs.memberships, _read_only(setup))
    if is_table(prices) or isinstance(prices, Mapping):
        own, setup = np.repeat(own, n, axis=0), np.repeat(setup, n, axis=0)
        for name, values in _columns(prices):
            if isinstance(name, str) and name in costs.group_names:
                setup[:, costs.group_names.index(name)] = _amounts(values, f"group {name!r}", n)
            else:
                own[:, _index(costs, name, "prices")] = _amounts(values, repr(name), n)
    else:
        own = _matrix(prices, costs, n)
    return RowPrices(_read_only(own), costs.memberships, _read_only(setup))


def _matrix(prices: Any, costs: Costs, n: int) -> Floats:
    """Prices of all features, (n, d)."""
    given = np.asarray(prices)
    if given.shape != (n, len(costs)):
        raise CostError(f"prices must be of shape ({n}, {len(costs)}), not {given.shape}")
    return np.column_stack(
        [_amounts(given[:, f], repr(costs.name(f)), n) for f in range(len(costs))] or [np.empty((n, 0))]
    )


def _amounts(values: Any, what: str, n: int) -> Floats:
    """Checked prices of one feature or group: one for each row, or one for all."""
    if np.ndim(values) == 0:
        return np.full(n, read_price(values, what))
    given = array_of(values, f"the price of {what}")
    if given.shape != (n,):
        raise CostError(f"the price of {what} must be {n} numbers, not an array of shape {given.shape}")
    if given.dtype.kind in "iuf":
        wrong = np.flatnonzero(~(np.isfinite(given) & (given >= 0)))
        places = wrong[:1].tolist()
    else:
        places = list(range(n))
    for row in places:
        read_price(given[row], f"{what} in row {row}")
    return given.astype(np.float64) + 0.0


def _columns(given: Any) -> Iterator[tuple[Any, Any]]:
    """The names of columns and their values."""
    if isinstance(given, Mapping):
        yield from given.items()
        return
    labels = labels_of(given)
    for place, label in enumerate(labels):
        yield label, column_at(given, labels, place)


def _index(costs: Costs, name: Any, what: str) -> int:
    if isinstance(name, str) and (costs.names is None or name not in costs.names):
        near = did_you_mean(name, [*(costs.names or ()), *costs.group_names])
        raise CostError(f"{what}: no feature {name!r}{near}")
    return costs.index(name)


def _changed(costs: Costs, own: Floats, setup: Floats) -> Costs:
    """Costs with other prices."""
    groups = {
        name: {"features": costs.members(g).tolist(), "setup": float(setup[g])}
        for g, name in enumerate(costs.group_names)
    }
    plain = Costs(own, groups=groups, evaluation=costs.evaluation, unit=costs.unit)
    return plain if costs.names is None else plain.bind(costs.names)


def _mean(table: Floats, weight: Floats | None) -> Floats:
    """The mean of each column over rows, or the only line."""
    if len(table) == 1:
        return table[0]
    mean: Floats = table.mean(axis=0) if weight is None else weight @ table / weight.sum()
    return mean


def _read_only(values: Floats) -> Floats:
    values = np.ascontiguousarray(values).view()
    values.flags.writeable = False
    return values


# -- free features, for functions ----------------------------------------------------------------------------


def free_features(costs: Costs, known: Bools | None = None) -> Bools:
    """Mark the features that cost nothing: those of price 0, and those that every row knows.

    Parameters
    ----------
    costs : Costs
        The list of prices.
    known : bool array of (n, d), optional
        What each row knows.

    Returns
    -------
    bool array of (d,)

    Examples
    --------
    >>> free_features(Costs([0.0, 1.0, 2.0]), np.array([[False, True, True], [False, True, False]])).tolist()
    [True, True, False]
    """
    free: Bools = costs.marginals(np.zeros(len(costs), dtype=np.bool_)) == 0.0
    return free if known is None else free | known.all(axis=0)


class _FreeValues(dict[Any, "NDArray[Any]"]):
    """Values of free features by name. Asking for another feature is an error that says why."""

    def __missing__(self, name: Any) -> NDArray[Any]:
        free = ", ".join(repr(one) for one in self) or "none"
        raise CostError(
            f"a function for prices sees free features only, and {name!r} is none; free are {free}"
        )


def _free_values(costs: Costs, rows: Any, known: Bools | None) -> _FreeValues:
    """The values of free features that the rows have, by name."""
    if isinstance(rows, int):
        raise CostError("a function for prices needs the rows as they were given, not encoded; give an array")
    read = _reader(costs, rows)
    found = {costs.name(f): read(f) for f in np.flatnonzero(free_features(costs, known)).tolist()}
    return _FreeValues({name: values for name, values in found.items() if values is not None})


def _reader(costs: Costs, rows: Any) -> Callable[[int], NDArray[Any] | None]:
    """A function from the number of a column to its values; None where the rows lack it."""
    if not is_table(rows):
        matrix = matrix_from(rows)
        return lambda f: matrix[:, f] if matrix.ndim == 2 and f < matrix.shape[1] else None
    labels = labels_of(rows)
    place = {str(label): i for i, label in enumerate(labels)}

    def read(f: int) -> NDArray[Any] | None:
        at = f if costs.names is None else place.get(costs.names[f], -1)
        if not 0 <= at < len(labels):
            return None
        if isinstance(rows, EncodedFrame):
            return rows.decoded(at)
        return array_of(column_at(rows, labels, at), repr(labels[at]))

    return read

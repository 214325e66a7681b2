"""What features, groups of features and evaluations cost.

`Costs` is immutable. Every plan carries the costs it was learned with. `prices` has the arithmetic.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
from numpy.typing import ArrayLike

from miserly.costs.files import FORMATTERS, PARSERS
from miserly.costs.prices import (
    Bools,
    Floats,
    Ints,
    PriceList,
    marginal_prices,
    opened_by,
    row_prices,
    set_price,
)
from miserly.costs.reading import (
    Feature,
    check_sum,
    frozen,
    position,
    read_features,
    read_groups,
)
from miserly.errors import CostError, did_you_mean
from miserly.utils.checks import read_price, refuse_duplicates
from miserly.utils.files import atomic_write

__all__ = ["Costs", "Feature"]


class Costs:
    """What each feature costs, which features share a set-up, and what evaluating a term costs.

    Parameters
    ----------
    features : mapping of name to cost, array of costs, or number
        One non-negative, finite cost per feature. Zero is a free feature. A plain array gives features
        without names, in column order.
    groups : mapping, optional
        ``{"blood": {"features": ["chol", "fbs"], "setup": 2.10}}``. The set-up is paid once, on top of
        the features' own costs, when the first feature of the group is bought. A feature belongs to at
        most one group.
    evaluation : float, default=0
        What evaluating one term (a tree, a kernel) costs, once its features are there.
    unit : str, default=""
        What the numbers are in: "CAD", "ms", "calls".

    Examples
    --------
    >>> costs = Costs({"age": 1, "chol": 5.17, "fbs": 3.10},
    ...               groups={"blood": {"features": ["chol", "fbs"], "setup": 2.10}}, unit="CAD")
    >>> round(costs.of(["chol", "fbs"]), 2)
    10.37
    >>> costs.marginal("fbs", bought=["chol"])
    3.1
    """

    __slots__ = ("_index", "evaluation", "feature", "group", "group_names", "names", "setup", "unit")

    feature: Floats
    group: Ints
    setup: Floats
    names: tuple[str, ...] | None
    group_names: tuple[str, ...]
    evaluation: float
    unit: str
    _index: dict[Hashable, int]

    def __init__(
        self,
        features: Mapping[str, float] | ArrayLike,
        *,
        groups: Mapping[str, Mapping[str, Any]] | None = None,
        evaluation: float = 0.0,
        unit: str = "",
    ) -> None:
        if isinstance(features, Costs):
            raise CostError("these are Costs already; use bind or scaled to change them")
        names, own = read_features(features)
        index: dict[Hashable, int] = {name: i for i, name in enumerate(names or ())}
        labels, member, setup = read_groups({} if groups is None else groups, index, len(own))
        self._fill(own, member, setup, names, labels, evaluation, unit, index)

    def _fill(
        self,
        own: Floats,
        member: Ints,
        setup: Floats,
        names: tuple[str, ...] | None,
        group_names: tuple[str, ...],
        evaluation: float,
        unit: str,
        index: dict[Hashable, int],
    ) -> None:
        if not isinstance(unit, str) or unit.splitlines() not in ([], [unit]):
            raise CostError(f"the unit must be one line of text, not {unit!r}")
        check_sum(own, setup)
        assign = object.__setattr__
        assign(self, "feature", frozen(own, np.float64))
        assign(self, "group", frozen(member, np.int64))
        assign(self, "setup", frozen(setup, np.float64))
        assign(self, "names", names)
        assign(self, "group_names", group_names)
        assign(self, "evaluation", read_price(evaluation, "evaluation"))
        assign(self, "unit", unit.strip())
        assign(self, "_index", index)

    # -- making ------------------------------------------------------------------------------------

    @classmethod
    def uniform(cls, columns: int | Sequence[str], cost: float = 1.0, **rest: Any) -> Costs:
        """The same cost for every column: `Costs.uniform(13)` or `Costs.uniform(["age", "chol"])`."""
        if isinstance(columns, (int, np.integer)):
            return cls([cost] * int(columns), **rest)
        refuse_duplicates([str(name) for name in columns], "column")
        return cls(dict.fromkeys(columns, cost), **rest)

    @classmethod
    def from_dict(cls, record: Mapping[str, Any]) -> Costs:
        """The inverse of `to_dict`; also the layout of JSON and TOML files."""
        known = {"features", "groups", "evaluation", "unit"}
        if not isinstance(record, Mapping):
            raise CostError(f"costs are a table with the entry 'features', not {record!r}")
        for key in record:
            if key not in known:
                raise CostError(f"unknown entry {key!r} in costs{did_you_mean(key, known)}")
        if "features" not in record:
            raise CostError("costs need an entry 'features'")
        return cls(
            record["features"],
            groups=record.get("groups"),
            evaluation=record.get("evaluation", 0.0),
            unit=record.get("unit", ""),
        )

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers, strings, lists and dicts, fit for JSON."""
        features: Any = [float(c) for c in self.feature]
        if self.names is not None:
            features = dict(zip(self.names, features, strict=True))
        groups = {
            name: {"features": [self.name(i) for i in self.members(g)], "setup": float(self.setup[g])}
            for g, name in enumerate(self.group_names)
        }
        return {"features": features, "groups": groups, "evaluation": self.evaluation, "unit": self.unit}

    @classmethod
    def read(cls, path: str | Path) -> Costs:
        """Read a `.csv`, `.json` or `.toml` file.

        A CSV file has the columns ``feature,cost`` and, if there are groups, ``group,setup``; lines such
        as ``# unit: CAD`` and ``# evaluation: 0.01`` may come first.
        """
        path = Path(path)
        parse = PARSERS.get(path.suffix.lower())
        if parse is None:
            raise CostError(f"{path}: costs are read from .csv, .json or .toml")
        try:
            with path.open(encoding="utf-8-sig", newline="") as file:
                text = file.read()
            return cls.from_dict(parse(text))
        except UnicodeDecodeError as error:
            raise CostError(f"{path}: not a text file in UTF-8 ({error})") from None
        except CostError as error:
            raise CostError(f"{path}: {error}") from None

    def write(self, path: str | Path) -> None:
        """Write a `.csv`, `.json` or `.toml` file that `read` gives back unchanged."""
        path = Path(path)
        formatter = FORMATTERS.get(path.suffix.lower())
        if formatter is None:
            raise CostError(f"{path}: costs are written to .csv, .json or .toml")
        text = formatter(self.to_dict())
        with atomic_write(path, "w", newline="", error=CostError) as file:
            file.write(text)

    # -- asking ------------------------------------------------------------------------------------

    def __len__(self) -> int:
        return len(self.feature)

    def name(self, i: int) -> Feature:
        """The name of feature `i`, or `i` itself where features have no names."""
        return self.names[i] if self.names is not None else int(i)

    def members(self, group: int) -> Ints:
        """The features of group number `group`."""
        return np.flatnonzero(self.group == group)

    def index(self, feature: Feature) -> int:
        """The column of a feature given by name or number."""
        return position(feature, self._index, len(self), "costs")

    def mask(self, features: ArrayLike | Iterable[Feature]) -> Bools:
        """Any way of naming a set of features (names, numbers, a boolean mask) as a boolean mask."""
        if isinstance(features, np.ndarray) and features.dtype == np.bool_:
            if features.shape != self.feature.shape:
                raise CostError(f"a mask of {features.shape} does not fit {len(self)} features")
            return features.copy()
        out = np.zeros(len(self), dtype=np.bool_)
        listed = [features] if isinstance(features, (str, int, np.integer)) else features
        for feature in listed:  # type: ignore[union-attr]
            out[self.index(feature)] = True  # type: ignore[arg-type]
        return out

    def of(self, features: ArrayLike | Iterable[Feature], evaluations: int = 0) -> float:
        """The cost of a set of features bought together, plus that of `evaluations` terms."""
        return set_price(self.mask(features), self.prices, evaluations * self.evaluation)

    def of_each(self, bought: Bools, features: Ints | None = None) -> Floats:
        """The cost of what each row of a table (n, n_features) has bought; or (n, some), of these features.

        >>> lab = {"lab": {"features": ["b", "c"], "setup": 10.0}}
        >>> costs = Costs({"a": 1.0, "b": 2.0, "c": 3.0}, groups=lab)
        >>> costs.of_each(np.array([[True, False, False], [True, True, True]])).tolist()
        [1.0, 16.0]
        >>> costs.of_each(np.array([[True, False], [True, True]]), features=np.array([2, 0])).tolist()
        [13.0, 14.0]
        """
        if features is None:
            return row_prices(bought, self.prices)
        return row_prices(bought, PriceList(self.feature[features], self.group[features], self.setup))

    def marginal(self, feature: Feature, bought: ArrayLike | Iterable[Feature] = ()) -> float:
        """What `feature` costs once the features in `bought` are paid: nothing if it is among them."""
        return float(self.marginals(self.mask(bought))[self.index(feature)])

    def marginals(self, bought: Bools) -> Floats:
        """The marginal cost of every feature given a mask of what is bought."""
        return marginal_prices(bought, opened_by(bought, self.prices), self.prices)

    @property
    def prices(self) -> PriceList:
        """The arrays that the functions of `miserly.costs.prices` take."""
        return PriceList(self.feature, self.group, self.setup)

    @property
    def total(self) -> float:
        """The cost of all features and all set-ups."""
        return self.of(np.ones(len(self), dtype=np.bool_))

    # -- changing (a new object each time) -----------------------------------------------------------

    def bind(self, columns: int | Sequence[str]) -> Costs:
        """These costs in the order of the columns of a matrix or frame.

        Columns given by number bind by position; columns given by name bind by name if the costs have
        names, and lend their names to costs that have none.
        """
        if isinstance(columns, (int, np.integer)):
            if columns != len(self):
                raise CostError(f"{len(self)} costs for {columns} columns")
            return self
        columns = [str(c) for c in columns]
        refuse_duplicates(columns, "column")
        if self.names is None:
            if len(columns) != len(self):
                raise CostError(f"{len(self)} costs for {len(columns)} columns")
            order = np.arange(len(self))
        else:
            order = self._order(columns)
        new = object.__new__(Costs)
        new._fill(
            self.feature[order],
            self.group[order],
            self.setup,
            tuple(columns),
            self.group_names,
            self.evaluation,
            self.unit,
            {name: i for i, name in enumerate(columns)},
        )
        return new

    def _order(self, columns: Sequence[str]) -> Ints:
        for column in columns:
            if column not in self._index:
                raise CostError(f"no cost for column {column!r}{did_you_mean(column, self._index)}")
        present = set(columns)
        for name in self.names or ():
            if name not in present:
                raise CostError(f"a cost for {name!r}, which is no column{did_you_mean(name, columns)}")
        return np.array([self._index[c] for c in columns], dtype=np.int64)

    def scaled(self, factor: float) -> Costs:
        """Every price times `factor`: another currency, another unit of time."""
        factor = read_price(factor, "factor")
        new = object.__new__(Costs)
        with np.errstate(over="ignore"):  # _fill refuses what has become infinite
            feature, setup = self.feature * factor, self.setup * factor
        new._fill(
            feature,
            self.group,
            setup,
            self.names,
            self.group_names,
            self.evaluation * factor,
            self.unit,
            self._index,
        )
        return new

    # -- being a value -------------------------------------------------------------------------------

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError("Costs cannot be changed; make new ones")

    def __delattr__(self, name: str) -> NoReturn:
        raise AttributeError("Costs cannot be changed; make new ones")

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Costs) and self._value() == other._value()

    def __hash__(self) -> int:
        return hash(self._value())

    def _value(self) -> tuple[Hashable, ...]:
        """What makes two costs the same: the order of the features counts, that of the groups does not."""
        setups = enumerate(zip(self.group_names, self.setup, strict=True))
        groups = {(name, setup, *self.members(g)) for g, (name, setup) in setups}
        return (self.names, self.feature.tobytes(), frozenset(groups), self.evaluation, self.unit)

    def __deepcopy__(self, memo: dict[int, Any]) -> Costs:
        return self

    def __copy__(self) -> Costs:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        return Costs.from_dict, (self.to_dict(),)

    def __repr__(self) -> str:
        parts = [f"{len(self)} features", f"total {self.total:g}{' ' + self.unit if self.unit else ''}"]
        if self.group_names:
            parts.append(f"groups {', '.join(self.group_names)}")
        if self.evaluation:
            parts.append(f"evaluation {self.evaluation:g}")
        return f"Costs({'; '.join(parts)})"

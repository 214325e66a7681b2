"""What features, groups of features and evaluations cost, and the record of what has been paid.

`Costs` is immutable and says what things cost; `Ledger` is the mutable record of one account: which
features are paid, which groups are open, what has been spent, and what still fits the budget. Every
learner buys through a `Ledger`; every plan carries the `Costs` it was learned with.

    cost of a set A = sum of the features' own costs in A + the set-up of every group touched by A
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NoReturn, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from miserly.costs.files import FORMATTERS, PARSERS
from miserly.costs.reading import (
    Feature,
    Floats,
    Ints,
    check_sum,
    frozen,
    position,
    read_features,
    read_groups,
)
from miserly.errors import CostError, did_you_mean
from miserly.utils.checks import read_budget, read_price, refuse_duplicates
from miserly.utils.files import atomic_write

__all__ = ["Costs", "Feature", "Ledger", "fits", "read_budget"]

Bools: TypeAlias = NDArray[np.bool_]

# A sum of prices is rounded; a budget that equals it on paper must still admit it.
SLACK = 1e-12


def fits(spent: float, price: float, budget: float) -> bool:
    """Whether `price` can be paid on top of `spent` without passing `budget` (free things always can).

    >>> fits(0.1, 0.2, 0.3), fits(0.1, 0.21, 0.3), fits(5.0, 0.0, 1.0)
    (True, False, True)
    """
    return price == 0.0 or spent + price <= budget * (1.0 + SLACK)


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
        mask = self.mask(features)
        touched = np.unique(self.group[mask])
        parts = [*self.feature[mask], *self.setup[touched[touched >= 0]], evaluations * self.evaluation]
        return math.fsum(parts)

    def of_each(self, bought: Bools, features: Ints | None = None) -> Floats:
        """The cost of what each row of a table (n, n_features) has bought; or (n, some), of these features.

        >>> lab = {"lab": {"features": ["b", "c"], "setup": 10.0}}
        >>> costs = Costs({"a": 1.0, "b": 2.0, "c": 3.0}, groups=lab)
        >>> costs.of_each(np.array([[True, False, False], [True, True, True]])).tolist()
        [1.0, 16.0]
        >>> costs.of_each(np.array([[True, False], [True, True]]), features=np.array([2, 0])).tolist()
        [13.0, 14.0]
        """
        columns = np.arange(len(self)) if features is None else features
        total: Floats = bought @ self.feature[columns]
        group = self.group[columns]
        for g in np.unique(group[group >= 0]).tolist():
            total += self.setup[g] * bought[:, group == g].any(axis=1)
        return total

    def marginal(self, feature: Feature, bought: ArrayLike | Iterable[Feature] = ()) -> float:
        """What `feature` costs once the features in `bought` are paid: nothing if it is among them."""
        return float(self.marginals(self.mask(bought))[self.index(feature)])

    def marginals(self, bought: Bools) -> Floats:
        """The marginal cost of every feature given a mask of what is bought."""
        opened = np.zeros(len(self.setup) + 1, dtype=np.bool_)
        opened[self.group[bought]] = True
        setup = np.append(self.setup, 0.0)  # the last one is that of group -1: no group, nothing to set up
        return np.where(bought, 0.0, self.feature + np.where(opened, 0.0, setup)[self.group])

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


class Ledger:
    """One account: what is paid, which groups are open, what is spent, what still fits.

    Learners that buy features share a ledger with everything they grow, so that a feature paid for by
    one tree is free for the next. `paid`, `opened` and `account` are plain arrays so that compiled code
    can read and update them in place; `account` holds (spent, budget).

    Examples
    --------
    >>> ledger = Ledger(Costs([1.0, 4.0, 2.0]), budget=5)
    >>> ledger.buy(1), ledger.spent, ledger.affordable(2), ledger.affordable(0)
    (4.0, 4.0, False, True)
    """

    def __init__(self, costs: Costs, budget: float | None = None) -> None:
        self.costs = costs
        self.paid: Bools = np.zeros(len(costs), dtype=np.bool_)
        self.opened: Bools = np.zeros(len(costs.setup), dtype=np.bool_)
        self.account: Floats = np.array([0.0, read_budget(budget)])

    @property
    def spent(self) -> float:
        return float(self.account[0])

    @property
    def budget(self) -> float:
        return float(self.account[1])

    def price(self, feature: int) -> float:
        """What buying `feature` would cost now."""
        if self.paid[feature]:
            return 0.0
        group = self.costs.group[feature]
        setup = 0.0 if group < 0 or self.opened[group] else self.costs.setup[group]
        return float(self.costs.feature[feature] + setup)

    def affordable(self, feature: int) -> bool:
        return fits(self.spent, self.price(feature), self.budget)

    def buy(self, feature: int) -> float:
        """Pay for a feature; gives the price, or `CostError` if it does not fit the budget."""
        price = self.price(feature)
        if not fits(self.spent, price, self.budget):
            raise CostError(
                f"feature {self.costs.name(feature)!r} costs {price:g}, "
                f"but only {self.budget - self.spent:g} of {self.budget:g} is left"
            )
        self.paid[feature] = True
        if self.costs.group[feature] >= 0:
            self.opened[self.costs.group[feature]] = True
        self.account[0] += price
        return price

    def can_evaluate(self, terms: int = 1) -> bool:
        """Whether evaluating `terms` more terms fits the budget."""
        return fits(self.spent, terms * self.costs.evaluation, self.budget)

    def evaluate(self, terms: int = 1) -> None:
        """Pay for evaluating `terms` terms."""
        if not self.can_evaluate(terms):
            raise CostError(f"evaluating {terms} more terms does not fit the budget of {self.budget:g}")
        self.account[0] += terms * self.costs.evaluation

    def state(self) -> dict[str, Any]:
        """Everything needed to go on later, as plain arrays."""
        return {"paid": self.paid.copy(), "opened": self.opened.copy(), "account": self.account.copy()}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Go back (or forward) to a saved `state`."""
        current = {"paid": self.paid, "opened": self.opened, "account": self.account}
        for key, array in current.items():
            if key not in state or np.shape(state[key]) != array.shape:
                found = np.shape(state[key]) if key in state else "is missing"
                raise CostError(f"saved {key!r} {found}, but these costs need shape {array.shape}")
        for key, array in current.items():  # only once all of it is known to fit
            array[:] = state[key]

    def copy(self) -> Ledger:
        new = Ledger(self.costs, None)
        new.restore(self.state())
        return new

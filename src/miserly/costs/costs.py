"""The costs of features, groups of features and evaluations.

`Costs` is immutable. Every plan has the costs that it was learned with. `queries` has the methods that look
something up, `changes` those that give changed copies, `prices` the arithmetic.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, NoReturn

import numpy as np
from numpy.typing import ArrayLike

from miserly.costs.changes import CostChanges
from miserly.costs.files import read_file, write_file
from miserly.costs.notes import Note, plain_note, read_notes, split_features
from miserly.costs.prices import Floats, Ints
from miserly.costs.reading import Feature, check_sum, frozen, read_features, read_groups
from miserly.errors import CostError, did_you_mean
from miserly.utils.checks import read_price, refuse_duplicates

__all__ = ["Costs", "Feature"]


class Costs(CostChanges):
    """The cost of each feature, the set-up costs of groups, and the cost of evaluating a term.

    The price of a set of features is the sum of their own costs and of the set-up of each group that the set
    touches. Objects are immutable and can be compared, hashed and pickled. Columns that are made from other
    columns are priced by `derived`.

    Parameters
    ----------
    features : mapping of str to float, array of (d,), or float
        One non-negative, finite cost per feature. A feature of cost 0 is free. An array gives features
        without names, in column order.
    groups : mapping, optional
        ``{"blood": {"features": ["chol", "fbs"], "setup": 2.10}}``. The set-up is paid once, in addition to
        the features' own costs, when the first feature of the group is bought. A feature may belong to
        several groups: it opens all of them. No groups by default.
    evaluation : float, default=0
        Cost of evaluating one term (a tree, a kernel) when its features are known.
    unit : str, default=""
        Unit of all costs, such as "CAD", "ms" or "calls". One line of text.
    notes : mapping, optional
        Words for people, by feature: ``{"chol": {"label": "Cholesterol", "unit": "mg/dl", "help": "fasting",
        "choices": {}}}``. Each is optional; `choices` gives the meaning of values. Plans that are fitted with
        these costs show them. They count neither in comparisons nor in the digest of a plan.

    Attributes
    ----------
    feature : array of (d,), read-only
        The own cost of each feature.
    memberships : int array of (d, m), read-only
        The groups of each feature. Rows with fewer than `m` groups end in -1.
    group : int array of (d,), read-only
        The first group of each feature, -1 for none.
    setup : array of (groups,), read-only
        The set-up cost of each group.
    names : tuple of str, or None
        The names of the features, if they have names.
    group_names : tuple of str
        The names of the groups.
    evaluation : float
        Cost of evaluating one term.
    unit : str
        Unit of all costs.
    notes : mapping of feature to mapping, read-only
        Words for people, of the features that have any.

    Raises
    ------
    CostError
        If a cost is negative or not a finite number, a name is used twice, or a group is not as above.

    Examples
    --------
    >>> costs = Costs({"age": 1, "chol": 5.17, "fbs": 3.10},
    ...               groups={"blood": {"features": ["chol", "fbs"], "setup": 2.10}}, unit="CAD")
    >>> round(costs.of(["chol", "fbs"]), 2)
    10.37
    >>> costs.marginal("fbs", bought=["chol"])
    3.1
    """

    __slots__ = (
        "_index",
        "evaluation",
        "feature",
        "group_names",
        "memberships",
        "names",
        "notes",
        "setup",
        "unit",
    )

    def __init__(
        self,
        features: Mapping[str, float] | ArrayLike,
        *,
        groups: Mapping[str, Mapping[str, Any]] | None = None,
        evaluation: float = 0.0,
        unit: str = "",
        notes: Mapping[Any, Mapping[str, Any]] | None = None,
    ) -> None:
        if isinstance(features, Costs):
            raise CostError("these are Costs already; use bind or scaled to change them")
        names, own = read_features(features)
        index: dict[Hashable, int] = {name: i for i, name in enumerate(names or ())}
        labels, member, setup = read_groups({} if groups is None else groups, index, len(own))
        words = read_notes(notes, names, len(own))
        self._fill(own, member, setup, names, labels, evaluation, unit, index, words)

    def _fill(
        self,
        own: Floats, member: Ints, setup: Floats, names: tuple[str, ...] | None, group_names: tuple[str, ...],
        evaluation: float, unit: str, index: dict[Hashable, int], notes: Mapping[Feature, Note],
    ) -> None:  # fmt: skip
        if not isinstance(unit, str) or unit.splitlines() not in ([], [unit]):
            raise CostError(f"the unit must be one line of text, not {unit!r}")
        check_sum(own, setup)
        assign = object.__setattr__
        assign(self, "feature", frozen(own, np.float64))
        assign(self, "memberships", frozen(member, np.int64))
        assign(self, "setup", frozen(setup, np.float64))
        assign(self, "names", names)
        assign(self, "group_names", group_names)
        assign(self, "evaluation", read_price(evaluation, "evaluation"))
        assign(self, "unit", unit.strip())
        assign(self, "_index", index)
        assign(self, "notes", MappingProxyType(dict(notes)))

    # -- records and files -----------------------------------------------------------------------------

    @classmethod
    def uniform(cls, columns: int | Sequence[str], cost: float = 1.0, **rest: Any) -> Costs:
        """Make costs that are the same for every column.

        Parameters
        ----------
        columns : int or sequence of str
            Number of columns, or their names.
        cost : float, default=1
            Cost of each feature.
        **rest
            Other parameters of `Costs`: `groups`, `evaluation`, `unit`.

        Returns
        -------
        Costs

        Examples
        --------
        >>> Costs.uniform(["age", "chol"], cost=2).total
        4.0
        """
        if isinstance(columns, (int, np.integer)):
            return cls([cost] * int(columns), **rest)
        refuse_duplicates([str(name) for name in columns], "column")
        return cls(dict.fromkeys(columns, cost), **rest)

    @classmethod
    def measure(cls, sources: Mapping[Any, Any], samples: Sequence[Any], **rest: Any) -> Costs:
        """Measure how long sources take, and make costs of it.

        Parameters
        ----------
        sources : mapping of feature or group to callable
            As for `miserly.runtime.OnDemand`, sync or async.
        samples : sequence of object
            Raw inputs to call them with.
        **rest
            Other parameters of `miserly.costs.measure`, which also gives the spread of the times: `repeats`,
            `unit`, `price`, `groups`, `batch_size`.

        Returns
        -------
        Costs
            In milliseconds by default. The price of a group is its set-up; its features cost 0 then.

        Examples
        --------
        >>> Costs.measure({"length": len}, ["a text", "another text"]).unit
        'ms'
        """
        from miserly.costs.measuring import measure

        return measure(sources, samples, **rest).costs

    @classmethod
    def from_dict(cls, record: Mapping[str, Any]) -> Costs:
        """Make costs from a record of plain values, the inverse of `to_dict`.

        Parameters
        ----------
        record : mapping
            The parameters of `Costs` by name. Only ``"features"`` is required. A feature with notes is a
            table: ``{"cost": 5.17, "label": "Cholesterol"}``. JSON and TOML files have the same layout.

        Returns
        -------
        Costs

        Raises
        ------
        CostError
            If an entry is missing, unknown or wrong.
        """
        known = {"features", "groups", "evaluation", "unit"}
        if not isinstance(record, Mapping):
            raise CostError(f"costs are a table with the entry 'features', not {record!r}")
        for key in record:
            if key not in known:
                raise CostError(f"unknown entry {key!r} in costs{did_you_mean(key, known)}")
        if "features" not in record:
            raise CostError("costs need an entry 'features'")
        features, notes = split_features(record["features"])
        rest = {key: value for key, value in record.items() if key != "features"}
        return cls(features, **rest, notes=notes)

    def to_dict(self, notes: bool = False) -> dict[str, Any]:
        """Return the costs as a record of plain values that JSON can hold.

        Parameters
        ----------
        notes : bool, default=False
            Whether features with notes are tables with `cost`, `label` and so on, instead of numbers.

        Returns
        -------
        dict
            The entries ``"features"``, ``"groups"``, ``"evaluation"`` and ``"unit"``.

        Examples
        --------
        >>> Costs([1.0, 4.0], unit="ms").to_dict()
        {'features': [1.0, 4.0], 'groups': {}, 'evaluation': 0.0, 'unit': 'ms'}
        """
        features: Any = [float(c) for c in self.feature]
        for name, note in self.notes.items() if notes else ():
            i = self.index(name)
            features[i] = {"cost": features[i], **plain_note(note)}
        if self.names is not None:
            features = dict(zip(self.names, features, strict=True))
        groups = {
            name: {"features": [self.name(i) for i in self.members(g)], "setup": float(self.setup[g])}
            for g, name in enumerate(self.group_names)
        }
        return {"features": features, "groups": groups, "evaluation": self.evaluation, "unit": self.unit}

    @classmethod
    def read(cls, path: str | Path) -> Costs:
        """Read a CSV, JSON or TOML file.

        A CSV file has the columns ``feature,cost`` and, if there are groups, ``group,setup``. The columns
        ``label,unit,help,choices`` are optional. Lines such as ``# unit: CAD`` and ``# evaluation: 0.01`` may
        come first.

        Parameters
        ----------
        path : str or Path
            The file. Its name ends in ``.csv``, ``.json`` or ``.toml``.

        Returns
        -------
        Costs

        Raises
        ------
        CostError
            If the file is not as described. The message names the file and the line.
        """
        return read_file(path, cls.from_dict)

    def write(self, path: str | Path) -> None:
        """Write a CSV, JSON or TOML file. `read` gives back equal costs and notes.

        Parameters
        ----------
        path : str or Path
            The file. Its name ends in ``.csv``, ``.json`` or ``.toml``.

        Raises
        ------
        CostError
            If the name has another ending, the file cannot be written, or CSV cannot hold the names.
        """
        write_file(path, self.to_dict(notes=True))

    # -- equality, copies and text ---------------------------------------------------------------------

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError("Costs cannot be changed; make new ones")

    def __delattr__(self, name: str) -> NoReturn:
        raise AttributeError("Costs cannot be changed; make new ones")

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Costs) and self._value() == other._value()

    def __hash__(self) -> int:
        return hash(self._value())

    def _value(self) -> tuple[Hashable, ...]:
        """The value that equal costs share. The order of the features counts, that of the groups does not."""
        setups = enumerate(zip(self.group_names, self.setup, strict=True))
        groups = {(name, setup, *self.members(g)) for g, (name, setup) in setups}
        return (self.names, self.feature.tobytes(), frozenset(groups), self.evaluation, self.unit)

    def __deepcopy__(self, memo: dict[int, Any]) -> Costs:
        return self

    def __copy__(self) -> Costs:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        return Costs.from_dict, (self.to_dict(notes=True),)

    def __repr__(self) -> str:
        parts = [f"{len(self)} features", f"total {self.total:g}{' ' + self.unit if self.unit else ''}"]
        if self.group_names:
            parts.append(f"groups {', '.join(self.group_names)}")
        if self.evaluation:
            parts.append(f"evaluation {self.evaluation:g}")
        return f"Costs({'; '.join(parts)})"

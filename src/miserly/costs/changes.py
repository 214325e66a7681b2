"""Changed copies of costs: for other columns, scaled, selected, merged, and for columns that are derived."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import ArrayLike

from miserly.costs.notes import Note
from miserly.costs.prices import Floats, Ints
from miserly.costs.queries import CostQueries
from miserly.costs.reading import Feature, as_memberships
from miserly.costs.transformers import sources_of
from miserly.errors import CostError, did_you_mean
from miserly.utils.checks import read_price, refuse_duplicates, shown

if TYPE_CHECKING:
    from miserly.costs.costs import Costs

__all__ = ["CostChanges"]


class CostChanges(CostQueries):
    """The methods of `Costs` that give changed copies."""

    __slots__ = ()

    def bind(self, columns: int | Sequence[str], default: float | None = None) -> Costs:
        """Return these costs in the order of the columns of a matrix or table.

        Parameters
        ----------
        columns : int or sequence of str
            Number of columns, or their names. Names are matched with the names of the features; features
            that are no columns are left out. If the features have no names, they take those of the columns,
            in order.
        default : float, optional
            The cost of a column that has none here. By default such a column is an error.

        Returns
        -------
        Costs

        Raises
        ------
        CostError
            If a column has no cost, a name is used twice, or features without names are more or fewer than
            the columns.

        Examples
        --------
        >>> from miserly import Costs
        >>> costs = Costs({"age": 1, "chol": 5.17, "fbs": 3.1})
        >>> costs.bind(["chol", "age"]).feature.tolist()
        [5.17, 1.0]
        >>> costs.bind(["chol", "sex"], default=1).feature.tolist()
        [5.17, 1.0]
        """
        if isinstance(columns, (int, np.integer)):
            if columns != len(self):
                raise CostError(f"{len(self)} costs for {columns} columns")
            return cast("Costs", self)
        columns = [str(c) for c in columns]
        refuse_duplicates(columns, "column")
        if self.names is None:
            if len(columns) != len(self):
                raise CostError(f"{len(self)} costs for {len(columns)} columns")
            return self._taken(np.arange(len(self)), columns)
        found = [column for column in columns if column in self._index]
        if len(found) == len(columns):
            return self._taken(np.array([self._index[c] for c in columns], dtype=np.int64), columns)
        if default is None:
            column = next(column for column in columns if column not in self._index)
            near = did_you_mean(column, self._index)
            raise CostError(
                f"no cost for column {column!r}{near or '; costs.bind(columns, default=...) gives one'}"
            )
        record = self.select(found).to_dict(notes=True)
        price = read_price(default, "a column without one")
        record["features"] = {column: record["features"].get(column, price) for column in columns}
        return type(cast("Costs", self)).from_dict(record)

    def select(self, features: ArrayLike | Iterable[Feature]) -> Costs:
        """Return the costs of some of the features, in the order given.

        Parameters
        ----------
        features : iterable of str or int, or bool array of (d,)
            Names or columns, or a mask. Groups without a feature among them are left out.

        Returns
        -------
        Costs

        Raises
        ------
        CostError
            If a feature is unknown or given twice.

        Examples
        --------
        >>> from miserly import Costs
        >>> Costs({"age": 1, "chol": 5.17, "fbs": 3.1}).select(["fbs", "age"]).names
        ('fbs', 'age')
        """
        if isinstance(features, np.ndarray) and features.dtype == np.bool_:
            order = np.flatnonzero(self.mask(features))
        else:
            listed = [features] if isinstance(features, (str, int, np.integer)) else features
            columns = [self.index(one) for one in cast("Iterable[Feature]", listed)]
            order = np.array(columns, dtype=np.int64)
        shown = [str(self.name(i)) for i in order.tolist()]
        refuse_duplicates(shown, "feature")
        return self._taken(order, None if self.names is None else shown)

    def drop(self, features: ArrayLike | Iterable[Feature]) -> Costs:
        """Return the costs without some of the features.

        Parameters
        ----------
        features : bool array of (d,), iterable of str or int, str, or int
            The features to leave out, as for `mask`.

        Returns
        -------
        Costs

        Raises
        ------
        CostError
            If a feature is unknown.

        Examples
        --------
        >>> from miserly import Costs
        >>> Costs({"age": 1, "chol": 5.17, "fbs": 3.1}).drop("chol").names
        ('age', 'fbs')
        """
        return self.select(~self.mask(features))

    def merge(self, other: Costs) -> Costs:
        """Return these costs and others together, for example those of two tables that are joined.

        Parameters
        ----------
        other : Costs
            Costs in the same unit. A feature or group that both have must have the same cost in both. A group
            that both have has the features of both.

        Returns
        -------
        Costs
            These features, then those of `other` that are new.

        Raises
        ------
        CostError
            If the features have no names, or if the two differ in the unit or in a cost.

        Examples
        --------
        >>> from miserly import Costs
        >>> Costs({"age": 1, "sex": 1}).merge(Costs({"chol": 5.17})).names
        ('age', 'sex', 'chol')
        """
        if not hasattr(other, "to_dict"):
            raise CostError(f"costs are merged with Costs, not {shown(other)}")
        if self.names is None or other.names is None:
            raise CostError("costs can be merged if their features have names; bind them to columns first")
        if self.unit != other.unit:
            raise CostError(f"the units differ: {self.unit!r} and {other.unit!r}")
        if self.evaluation != other.evaluation and other.evaluation != 0.0 and self.evaluation != 0.0:
            raise CostError(f"the costs of evaluating differ: {self.evaluation:g} and {other.evaluation:g}")
        mine, others = cast("Costs", self).to_dict(notes=True), other.to_dict(notes=True)
        for name in other.names:
            both = name in mine["features"]
            if both and self.feature[self.index(name)] != other.feature[other.index(name)]:
                costs = f"{self.feature[self.index(name)]:g} and {other.feature[other.index(name)]:g}"
                raise CostError(f"feature {name!r} has two costs, {costs}")
            mine["features"].setdefault(name, others["features"][name])
        for label, group in others["groups"].items():
            known = mine["groups"].setdefault(label, group)
            if known["setup"] != group["setup"]:
                raise CostError(f"group {label!r} has two set-ups, {known['setup']:g} and {group['setup']:g}")
            known["features"] = list(dict.fromkeys([*known["features"], *group["features"]]))
        mine["evaluation"] = self.evaluation or other.evaluation
        return type(other).from_dict(mine)

    def derived(
        self, columns: Mapping[str, Iterable[Feature]], own: Mapping[str, float] | None = None
    ) -> Costs:
        """Return these costs and those of columns that are made from them.

        A derived column costs what its sources cost. A source that several columns are made from is paid
        once: it becomes a group with the name of the source, its cost is the set-up, and the source and the
        columns made from it are the members. The columns also join the groups of their sources.

        Parameters
        ----------
        columns : mapping of str to iterable of str or int
            ``{"zone=3": ["zone"], "bmi": ["weight", "height"]}``: the sources of each derived column. A
            column with the name of a feature takes its place.
        own : mapping of str to float, optional
            What making a derived column costs, in addition to its sources. Nothing by default.

        Returns
        -------
        Costs
            The features, then the derived columns. `bind` and learners pick those that a table has.

        Raises
        ------
        CostError
            If the features have no names, a source is unknown, or `own` names another column.

        Examples
        --------
        >>> from miserly import Costs
        >>> costs = Costs({"weight": 2, "height": 3, "zone": 5})
        >>> costs = costs.derived({"zone=1": ["zone"], "zone=3": ["zone"], "bmi": ["weight", "height"]})
        >>> costs.of(["zone=1", "zone=3"]), costs.of("bmi"), costs.marginal("bmi", bought=["weight"])
        (5.0, 5.0, 3.0)
        """
        if self.names is None:
            raise CostError("derived columns need features with names; bind the costs to columns first")
        if not isinstance(columns, Mapping):
            raise CostError(f"derived columns are given as {{name: [source, ...]}}, not {columns!r}")
        sources = {name: [i] for i, name in enumerate(self.names) if name not in columns}
        for name, listed in columns.items():
            if isinstance(listed, (str, bytes)) or not isinstance(listed, Iterable):
                raise CostError(f"derived column {name!r} must list its sources, not {listed!r}")
            sources[str(name)] = list(dict.fromkeys(self.index(one) for one in listed))
        for name in own or ():
            if name not in columns:
                raise CostError(f"{name!r} is no derived column{did_you_mean(name, columns)}")
        return self._made_from(sources, own or {})

    def for_columns(self, transformer: Any) -> Costs:
        """Return the costs of the columns that a fitted scikit-learn transformer makes.

        The sources of each column are read off pipelines, column transformers, unions and the names of
        outputs (`get_feature_names_out`). Each column costs what its sources cost, as with `derived`.

        Parameters
        ----------
        transformer : object
            A fitted transformer, such as a `ColumnTransformer` or a `Pipeline` of transformers. A column of a
            transformer that does not tell its sources apart, such as `PCA`, has all inputs as sources.

        Returns
        -------
        Costs
            Costs of the columns, by the names of `transformer.get_feature_names_out`.

        Raises
        ------
        CostError
            If the transformer is not fitted or does not name its outputs, or an input in use has no cost.

        Examples
        --------
        >>> import numpy as np
        >>> from miserly import Costs
        >>> from sklearn.preprocessing import OneHotEncoder
        >>> encoder = OneHotEncoder().fit(np.array([["a", 1], ["b", 2]], dtype=object))
        >>> costs = Costs({"x0": 5, "x1": 3}).for_columns(encoder)
        >>> costs.names, costs.of(["x0_a", "x0_b"])
        (('x0_a', 'x0_b', 'x1_1', 'x1_2'), 5.0)
        """
        inputs, made = sources_of(transformer)
        used = sorted(frozenset().union(*(of for _, of in made)))
        if self.names is None:
            given, place = self.bind(inputs), {i: i for i in used}
        else:
            given, place = self.bind([inputs[i] for i in used]), {i: k for k, i in enumerate(used)}
        return given._made_from({name: [place[i] for i in sorted(of)] for name, of in made}, {})

    def scaled(self, factor: float) -> Costs:
        """Return these costs times a factor, for example in another currency.

        Parameters
        ----------
        factor : float
            Non-negative, finite number. Costs of features, set-ups and evaluations are multiplied by it.

        Returns
        -------
        Costs
            Costs with the same unit text.

        Examples
        --------
        >>> from miserly import Costs
        >>> Costs([1.0, 4.0]).scaled(10).total
        50.0
        """
        factor = read_price(factor, "factor")
        with np.errstate(over="ignore"):  # infinite costs are refused
            feature, setup = self.feature * factor, self.setup * factor
        return self._copy(
            feature, self.memberships, setup, self.names, self.group_names, self.notes,
            evaluation=self.evaluation * factor,
        )  # fmt: skip

    # -- making copies ---------------------------------------------------------------------------------

    def _copy(
        self,
        own: Floats, member: Ints, setup: Floats, names: tuple[str, ...] | None, group_names: tuple[str, ...],
        notes: Mapping[Feature, Note], evaluation: float | None = None,
    ) -> Costs:  # fmt: skip
        new = cast("Costs", object.__new__(type(self)))
        index: dict[Hashable, int] = {name: i for i, name in enumerate(names or ())}
        amount = self.evaluation if evaluation is None else evaluation
        new._fill(own, member, setup, names, group_names, amount, self.unit, index, notes)
        return new

    def _taken(self, order: Ints, names: Sequence[str] | None) -> Costs:
        """The features `order` alone, named `names`, and the groups that they touch."""
        groups = [self.groups_of(i) for i in order]
        kept = sorted({group for numbers in groups for group in numbers})
        number = {group: k for k, group in enumerate(kept)}
        member = as_memberships([[number[group] for group in numbers] for numbers in groups])
        notes: dict[Feature, Note] = {}
        for k, i in enumerate(order.tolist()):
            if self.name(i) in self.notes:
                notes[k if names is None else names[k]] = self.notes[self.name(i)]
        labels = tuple(self.group_names[group] for group in kept)
        columns = None if names is None else tuple(names)
        return self._copy(self.feature[order], member, self.setup[kept], columns, labels, notes)

    def _made_from(self, sources: Mapping[str, Sequence[int]], own: Mapping[str, float]) -> Costs:
        """Costs of columns that are made from these features alone."""
        users = np.bincount([i for listed in sources.values() for i in listed], minlength=len(self))
        labels, setups, number = list(self.group_names), self.setup.tolist(), {}
        for i in np.flatnonzero((users > 1) & (self.feature > 0)).tolist():
            name = str(self.name(i))
            number[i] = len(labels)
            labels.append(name if name not in self.group_names else f"{name} (source)")
            setups.append(float(self.feature[i]))
        refuse_duplicates(labels, "group")
        prices, groups, notes = [], [], {}
        for column, listed in sources.items():
            made = read_price(own.get(column, 0.0), f"making column {column!r}")
            alone = [float(self.feature[i]) for i in listed if i not in number]
            prices.append(math.fsum([*alone, made]))
            joined = {group for i in listed for group in self.groups_of(i)}
            groups.append(sorted(joined | {number[i] for i in listed if i in number}))
            if list(listed) == [self._index.get(column)] and column in self.notes:
                notes[cast(Feature, column)] = self.notes[column]
        made_of = self._copy(
            np.array(prices), as_memberships(groups), np.array(setups), tuple(sources), tuple(labels), notes
        )
        return made_of._taken(np.arange(len(sources)), tuple(sources))

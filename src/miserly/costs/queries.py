"""Lookups in costs: names, groups, sets of features and their prices."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping

import numpy as np
from numpy.typing import ArrayLike

from miserly.costs.notes import Note
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
from miserly.costs.reading import Feature, position
from miserly.errors import CostError

__all__ = ["CostQueries"]


class CostQueries:
    """The methods of `Costs` that look something up. `Costs` sets the attributes."""

    __slots__ = ()

    feature: Floats
    memberships: Ints
    setup: Floats
    names: tuple[str, ...] | None
    group_names: tuple[str, ...]
    evaluation: float
    unit: str
    notes: Mapping[Feature, Note]
    _index: dict[Hashable, int]

    def __len__(self) -> int:
        return len(self.feature)

    @property
    def prices(self) -> PriceList:
        """The arrays that the functions of `miserly.costs.prices` take."""
        return PriceList(self.feature, self.memberships, self.setup)

    @property
    def group(self) -> Ints:
        """The first group of each feature (d,), -1 for none. `memberships` has all of them."""
        return self.memberships[:, 0]

    @property
    def total(self) -> float:
        """The cost of all features and all set-ups."""
        return self.of(np.ones(len(self), dtype=np.bool_))

    # -- features and groups -------------------------------------------------------------------------

    def name(self, i: int) -> Feature:
        """Return the name of a feature.

        Parameters
        ----------
        i : int
            Column of the feature.

        Returns
        -------
        str or int
            The name, or `i` itself if the features have no names.
        """
        return self.names[i] if self.names is not None else int(i)

    def index(self, feature: Feature) -> int:
        """Return the column of a feature.

        Parameters
        ----------
        feature : str or int
            Name or column of the feature.

        Returns
        -------
        int

        Raises
        ------
        CostError
            If there is no such feature.
        """
        return position(feature, self._index, len(self), "costs")

    def members(self, group: int) -> Ints:
        """Return the features of a group.

        Parameters
        ----------
        group : int
            Number of the group, its place in `group_names`.

        Returns
        -------
        int array
            Columns of its features, in ascending order.
        """
        return np.flatnonzero((self.memberships == group).any(axis=1))

    def groups_of(self, feature: int) -> tuple[int, ...]:
        """Return the groups of a feature.

        Parameters
        ----------
        feature : int
            Column of the feature.

        Returns
        -------
        tuple of int
            Numbers of its groups, places in `group_names`. Empty if it has none.

        Examples
        --------
        >>> from miserly import Costs
        >>> costs = Costs([1.0, 2.0], groups={"lab": {"features": [1], "setup": 10.0}})
        >>> costs.groups_of(0), costs.groups_of(1)
        ((), (0,))
        """
        return tuple(group for group in self.memberships[feature].tolist() if group >= 0)

    def mask(self, features: ArrayLike | Iterable[Feature]) -> Bools:
        """Return a set of features as a boolean mask.

        Parameters
        ----------
        features : bool array of (d,), iterable of str or int, str, or int
            A mask, or the names or columns of the features.

        Returns
        -------
        bool array of (d,)
            A new array.

        Raises
        ------
        CostError
            If a feature is unknown, or if a mask has the wrong shape.

        Examples
        --------
        >>> from miserly import Costs
        >>> Costs({"age": 1, "chol": 5.17, "fbs": 3.10}).mask(["fbs", 0]).tolist()
        [True, False, True]
        """
        if isinstance(features, np.ndarray) and features.dtype == np.bool_:
            if features.shape != self.feature.shape:
                raise CostError(f"a mask of shape {features.shape} does not fit {len(self)} features")
            return features.copy()
        out = np.zeros(len(self), dtype=np.bool_)
        listed = [features] if isinstance(features, (str, int, np.integer)) else features
        for feature in listed:  # type: ignore[union-attr]
            out[self.index(feature)] = True  # type: ignore[arg-type]
        return out

    # -- prices ----------------------------------------------------------------------------------------

    def of(self, features: ArrayLike | Iterable[Feature], evaluations: int = 0) -> float:
        """Return the cost of a set of features that are bought together.

        Parameters
        ----------
        features : bool array of (d,), iterable of str or int, str, or int
            The set, as for `mask`.
        evaluations : int, default=0
            Number of terms that are evaluated. Their cost is added.

        Returns
        -------
        float

        Examples
        --------
        >>> from miserly import Costs
        >>> Costs([1.0, 4.0, 2.0], evaluation=0.5).of([0, 2], evaluations=3)
        4.5
        """
        return set_price(self.mask(features), self.prices, evaluations * self.evaluation)

    def of_each(self, bought: Bools, features: Ints | None = None) -> Floats:
        """Return the cost of the features that each row has bought.

        Parameters
        ----------
        bought : bool array of (n, d)
            The features that each row has bought.
        features : int array of (k,), optional
            The columns of `bought`, which then has shape (n, k). All features by default.

        Returns
        -------
        array of (n,)

        Examples
        --------
        >>> from miserly import Costs
        >>> lab = {"lab": {"features": ["b", "c"], "setup": 10.0}}
        >>> costs = Costs({"a": 1.0, "b": 2.0, "c": 3.0}, groups=lab)
        >>> costs.of_each(np.array([[True, False, False], [True, True, True]])).tolist()
        [1.0, 16.0]
        >>> costs.of_each(np.array([[True, False], [True, True]]), features=np.array([2, 0])).tolist()
        [13.0, 14.0]
        """
        if features is None:
            return row_prices(bought, self.prices)
        return row_prices(bought, PriceList(self.feature[features], self.memberships[features], self.setup))

    def marginal(self, feature: Feature, bought: ArrayLike | Iterable[Feature] = ()) -> float:
        """Return the cost of one more feature.

        Parameters
        ----------
        feature : str or int
            Name or column of the feature.
        bought : bool array of (d,), or iterable of str or int, default=()
            The features that are paid already, as for `mask`.

        Returns
        -------
        float
            The price, with the set-up of each of its groups that is not open; 0 if `feature` is in `bought`.

        Examples
        --------
        >>> from miserly import Costs
        >>> costs = Costs([1.0, 2.0], groups={"lab": {"features": [0, 1], "setup": 10.0}})
        >>> costs.marginal(0), costs.marginal(0, bought=[1])
        (11.0, 1.0)
        """
        return float(self.marginals(self.mask(bought))[self.index(feature)])

    def marginals(self, bought: Bools) -> Floats:
        """Return the marginal cost of every feature.

        Parameters
        ----------
        bought : bool array of (d,)
            The features that are paid already.

        Returns
        -------
        array of (d,)
            What `marginal` gives for each feature.
        """
        return marginal_prices(bought, opened_by(bought, self.prices), self.prices)

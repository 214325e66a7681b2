"""A plan on a server, with the facts about it that local sources need."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from miserly.costs import Costs
from miserly.data.encoder import Encoder
from miserly.errors import ClientError

__all__ = ["RemotePlan"]


@dataclass(frozen=True, eq=False)
class RemotePlan:
    """The description of a plan on a server. It cannot run locally.

    Parameters
    ----------
    name : str
        The name of the model.
    digest : str
        The digest of the plan.
    costs : Costs
        Prices of all features. Those of features that the plan does not use are 0.
    used : sequence of int
        The columns that the plan uses.
    categories : mapping of int to tuple
        The categories of columns that hold categories.
    classes : array or None
        The classes.
    fetched : frozenset
        The features that the service fetches itself.

    Examples
    --------
    >>> record = {"name": "heart", "digest": "17e6", "unit": "CAD", "named": True, "classes": None,
    ...           "features": [{"name": "age", "kind": "number", "choices": [], "price": 1.0, "groups": [],
    ...                         "column": 0}],
    ...           "other_features": [{"name": "sex", "groups": [], "column": 1}], "groups": []}
    >>> plan = RemotePlan.of(record)
    >>> plan.costs.names, plan.features.tolist(), plan.n_features
    (('age', 'sex'), [0], 2)
    """

    name: str
    digest: str
    costs: Costs
    used: Sequence[int]
    categories: Mapping[int, tuple[Any, ...]]
    classes: NDArray[Any] | None
    fetched: frozenset[Any]

    @classmethod
    def of(cls, record: Mapping[str, Any]) -> RemotePlan:
        """Make a plan from the response of ``GET /v1/models/{name}``.

        Parameters
        ----------
        record : mapping
            The model.

        Returns
        -------
        RemotePlan

        Raises
        ------
        ClientError
            If the description has another format, for example from another version of miserly.
        """
        try:
            return cls._read(record)
        except (KeyError, TypeError, ValueError, IndexError) as error:
            what = f"the service describes its model in another way: {error!r}"
            raise ClientError(f"{what}; is it of the same version?") from error

    @classmethod
    def _read(cls, record: Mapping[str, Any]) -> RemotePlan:
        used, others, named = record["features"], record["other_features"], record["named"]
        listed = sorted([*used, *others], key=lambda one: one["column"])
        if [one["column"] for one in listed] != list(range(len(listed))):
            raise ValueError("columns are missing")
        names = [one["name"] for one in listed]
        columns = {name: f for f, name in enumerate(names)}
        keys = names if named else list(range(len(names)))
        members: dict[str, list[Any]] = {}
        for key, one in zip(keys, listed, strict=True):
            for group in one["groups"]:
                members.setdefault(group, []).append(key)
        setups = {one["name"]: one["setup"] for one in record["groups"]}
        groups = {name: {"features": some, "setup": setups.get(name, 0.0)} for name, some in members.items()}
        prices = [float(one.get("price", 0.0)) for one in listed]
        costs = Costs(
            dict(zip(names, prices, strict=True)) if named else np.array(prices),
            groups=groups or None,
            unit=record["unit"],
        )
        categories = {
            columns[one["name"]]: tuple(choice["value"] for choice in one["choices"])
            for one in used
            if one["kind"] != "number"
        }
        classes = record["classes"]
        return cls(
            record["name"],
            record["digest"],
            costs,
            sorted(columns[one["name"]] for one in used),
            categories,
            None if classes is None else np.array(classes),
            frozenset(costs.name(columns[one["name"]]) for one in used if one.get("fetched")),
        )

    @property
    def n_features(self) -> int:
        """The number of features."""
        return len(self.costs)

    @cached_property
    def features(self) -> NDArray[np.int64]:
        """The columns that the plan uses."""
        return np.array(self.used, dtype=np.int64)

    @cached_property
    def encoder(self) -> Encoder:
        """The encoder from values to numbers."""
        return Encoder(self.n_features, self.costs.names, self.categories)

    @cached_property
    def columns(self) -> dict[str, int]:
        """The column of each feature, by its name in JSON."""
        return {str(self.costs.name(f)): f for f in range(self.n_features)}

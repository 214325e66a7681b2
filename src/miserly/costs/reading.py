"""Reading and checking the parameters of `Costs`: prices, names and groups."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from miserly.costs.prices import Floats, Ints
from miserly.errors import CostError, did_you_mean
from miserly.utils.checks import read_price, refuse_duplicates

__all__ = ["as_memberships", "check_sum", "frozen", "position", "read_features", "read_groups"]

Feature: TypeAlias = str | int

_MOST_MEMBERSHIPS = 2**24


def frozen(values: ArrayLike, dtype: Any) -> Any:
    """A read-only copy of an array."""
    array = np.array(values, dtype=dtype)
    array.flags.writeable = False
    return array


def check_sum(feature: Floats, setup: Floats) -> None:
    """Raise `CostError` if the sum of all costs is infinite."""
    try:
        total = math.fsum([*feature, *setup])
    except OverflowError:
        total = math.inf
    if math.isinf(total):
        raise CostError("the costs add up to more than a number can hold; use a larger unit")


def read_features(features: Any) -> tuple[tuple[str, ...] | None, Floats]:
    """The names of the features (None if they have no names) and their costs."""
    names: tuple[str, ...] | None = None
    if isinstance(features, (str, bytes, Path)):
        raise CostError(f"{features!r} is not a list of costs; Costs.read reads a file")
    if hasattr(features, "items"):  # a mapping, or a pandas Series, whose index may repeat a name
        pairs = list(features.items())
        names, values = read_names([name for name, _ in pairs]), [cost for _, cost in pairs]
    elif isinstance(features, (list, tuple)):  # not through an array, which would turn True into 1
        values = list(features)
    elif np.ndim(features) > 1:
        raise CostError(f"costs are one number per feature, not an array of shape {np.shape(features)}")
    else:
        values = list(np.atleast_1d(np.asarray(features)))
    shown = names if names is not None else range(len(values))
    prices = [read_price(cost, f"feature {name!r}") for name, cost in zip(shown, values, strict=True)]
    return names, np.array(prices, dtype=np.float64)


def read_names(keys: list[Any]) -> tuple[str, ...] | None:
    """The names of the features; None if they are the numbers 0, 1, ..., as in a Series without an index."""
    if keys and keys == list(range(len(keys))):
        return None
    for key in keys:
        if not isinstance(key, str):
            raise CostError(
                f"feature names must be text, not {key!r}; give a list of costs for columns without names"
            )
    refuse_duplicates(keys, "feature")
    return tuple(str(key) for key in keys)


def read_groups(
    groups: Any, index: Mapping[Hashable, int], n_features: int
) -> tuple[tuple[str, ...], Ints, Floats]:
    """The names of the groups, those of each feature (d, m) filled with -1, and the set-up of each group."""
    if not isinstance(groups, Mapping):
        raise CostError(f"groups are given as {{name: {{'features': [...], 'setup': cost}}}}, not {groups!r}")
    labels = [str(label) for label in groups]
    refuse_duplicates(labels, "group")
    member: list[list[int]] = [[] for _ in range(n_features)]
    setup = np.zeros(len(labels))
    for g, (label, spec) in enumerate(zip(labels, groups.values(), strict=True)):
        members, setup[g] = read_group(label, spec)
        for name in members:
            i = position(name, index, n_features, f"group {label!r}")
            if g in member[i]:
                raise CostError(f"group {label!r} lists feature {name!r} twice")
            member[i].append(g)
    return tuple(labels), as_memberships(member), setup


def as_memberships(groups: Sequence[Sequence[int]]) -> Ints:
    """The groups of each feature as an array (d, m). Rows with fewer than `m` groups end in -1.

    >>> as_memberships([[0], [], [0, 1]]).tolist()
    [[0, -1], [-1, -1], [0, 1]]
    """
    width = max(map(len, groups), default=1) or 1
    if len(groups) * width > _MOST_MEMBERSHIPS:  # a plan file of some kilobytes must not fill the memory
        raise CostError(
            f"a feature is in {width} of the groups, which is too many for {len(groups)} features"
        )
    table = np.full((len(groups), width), -1, dtype=np.int64)
    for row, numbers in zip(table, groups, strict=True):
        row[: len(numbers)] = numbers
    return table


def read_group(label: object, spec: Any) -> tuple[list[Feature], float]:
    """The features of one group and its set-up cost."""
    if not isinstance(spec, Mapping) or not {"features", "setup"} >= set(spec) or "features" not in spec:
        raise CostError(f"group {label!r} must be {{'features': [...], 'setup': cost}}, not {spec!r}")
    members = spec["features"]
    if isinstance(members, (str, bytes)) or not isinstance(members, Iterable):
        raise CostError(f"group {label!r} must list its features, not {members!r}")
    members = list(members)
    if not members:
        raise CostError(f"group {label!r} has no features")
    return members, read_price(spec.get("setup", 0.0), f"setting up group {label!r}")


def position(feature: Any, index: Mapping[Hashable, int], n: int, where: str) -> int:
    """The column of a feature, given by name or number. `where` begins the error message."""
    if isinstance(feature, str):
        if feature in index:
            return index[feature]
        raise CostError(f"{where}: no feature {feature!r}{did_you_mean(feature, index)}")
    try:
        i = int(feature)
    except (TypeError, ValueError, OverflowError):
        raise CostError(f"{where}: {feature!r} is neither a name nor a column number") from None
    if i != feature or isinstance(feature, (bool, np.bool_)) or not 0 <= i < n:
        raise CostError(f"{where}: no feature number {feature!r} among {n}")
    return i

"""The acquisitions of a plan as the arrays of a file, and back.

Means and covariances are in single precision, of covariances the lower triangle with its diagonal. From
version 9 on, covariances are in half precision if that holds them to the bit.
`MixtureAcquisition` itself checks that the numbers make sense; here only sizes and offsets are checked.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from miserly.errors import PlanFormatError
from miserly.plan.acquisition import MixtureAcquisition
from miserly.plan.nodes import Node
from miserly.plan.store.container import Arrays, Schema, bounds, check_bounds, ints, joined

__all__ = ["ACQUISITIONS", "HALF", "acquisition_arrays", "check_acquisitions", "read_acquisitions"]

ACQUISITIONS: Schema = {
    "node_mixture": ("<i8", ("nodes",)),
    "mixture_number": ("<f8", ("mixtures", 5)),
    "mixture_column_start": ("<i8", ("mixture bounds",)),
    "mixture_component_start": ("<i8", ("mixture bounds",)),
    "mixture_feature": ("<i8", ("mixture columns",)),
    "mixture_category": ("<i8", ("mixture columns",)),
    "mixture_centre": ("<f8", ("mixture columns",)),
    "mixture_scale": ("<f8", ("mixture columns",)),
    "mixture_weight": ("<f8", ("mixture components",)),
    "mixture_label": ("<i8", ("mixture components",)),
    "mixture_mean": ("<f4", ("mixture means",)),
    "mixture_covariance": ("<f4", ("mixture covariances",)),
}
HALF: Schema = {"mixture_covariance": ("<f2", ("mixture covariances",))}
_NUMBERS = ("price_exponent", "confidence", "tradeoff", "clip", "sharpness")
_COLUMNS = ("feature", "category", "centre", "scale")
_COMPONENTS = ("weight", "label")


def acquisition_arrays(nodes: Sequence[Node]) -> Arrays:
    """The acquisitions of some nodes; node k has mixture ``node_mixture[k]``, -1 for none.

    An acquisition that several nodes share is there once.
    """
    found = {id(node.acquisition): node.acquisition for node in nodes if node.acquisition is not None}
    place, some = {key: m for m, key in enumerate(found)}, list(found.values())
    arrays: Arrays = {
        "node_mixture": ints([place.get(id(node.acquisition), -1) for node in nodes]),
        "mixture_number": np.array(
            [[getattr(one, name) for name in _NUMBERS] for one in some], dtype=np.float64
        ).reshape(-1, 5),
        "mixture_column_start": bounds([len(one.feature) for one in some]),
        "mixture_component_start": bounds([len(one.weight) for one in some]),
    }
    for name in (*_COLUMNS, *_COMPONENTS):
        dtype = np.int64 if name in ("feature", "category", "label") else np.float64
        arrays[f"mixture_{name}"] = joined([getattr(one, name) for one in some]).astype(dtype)
    triangles = [one.covariance[:, *np.tril_indices(len(one.feature))] for one in some]
    arrays["mixture_mean"] = joined([one.mean.ravel() for one in some]).astype(np.float32)
    covariance = joined([part.ravel() for part in triangles]).astype(np.float32)
    with np.errstate(over="ignore"):
        half = covariance.astype(np.float16)
    is_exact = len(half) > 0 and bool((half == covariance).all())
    arrays["mixture_covariance"] = half if is_exact else covariance
    return arrays


def check_acquisitions(arrays: Arrays, sizes: dict[str | int, int]) -> None:
    """Offsets rise from nothing to the whole, and match the numbers of means and covariances."""
    if sizes["mixture bounds"] != sizes["mixtures"] + 1:
        raise PlanFormatError(f"{sizes['mixtures']} acquisitions need {sizes['mixtures'] + 1} offsets")
    check_bounds(arrays, "mixture_column_start", sizes["mixture columns"])
    check_bounds(arrays, "mixture_component_start", sizes["mixture components"])
    first_met = list(dict.fromkeys(m for m in arrays["node_mixture"].tolist() if m != -1))
    if first_met != list(range(sizes["mixtures"])):
        raise PlanFormatError(
            "acquisitions must be in the order of the nodes that have them, and all be used"
        )
    columns, components = (
        np.diff(arrays[f"mixture_{name}_start"]).tolist() for name in ("column", "component")
    )
    pairs = list(zip(columns, components, strict=True))
    if sizes["mixture means"] != sum(n * c for n, c in pairs):
        raise PlanFormatError("the means of acquisitions do not match their columns and components")
    if sizes["mixture covariances"] != sum(c * (n * (n + 1) // 2) for n, c in pairs):
        raise PlanFormatError("the covariances of acquisitions do not match their columns and components")


def read_acquisitions(arrays: Arrays) -> list[MixtureAcquisition | None]:
    """The acquisition of each node; none in files of versions that do not have them."""
    if "node_mixture" not in arrays:
        return [None] * (len(arrays["node_start"]) - 1)
    found: list[MixtureAcquisition | None] = []
    column, component = (arrays[f"mixture_{name}_start"].tolist() for name in ("column", "component"))
    means = triangles = 0
    for m in range(len(arrays["mixture_number"])):
        n, c = column[m + 1] - column[m], component[m + 1] - component[m]
        size = n * (n + 1) // 2
        mean = arrays["mixture_mean"][means : means + c * n].reshape(c, n)
        lower = arrays["mixture_covariance"][triangles : triangles + c * size].reshape(c, size)
        rows, others = np.tril_indices(n)
        covariance = np.zeros((c, n, n), dtype=np.float32)
        covariance[:, rows, others] = covariance[:, others, rows] = lower
        own = slice(column[m], column[m + 1])
        parts: dict[str, Any] = {name: arrays[f"mixture_{name}"][own] for name in _COLUMNS}
        parts |= {name: arrays[f"mixture_{name}"][component[m] : component[m + 1]] for name in _COMPONENTS}
        numbers = dict(zip(_NUMBERS, arrays["mixture_number"][m].tolist(), strict=True))
        found.append(MixtureAcquisition(**parts, mean=mean, covariance=covariance, **numbers))
        means, triangles = means + c * n, triangles + c * size
    return [None if m < 0 else found[m] for m in arrays["node_mixture"].tolist()]

"""What tells a plan from every other one: a hash of all that decides what it asks, pays and answers."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING

import numpy as np

from miserly.plan.store.packing import node_arrays, term_arrays

if TYPE_CHECKING:
    from miserly.plan.plan import Plan

__all__ = ["digest"]

_LENGTH = 16  # bytes: no two plans share them by chance


def digest(plan: Plan) -> str:
    """A hash of a plan's costs, terms, nodes, link, classes, categories and budget, 32 hexadecimal digits.

    `info` is no part of it: notes about a plan do not change what it does.
    """
    head = {
        "costs": plan.costs.to_dict(),
        "link": plan.link,
        "n_outputs": plan.n_outputs,
        "classes": None if plan.classes is None else plan.classes.tolist(),
        "categories": [[f, plan.categories[f]] for f in sorted(plan.categories)],
        "budget": repr(plan.budget),
    }
    found = hashlib.blake2b(json.dumps(head, sort_keys=True, default=_plain).encode(), digest_size=_LENGTH)
    for name, values in {"base": plan.base, **term_arrays(plan), **node_arrays(plan)}.items():
        found.update(f"{name} {values.dtype.str} {values.shape}".encode())
        found.update(np.ascontiguousarray(values).data)
    return found.hexdigest()


def _plain(value: object) -> object:
    return value.item() if isinstance(value, np.generic) else repr(value)

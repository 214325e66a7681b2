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
# The order in which arrays are hashed: a digest in a file must hold for ever. Others come after these.
_ORDER = (
    *("base", "term_kind", "term_evaluation", "raw_feature", "raw_fill", "tree_start", "tree_words_start"),
    *("kernel_kind", "kernel_gamma", "kernel_coef0", "kernel_degree", "tree_feature", "tree_threshold"),
    *("tree_left", "tree_right", "tree_missing_left", "tree_value", "tree_category", "tree_words"),
    *("kernel_vector", "kernel_fill", "kernel_scale", "node_start", "node_term", "node_channel"),
    *("node_weight", "node_bias", "node_inherits", "node_gate", "node_gate_number", "node_gate_count"),
    *("node_up", "node_low"),
)


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
    arrays = {"base": plan.base, **term_arrays(plan), **node_arrays(plan)}
    for name in sorted(arrays, key=_place):
        values = arrays[name]
        found.update(f"{name} {values.dtype.str} {values.shape}".encode())
        found.update(np.ascontiguousarray(values).data)
    return found.hexdigest()


def _place(name: str) -> int:
    return _ORDER.index(name) if name in _ORDER else len(_ORDER)


def _plain(value: object) -> object:
    return value.item() if isinstance(value, np.generic) else repr(value)

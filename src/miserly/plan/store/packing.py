"""A plan's terms and nodes as the arrays of a file, and back; and the hash that tells plans apart.

Each class of terms has its own tables; a gate is one code and two numbers. Reading checks what ties arrays to
each other (sizes, offsets, codes). `Tree`, `Node` and `Plan` check that trees end, that nodes do not turn in
circles and that indices are in range.
"""

from __future__ import annotations

import hashlib
import json
from typing import Any

import numpy as np

from miserly.errors import PlanFormatError
from miserly.plan.gates import GATES, Gate, gate_from_numbers
from miserly.plan.nodes import Node
from miserly.plan.plan import Plan
from miserly.plan.store.acquisitions import (
    ACQUISITIONS,
    HALF,
    acquisition_arrays,
    check_acquisitions,
    read_acquisitions,
)
from miserly.plan.store.container import (
    VERSION,
    Arrays,
    Schema,
    bounds,
    check_bounds,
    check_codes,
    floats,
    ints,
    joined,
    read_bools,
)
from miserly.plan.terms import TERMS, Term

__all__ = ["SCHEMAS", "check_sizes", "digest", "node_arrays", "read_nodes", "read_terms", "term_arrays"]

_ENTRIES: Schema = {
    "base": ("<f8", ("scores",)),
    "term_kind": ("|u1", ("terms",)),
    "term_evaluation": ("<f8", ("terms",)),
}
_NODES: Schema = {
    "node_start": ("<i8", ("node bounds",)),
    "node_term": ("<i8", ("entries",)),
    "node_channel": ("<i8", ("entries",)),
    "node_weight": ("<f8", ("entries",)),
    "node_bias": ("<f8", ("nodes", "scores")),
    "node_inherits": ("|u1", ("nodes",)),
    "node_gate": ("|u1", ("nodes",)),
    "node_gate_number": ("<f8", ("nodes",)),
    "node_gate_count": ("<i8", ("nodes",)),
    "node_up": ("<i8", ("nodes",)),
    "node_low": ("<i8", ("nodes",)),
}
_LATER_NODES: dict[int, Schema] = {
    5: {"node_single": ("|u1", ("nodes",))},
    6: ACQUISITIONS,
    8: {"node_bought_only": ("|u1", ("nodes",))},
    9: HALF,
}


def schema_of(version: int) -> Schema:
    """The arrays of a file of some version, in their order; dimensions of one name have one size.

    What a later version adds comes after all that earlier versions had; it may change the type of an array.
    """
    schema = {**_ENTRIES, **_added(1), **_NODES}
    for later in range(2, version + 1):
        schema.update({**_added(later), **_LATER_NODES.get(later, {})})
    return schema


def _added(version: int) -> Schema:
    """The arrays of terms that a version of the file brought."""
    found: dict[str, Any] = {}
    for term in TERMS.values():
        found.update(term.schemas.get(version, {}))
    return found


SCHEMAS = {version: schema_of(version) for version in range(1, VERSION + 1)}


# -- terms -------------------------------------------------------------------------------------------------


def term_arrays(plan: Plan) -> Arrays:
    """The terms of a plan: their kinds and costs, then the tables of each class."""
    arrays: Arrays = {
        "term_kind": np.array([term.code for term in plan.terms], dtype=np.uint8),
        "term_evaluation": floats([term.evaluation for term in plan.terms]),
    }
    for kind, term in TERMS.items():
        arrays.update(term.pack([one for one in plan.terms if one.kind == kind], plan.n_features))
    return arrays


def read_terms(arrays: Arrays) -> list[Term]:
    """The terms in their order: each class has its own tables, read from the top."""
    codes, costs = arrays["term_kind"], arrays["term_evaluation"]
    readers = {
        term.code: iter(term.unpack(arrays, costs[codes == term.code].tolist())) for term in TERMS.values()
    }
    return [next(readers[code]) for code in codes.tolist()]


# -- nodes -------------------------------------------------------------------------------------------------


def node_arrays(plan: Plan) -> Arrays:
    """The nodes of a plan; node k has the entries from ``node_start[k]`` to ``node_start[k + 1]``."""
    nodes = plan.nodes
    gates = [(node.gate.code, *node.gate.numbers()) for node in nodes]
    return {
        "node_start": bounds([len(node.terms) for node in nodes]),
        "node_term": joined([node.terms for node in nodes]),
        "node_channel": joined([node.channels for node in nodes]),
        "node_weight": joined([node.weights for node in nodes]),
        "node_bias": joined([node.bias for node in nodes]).reshape(len(nodes), plan.n_scores),
        "node_inherits": np.array([bool(node.inherits) for node in nodes], dtype=np.uint8),
        "node_gate": np.array([kind for kind, _, _ in gates], dtype=np.uint8),
        "node_gate_number": floats([number for _, number, _ in gates]),
        "node_gate_count": ints([count for _, _, count in gates]),
        "node_up": ints([node.up for node in nodes]),
        "node_low": ints([node.low for node in nodes]),
        "node_single": np.array([bool(node.single) for node in nodes], dtype=np.uint8),
        "node_bought_only": np.array([bool(node.bought_only) for node in nodes], dtype=np.uint8),
        **acquisition_arrays(nodes),
    }


def read_nodes(arrays: Arrays) -> list[Node]:
    """The nodes in their order."""
    start = arrays["node_start"].tolist()
    inherits = read_bools(arrays, "node_inherits").tolist()
    single, bought_only = (
        read_bools(arrays, name).tolist() if name in arrays else [False] * len(inherits)
        for name in ("node_single", "node_bought_only")
    )
    gates, acquisitions = _read_gates(arrays), read_acquisitions(arrays)
    up, low = arrays["node_up"].tolist(), arrays["node_low"].tolist()
    return [
        Node(
            arrays["node_term"][start[k] : start[k + 1]],
            arrays["node_channel"][start[k] : start[k + 1]],
            arrays["node_weight"][start[k] : start[k + 1]],
            arrays["node_bias"][k],
            inherits[k],
            gates[k],
            up[k],
            low[k],
            single[k],
            acquisitions[k],
            bought_only[k],
        )
        for k in range(len(start) - 1)
    ]


def _read_gates(arrays: Arrays) -> list[Gate]:
    columns = (arrays[f"node_gate{name}"].tolist() for name in ("", "_number", "_count"))
    return [gate_from_numbers(*numbers) for numbers in zip(*columns, strict=True)]


# -- shapes, offsets and codes -----------------------------------------------------------------------------


def check_sizes(arrays: Arrays, n_features: int, version: int) -> dict[str | int, int]:
    """Dimensions of one name agree; offsets rise from nothing to the whole; codes stand for something."""
    sizes: dict[str | int, int] = {"features": n_features, 8: 8, 5: 5}
    for name, (_, dimensions) in SCHEMAS[version].items():
        for dimension, size in zip(dimensions, arrays[name].shape, strict=True):
            if sizes.setdefault(dimension, size) != size:
                raise PlanFormatError(
                    f"{name!r} has {size} {dimension}, where {sizes[dimension]} were expected"
                )
    check_bounds(arrays, "node_start", sizes["entries"])
    check_codes(arrays, "term_kind", {term.code: kind for kind, term in TERMS.items()})
    check_codes(arrays, "node_gate", {gate.code: kind for kind, gate in GATES.items()})
    if sizes["node bounds"] != sizes["nodes"] + 1:
        raise PlanFormatError(f"{sizes['nodes']} nodes need {sizes['nodes'] + 1} offsets")
    for kind, term in TERMS.items():
        if term.check_arrays(arrays, sizes) != (arrays["term_kind"] == term.code).sum():
            raise PlanFormatError(f"the tables of {kind} terms do not match the list of terms")
    if "node_mixture" in arrays:
        check_acquisitions(arrays, sizes)
    return sizes


# -- what tells a plan from every other one ----------------------------------------------------------------


_LENGTH = 16  # bytes: no two plans share them by chance
# Arrays that came later are hashed only if they say something else.
_USUAL = {"tree_span": 1, "node_single": 0, "node_bought_only": 0}
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
    if plan.decision is not None:
        head["decision"] = plan.decision.record()
    found = hashlib.blake2b(json.dumps(head, sort_keys=True, default=_plain).encode(), digest_size=_LENGTH)
    arrays = {"base": plan.base, **term_arrays(plan), **node_arrays(plan)}
    for name in [name for name, usual in _USUAL.items() if (arrays[name] == usual).all()]:
        del arrays[name]
    if not plan.acquires:
        arrays = {name: values for name, values in arrays.items() if name not in ACQUISITIONS}
    for name in sorted(arrays, key=lambda name: _ORDER.index(name) if name in _ORDER else len(_ORDER)):
        values = arrays[name]
        found.update(f"{name} {values.dtype.str} {values.shape}".encode())
        found.update(np.ascontiguousarray(values).data)
    return found.hexdigest()


def _plain(value: object) -> object:
    return value.item() if isinstance(value, np.generic) else repr(value)

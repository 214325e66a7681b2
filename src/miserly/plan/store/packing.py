"""A plan's terms and nodes as flat arrays for a file, and back.

Trees lie one after the other with offsets, each kind of term has its own table, nodes are compressed rows.
Reading checks what ties arrays to each other (sizes, offsets, codes); that trees end, that nodes do not
turn in circles and that indices are in range is checked by `Tree`, `Node` and `Plan` themselves.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from miserly.errors import PlanFormatError
from miserly.plan.gates import GATES, Gate, gate_from_numbers
from miserly.plan.nodes import Node
from miserly.plan.plan import Plan
from miserly.plan.store.container import Arrays
from miserly.plan.terms import Kernel, Raw, Term, Tree

__all__ = ["ARRAYS", "SCHEMAS", "check_sizes", "node_arrays", "read_nodes", "read_terms", "term_arrays"]

# The numbers that stand for kinds in a file: entries may be added at the end, never moved.
TERM_KINDS = ("raw", "tree", "kernel")
KERNEL_KINDS = ("linear", "rbf", "poly", "sigmoid")
# name: (dtype, dimensions); dimensions of one name have one size.
ARRAYS: dict[str, tuple[str, tuple[str | int, ...]]] = {
    "base": ("<f8", ("scores",)),
    "term_kind": ("|u1", ("terms",)),
    "term_evaluation": ("<f8", ("terms",)),
    "raw_feature": ("<i8", ("raws",)),
    "raw_fill": ("<f8", ("raws",)),
    "tree_start": ("<i8", ("tree bounds",)),
    "tree_words_start": ("<i8", ("tree bounds",)),
    "tree_feature": ("<i4", ("tree nodes",)),
    "tree_threshold": ("<f8", ("tree nodes",)),
    "tree_left": ("<i4", ("tree nodes",)),
    "tree_right": ("<i4", ("tree nodes",)),
    "tree_missing_left": ("|u1", ("tree nodes",)),
    "tree_value": ("<f8", ("tree nodes",)),
    "tree_category": ("<i4", ("tree nodes",)),
    "tree_words": ("<u4", ("category rows", 8)),
    "kernel_kind": ("|u1", ("kernels",)),
    "kernel_gamma": ("<f8", ("kernels",)),
    "kernel_coef0": ("<f8", ("kernels",)),
    "kernel_degree": ("<i8", ("kernels",)),
    "kernel_vector": ("<f8", ("kernels", "features")),
    "kernel_fill": ("<f8", ("kernels", "features")),
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
# Version 2 is for kernels that scale features.
_SCALED = {**ARRAYS, "kernel_scale": ("<f8", ("kernels", "features"))}
SCHEMAS = {1: ARRAYS, 2: _SCALED, 3: _SCALED}  # by version of the file
_TREE_COLUMNS = ("feature", "threshold", "left", "right", "missing_left", "value", "category")


# -- terms -------------------------------------------------------------------------------------------------


def term_arrays(plan: Plan) -> Arrays:
    raws = [term for term in plan.terms if isinstance(term, Raw)]
    trees = [term for term in plan.terms if isinstance(term, Tree)]
    kernels = [term for term in plan.terms if isinstance(term, Kernel)]
    arrays: Arrays = {
        "term_kind": np.array([TERM_KINDS.index(term.kind) for term in plan.terms], dtype=np.uint8),
        "term_evaluation": _floats([term.evaluation for term in plan.terms]),
        "raw_feature": _ints([term.feature for term in raws]),
        "raw_fill": _floats([term.fill for term in raws]),
        "tree_start": _bounds([len(tree.feature) for tree in trees]),
        "tree_words_start": _bounds([len(tree.words) for tree in trees]),  # type: ignore[arg-type]
        "kernel_kind": np.array([KERNEL_KINDS.index(k.kernel) for k in kernels], dtype=np.uint8),
        "kernel_gamma": _floats([k.gamma for k in kernels]),
        "kernel_coef0": _floats([k.coef0 for k in kernels]),
        "kernel_degree": _ints([k.degree for k in kernels]),
    }
    for name in _TREE_COLUMNS:
        arrays[f"tree_{name}"] = _joined([getattr(tree, name) for tree in trees])
    arrays["tree_words"] = _joined([tree.words for tree in trees]).reshape(-1, 8)
    for name in ("vector", "fill", "scale"):
        rows = _joined([getattr(k, name) for k in kernels])
        arrays[f"kernel_{name}"] = rows.reshape(len(kernels), plan.n_features)
    return arrays


def read_terms(arrays: Arrays) -> list[Term]:
    """The terms in their order: each kind has its own table, read from the top."""
    readers = [iter(_read_raws(arrays)), iter(_read_trees(arrays)), iter(_read_kernels(arrays))]
    return [next(readers[kind]) for kind in arrays["term_kind"].tolist()]


def _evaluations(arrays: Arrays, kind: str) -> list[float]:
    return arrays["term_evaluation"][arrays["term_kind"] == TERM_KINDS.index(kind)].tolist()


def _read_raws(arrays: Arrays) -> list[Raw]:
    columns = arrays["raw_feature"].tolist(), arrays["raw_fill"].tolist(), _evaluations(arrays, "raw")
    return [Raw(*row) for row in zip(*columns, strict=True)]


def _read_trees(arrays: Arrays) -> list[Tree]:
    columns = {name: arrays[f"tree_{name}"] for name in _TREE_COLUMNS}
    columns["missing_left"] = _bools(arrays, "tree_missing_left")
    bounds = arrays["tree_start"].tolist()
    words = arrays["tree_words_start"].tolist()
    return [
        Tree(
            **{name: column[bounds[i] : bounds[i + 1]] for name, column in columns.items()},
            words=arrays["tree_words"][words[i] : words[i + 1]],
            evaluation=evaluation,
        )
        for i, evaluation in enumerate(_evaluations(arrays, "tree"))
    ]


def _read_kernels(arrays: Arrays) -> list[Kernel]:
    numbers = [arrays[f"kernel_{name}"].tolist() for name in ("kind", "gamma", "coef0", "degree")]
    columns = [arrays["kernel_vector"], *numbers, arrays["kernel_fill"], _evaluations(arrays, "kernel")]
    scales = arrays.get("kernel_scale", np.ones_like(arrays["kernel_vector"]))
    return [
        Kernel(vector, KERNEL_KINDS[kind], gamma, coef0, degree, fill, evaluation, scale)
        for vector, kind, gamma, coef0, degree, fill, evaluation, scale in zip(*columns, scales, strict=True)
    ]


# -- nodes -------------------------------------------------------------------------------------------------


def node_arrays(plan: Plan) -> Arrays:
    nodes = plan.nodes
    gates = [(node.gate.code, *node.gate.numbers()) for node in nodes]
    return {
        "node_start": _bounds([len(node.terms) for node in nodes]),
        "node_term": _joined([node.terms for node in nodes]),
        "node_channel": _joined([node.channels for node in nodes]),
        "node_weight": _joined([node.weights for node in nodes]),
        "node_bias": _joined([node.bias for node in nodes]).reshape(len(nodes), plan.n_scores),
        "node_inherits": np.array([bool(node.inherits) for node in nodes], dtype=np.uint8),
        "node_gate": np.array([kind for kind, _, _ in gates], dtype=np.uint8),
        "node_gate_number": _floats([number for _, number, _ in gates]),
        "node_gate_count": _ints([count for _, _, count in gates]),
        "node_up": _ints([node.up for node in nodes]),
        "node_low": _ints([node.low for node in nodes]),
    }


def read_nodes(arrays: Arrays) -> list[Node]:
    bounds = arrays["node_start"].tolist()
    inherits = _bools(arrays, "node_inherits").tolist()
    gates = _read_gates(arrays)
    up, low = arrays["node_up"].tolist(), arrays["node_low"].tolist()
    return [
        Node(
            arrays["node_term"][bounds[k] : bounds[k + 1]],
            arrays["node_channel"][bounds[k] : bounds[k + 1]],
            arrays["node_weight"][bounds[k] : bounds[k + 1]],
            arrays["node_bias"][k],
            inherits[k],
            gates[k],
            up[k],
            low[k],
        )
        for k in range(len(bounds) - 1)
    ]


def _read_gates(arrays: Arrays) -> list[Gate]:
    columns = (arrays[f"node_gate{name}"].tolist() for name in ("", "_number", "_count"))
    return [gate_from_numbers(*numbers) for numbers in zip(*columns, strict=True)]


# -- shapes, offsets and codes -----------------------------------------------------------------------------


def check_sizes(arrays: Arrays, n_features: int) -> dict[str | int, int]:
    """Dimensions of one name agree; offsets rise from nothing to the whole; codes stand for something."""
    sizes: dict[str | int, int] = {"features": n_features, 8: 8}
    for name, (_, dimensions) in SCHEMAS[2 if "kernel_scale" in arrays else 1].items():
        for dimension, size in zip(dimensions, arrays[name].shape, strict=True):
            if sizes.setdefault(dimension, size) != size:
                raise PlanFormatError(
                    f"{name!r} has {size} {dimension}, where {sizes[dimension]} were expected"
                )
    _check_bounds(arrays, "tree_start", sizes["tree nodes"])
    _check_bounds(arrays, "tree_words_start", sizes["category rows"])
    _check_bounds(arrays, "node_start", sizes["entries"])
    _check_codes(arrays, "term_kind", dict(enumerate(TERM_KINDS)))
    _check_codes(arrays, "kernel_kind", dict(enumerate(KERNEL_KINDS)))
    _check_codes(arrays, "node_gate", {gate.code: gate.kind for gate in GATES.values()})
    if sizes["node bounds"] != sizes["nodes"] + 1:
        raise PlanFormatError(f"{sizes['nodes']} nodes need {sizes['nodes'] + 1} offsets")
    counts = np.bincount(arrays["term_kind"], minlength=len(TERM_KINDS)).tolist()
    if counts != [sizes["raws"], sizes["tree bounds"] - 1, sizes["kernels"]]:
        raise PlanFormatError("the tables of raw, tree and kernel terms do not match the list of terms")
    return sizes


def _check_bounds(arrays: Arrays, name: str, total: int) -> None:
    bounds = arrays[name]
    if not bounds.size or bounds[0] != 0 or bounds[-1] != total or (bounds[1:] < bounds[:-1]).any():
        raise PlanFormatError(f"the offsets {name!r} must rise from 0 to {total}")


def _check_codes(arrays: Arrays, name: str, kinds: Mapping[int, str]) -> None:
    if not set(np.unique(arrays[name]).tolist()) <= set(kinds):
        raise PlanFormatError(f"{name!r} holds a kind that is not among {', '.join(kinds.values())}")


def _bools(arrays: Arrays, name: str) -> NDArray[np.bool_]:
    if arrays[name].size and arrays[name].max() > 1:
        raise PlanFormatError(f"{name!r} must hold zeros and ones")
    return arrays[name].view(np.bool_)


def _bounds(lengths: list[int]) -> NDArray[np.int64]:
    return np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)]).astype(np.int64)


def _joined(parts: list[Any]) -> NDArray[Any]:
    return np.concatenate(parts) if parts else np.zeros(0)


def _floats(values: list[float]) -> NDArray[np.float64]:
    return np.array(values, dtype=np.float64)


def _ints(values: list[int]) -> NDArray[np.int64]:
    return np.array(values, dtype=np.int64)

"""Plans whose tests have delayed results: what a row orders if a batch is ordered before any result is there.

The rule is that of Turney (1995) for decision trees, applied to any plan. A row asks for tests with
immediate results one by one. When it needs the first test with a delayed result, it orders everything that
the rest of its way may need, whatever the results will be: all tests of the subtrees that are consistent
with what is known. Then nothing more is paid.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from miserly import Plan
from miserly.plan.nodes import LEAVE
from miserly.plan.terms import Term, Tree

Bools: TypeAlias = NDArray[np.bool_]


def ordered_tests(plan: Plan, X: NDArray[np.float64], delayed: Bools) -> Bools:
    """Which tests each row orders.

    Parameters
    ----------
    plan : Plan
        A plan without a cap; its gates must look at one row only.
    X : array of (n_rows, n_features)
        Numbers, without missing values.
    delayed : array of n_features
        Whether the result of a test comes later.

    Returns
    -------
    array of (n_rows, n_features)
    """
    later = delayed & np.isin(np.arange(len(delayed)), plan.features)
    if not later.any():
        return plan.run(X).acquired
    ordered = np.zeros(X.shape, dtype=np.bool_)
    ahead = _Ahead(plan)
    for bought, row in zip(ordered, np.asarray(X, dtype=np.float64).tolist(), strict=True):
        trail = plan.start()
        need = trail.need
        while need >= 0 and not later[need]:
            need = trail.put(need, row[need])
        known = {f: row[f] for f, is_known in enumerate(trail.known_flags) if is_known}
        bought[list(known)] = True
        if need >= 0:
            bought[list(ahead.tests(trail.node, known))] = True
    return ordered


class _Ahead:
    """The tests that a plan may still need from a node on."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._found: dict[tuple[object, ...], set[int]] = {}
        self._terms: list[list[int]] = [[] for _ in plan.nodes]  # of each node and all nodes after it
        self._features: list[set[int]] = [set() for _ in plan.nodes]
        for k in range(len(plan.nodes) - 1, -1, -1):
            node = plan.nodes[k]
            after = [self._terms[child] for child in (node.up, node.low) if child != LEAVE]
            own = node.terms.tolist()
            self._terms[k] = list(dict.fromkeys([*own, *(t for some in after for t in some)]))
            self._features[k] = {f for t in self._terms[k] for f in plan.terms[t].features.tolist()}

    def tests(self, node: int, known: Mapping[int, float]) -> set[int]:
        """All tests of the subtrees from a node on that are consistent with the known values."""
        key = (node, *sorted(known.items()))
        if key not in self._found:
            most = self._features[node] - known.keys()
            found: set[int] = set()
            for t in self._terms[node]:
                found |= consistent_features(self._plan.terms[t], known)
                if len(found) == len(most):
                    break
            self._found[key] = found
        return self._found[key]


def consistent_features(term: Term, known: Mapping[int, float]) -> set[int]:
    """The features that a term may still read; of a tree, on the ways that known values allow."""
    if not isinstance(term, Tree):
        return {f for f in term.features.tolist() if f not in known}
    found: set[int] = set()
    open_nodes = [0]
    while open_nodes:
        i = open_nodes.pop()
        f = int(term.feature[i])
        if f < 0:
            continue
        if f in known:
            open_nodes.append(term.child(i, known[f]))
        else:
            found.add(f)
            open_nodes += [int(term.left[i]), int(term.right[i])]
    return found

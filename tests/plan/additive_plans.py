"""Random additive plans: chains of trees whose sum is the answer, with ties among their leaves."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from miserly.plan import LEAVE, Node, Plan, Tree

from .random_plans import random_costs, random_tree

LINKS = {
    "logistic": 1, "sign": 1, "softmax": 3, "votes": 3, "identity": 1, "one_vs_rest": 3,
    "one_vs_rest_shares": 3, "proportions": 3, "logistic_single": 1, "softmax_single": 3,
}  # fmt: skip


def random_additive(seed, link=None, n_nodes=None, depth=3, shared=False, single=False):
    """A chain without gates. Leaves and weights are round numbers, so sums are often equal, or 0."""
    rng = np.random.default_rng(seed)
    d = int(rng.integers(2, 6))
    costs = random_costs(rng, d)
    link = link or str(rng.choice(["logistic", "sign", "softmax", "votes"]))
    n_scores = LINKS[link]
    n_nodes = n_nodes or int(rng.integers(1, 8))
    terms, nodes = [], []
    for k in range(n_nodes):
        m = int(rng.integers(1, 1 + 2 * n_scores))
        first = len(terms)
        for _ in range(m):
            tree = random_tree(rng, d, costs.evaluation, depth)
            terms.append(Tree(**{**vars_of(tree), "value": np.round(tree.value * 2.0**-k, 1)}))
        numbers = np.arange(first, first + m)
        if shared and k and rng.random() < 0.5:
            numbers[0] = rng.integers(first)
        nodes.append(
            Node(
                numbers,
                rng.integers(0, n_scores, m),
                rng.choice([0.1, 1.0, -0.5], m),
                np.round(rng.normal(size=n_scores), 1) * (rng.random() < 0.3),
                up=k + 1 if k + 1 < n_nodes else LEAVE,
                single=single,
            )
        )
    classes = None if link == "identity" else ["a", "b", "c"][: max(2, n_scores)]
    base = np.round(rng.normal(size=n_scores), 1)
    if link == "proportions":  # scores are counts
        base = np.abs(base)
        nodes = [replace(one, weights=np.abs(one.weights), bias=np.abs(one.bias)) for one in nodes]
        terms = [Tree(**{**vars_of(tree), "value": np.abs(tree.value)}) for tree in terms]
    return Plan(costs=costs, terms=terms, nodes=nodes, base=base, link=link, classes=classes)


def vars_of(tree):
    names = ("feature", "threshold", "left", "right", "missing_left", "value", "category", "words")
    return {name: getattr(tree, name) for name in names} | {"evaluation": tree.evaluation}


def with_gates(plan, gates):
    """The chain with these gates after its first nodes; None leaves a node as it is."""
    nodes = list(plan.nodes)
    for k, gate in enumerate(gates[: len(nodes) - 1]):
        nodes[k] = nodes[k] if gate is None else replace(nodes[k], gate=gate, low=LEAVE)
    return plan.replace(nodes=nodes)

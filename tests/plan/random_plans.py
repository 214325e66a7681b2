"""Random plans of every shape, for property tests: all terms, chains and trees, all gates, acquisitions.

Some nodes read only what a row has bought.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from miserly.costs import Costs
from miserly.plan import (
    LEAVE,
    Capacity,
    Confidence,
    Kernel,
    MixtureAcquisition,
    Node,
    Onward,
    Plan,
    Proximity,
    Rank,
    Raw,
    Threshold,
    Tree,
    category_words,
)

CATEGORICAL = 0  # column 0 holds category codes


def random_costs(rng, d):
    members = rng.permutation(d)[: rng.integers(0, d + 1)]
    groups = {
        f"g{i}": {"features": part.tolist(), "setup": float(rng.integers(0, 5))}
        for i, part in enumerate(np.array_split(members, 2))
        if len(part)
    }
    if len(members) % 2:  # groups overlap in half of the plans
        across = [int(f) for f in members if f % 3] or [0]
        groups["across"] = {"features": across, "setup": 1.75}
    prices = np.round(rng.choice([0.0, 1.0, 2.5, 7.3], d) * rng.random(d), 3)
    costs = Costs(prices, groups=groups, evaluation=float(rng.choice([0.0, 0.1])))
    return costs if rng.random() < 0.5 else costs.bind([f"f{j}" for j in range(d)])


def random_tree(rng, d, evaluation=0.0, max_depth=4, columns=None):
    feature, threshold, left, right, missing, value, category, words = [], [], [], [], [], [], [], []

    def grow(depth):
        i = len(feature)
        for column, blank in ((feature, -1), (threshold, 0.0), (left, 0), (right, 0), (missing, False),
                              (value, 0.0), (category, -1)):  # fmt: skip
            column.append(blank)
        if depth == max_depth or rng.random() < 0.2:
            value[i] = float(rng.normal())
            return i
        feature[i] = int(rng.integers(d) if columns is None else rng.choice(columns))
        missing[i] = bool(rng.random() < 0.5)
        if feature[i] == CATEGORICAL:
            category[i] = len(words)
            words.append(category_words(np.flatnonzero(rng.random(6) < 0.5)))
        else:
            threshold[i] = float(np.round(rng.normal(), 1))
        left[i] = grow(depth + 1)
        right[i] = grow(depth + 1)
        return i

    grow(0)
    sets = np.array(words, np.uint32).reshape(-1, 8)
    if len(words) % 3 == 1:  # codes up to 511
        sets = np.concatenate([sets, rng.integers(0, 1 << 32, sets.shape, dtype=np.uint32)], axis=1)
    return Tree(feature, threshold, left, right, missing, value, category, sets, evaluation)


def random_terms(rng, d, n, evaluation):
    terms = []
    for _ in range(n):
        kind = rng.choice(["raw", "tree", "tree", "kernel"])
        if kind == "raw":
            terms.append(Raw(int(rng.integers(d)), float(rng.normal()), 0.0))
        elif kind == "tree":
            terms.append(random_tree(rng, d, evaluation))
        else:
            name = str(rng.choice(["linear", "rbf", "poly", "sigmoid"]))
            terms.append(
                Kernel(
                    rng.normal(size=d),
                    name,
                    0.3,
                    0.5,
                    int(rng.integers(1, 4)),
                    rng.normal(size=d),
                    evaluation,
                    rng.uniform(0.5, 2.0, size=d) if name == "rbf" and rng.random() < 0.5 else None,
                )
            )
    return terms


def random_gate(rng, link, n_scores, listwise):
    kinds = ["onward", "threshold"]
    kinds += ["confidence"] * (link in ("logistic", "softmax"))
    kinds += ["proximity", "rank", "capacity"] * listwise
    match rng.choice(kinds):
        case "threshold":
            return Threshold(float(rng.normal()), int(rng.integers(n_scores)))
        case "confidence":
            return Confidence(float(rng.uniform(0.5, 0.9)))
        case "proximity":
            return Proximity(float(rng.uniform(0, 2)), int(rng.integers(1, 4)))
        case "rank":
            return Rank(int(rng.integers(1, 6)))
        case "capacity":
            return Capacity(float(rng.uniform(0.2, 1.0)))
    return Onward()


def random_acquisition(rng, d, n_classes):
    """A mixture over some of the features, with indicators of two categories for the categorical column."""
    pool = rng.permutation(d)[: rng.integers(1, d + 1)].tolist()
    columns = [(f, c) for f in pool for c in ((0, 3) if f == CATEGORICAL else (-1,))]
    n, label = len(columns), np.sort([*range(n_classes), *rng.integers(0, n_classes, rng.integers(0, 4))])
    half = rng.normal(size=(len(label), n, n)).astype(np.float32).astype(float)
    weight = rng.uniform(0.1, 1.0, len(label))
    return MixtureAcquisition(
        *np.array(columns).T,
        rng.normal(size=n),
        rng.uniform(0.5, 2.0, n),
        rng.normal(size=(len(label), n)) * 2.0,
        half @ half.transpose(0, 2, 1) + 0.5 * np.eye(n),
        weight / weight.sum(),
        label,
        float(rng.choice([0.0, 0.5, 0.7, 1.0])),
        float(rng.choice([0.8, 1.0])),
        float(rng.choice([0.0, 0.01])),
        sharpness=float(rng.choice([0.25, 0.5, 0.75, 1.0])),
    )


def with_acquisitions(seed, plan):
    """The plan of every third seed with nodes that choose their purchases, instead of some that do not."""
    rng = np.random.default_rng([seed, 3])
    if seed % 3 or not plan.nodes:
        return plan
    nodes = [
        replace(node, terms=[], channels=[], weights=[], single=False,
                acquisition=random_acquisition(rng, plan.n_features, max(2, plan.n_outputs)))
        if rng.random() < 0.4
        else node
        for node in plan.nodes
    ]  # fmt: skip
    return plan.replace(nodes=nodes)


def with_bought_only(seed, plan):
    """The plan of two in three seeds with nodes that read only what is bought, instead of some others.

    A later node may acquire what their trees read.
    """
    rng = np.random.default_rng([seed, 4])
    if seed % 3 == 1:
        return plan
    terms, nodes, parents = list(plan.terms), list(plan.nodes), plan.parents
    acquired = np.zeros((len(nodes) + 1, plan.n_features), dtype=bool)  # the last is before the root
    for k, node in enumerate(plan.nodes):
        acquired[k] = acquired[parents[k]]
        columns = np.flatnonzero(acquired[k])
        if len(columns) and rng.random() < 0.4:
            own = [random_tree(rng, plan.n_features, columns=columns) for _ in range(rng.integers(1, 4))]
            terms += own
            m = int(rng.integers(1, 6))
            nodes[k] = replace(
                node, terms=np.sort(rng.integers(len(terms) - len(own), len(terms), m)),
                channels=rng.integers(0, plan.n_scores, m), weights=rng.normal(size=m),
                single=False, acquisition=None, bought_only=True,
            )  # fmt: skip
            continue
        if node.acquisition is None and len(terms) > len(plan.terms) and rng.random() < 0.3:
            more = [*node.terms.tolist(), len(terms) - 1]
            nodes[k] = replace(
                node, terms=more, channels=[*node.channels.tolist(), 0], weights=[*node.weights.tolist(), 1.0]
            )
        for t in nodes[k].terms.tolist():
            acquired[k, terms[t].features] = True
        acquired[k, list(node.acquisition.pool if node.acquisition else ())] = True
    return plan.replace(terms=terms, nodes=nodes)


def random_plan(seed, listwise=False):
    rng = np.random.default_rng(seed)
    d = int(rng.integers(2, 7))
    costs = random_costs(rng, d)
    link = str(rng.choice(["identity", "logistic", "softmax", "sign"]))
    n_outputs = int(rng.integers(2, 4)) if link == "softmax" else 1
    n_scores = n_outputs + int(rng.integers(0, 2))
    terms = random_terms(rng, d, int(rng.integers(1, 12)), costs.evaluation)
    n_nodes = int(rng.integers(0, 9))
    up, low = np.full(n_nodes, LEAVE), np.full(n_nodes, LEAVE)
    for k in range(1, n_nodes):
        slots = [(side, p) for p in range(k) for side in (up, low) if side[p] == LEAVE]
        chain = [s for s in slots if s[1] == k - 1]
        side, parent = chain[0] if rng.random() < 0.6 else slots[rng.integers(len(slots))]
        side[parent] = k
    nodes = []
    for k in range(n_nodes):
        m = int(rng.integers(0, 5))
        nodes.append(
            Node(
                np.sort(rng.integers(0, len(terms), m)),
                rng.integers(0, n_scores, m),
                rng.normal(size=m),
                rng.normal(size=n_scores) * (rng.random() < 0.5),
                bool(rng.random() < 0.7),
                random_gate(rng, link, n_scores, listwise),
                int(up[k]),
                int(low[k]),
                single=(seed + k) % 4 == 0,
            )
        )
    classes = None if link == "identity" else np.array(["a", "b", "c"])[: max(2, n_outputs)]
    plan = Plan(costs=costs, terms=terms, nodes=nodes, base=rng.normal(size=n_scores), link=link,
                n_outputs=n_outputs, classes=classes)  # fmt: skip
    return with_bought_only(seed, with_acquisitions(seed, plan))


def random_rows(plan, seed, n=25, dtype=np.float64):
    rng = np.random.default_rng(seed)
    X = np.round(rng.normal(size=(n, plan.n_features)), 1)
    X[:, CATEGORICAL] = rng.choice([0, 1, 2, 3, 5, 7, 2.5, -1, 300, 511, 600], n)
    X[rng.random(X.shape) < 0.15] = np.nan
    return X.astype(dtype)

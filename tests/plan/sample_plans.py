"""Plans of every shape: chain, tree of classifiers, kernel, ranking, three classes, empty, long chain."""

from __future__ import annotations

import numpy as np

from miserly.costs import Costs
from miserly.plan import (
    LEAVE,
    Capacity,
    Confidence,
    Kernel,
    Node,
    Plan,
    Proximity,
    Rank,
    Raw,
    Threshold,
    Tree,
    category_words,
)

HEART = {
    "age": 1.0, "sex": 1.0, "cp": 1.0, "trestbps": 1.0, "chol": 5.17, "fbs": 3.1, "restecg": 15.5,
    "thalach": 1.0, "exang": 1.0, "oldpeak": 1.0, "slope": 1.0, "ca": 100.9, "thal": 1.0,
}  # fmt: skip
HEART_GROUPS = {
    "blood": {"features": ["chol", "fbs"], "setup": 2.1},
    "exercise test": {"features": ["exang", "oldpeak", "slope"], "setup": 86.3},
    "scan": {"features": ["thalach", "thal"], "setup": 101.9},
}


def heart_costs():
    return Costs(HEART, groups=HEART_GROUPS, unit="CAD")


def stump(feature, threshold, low, high, evaluation=0.0):
    """`low` if the feature is at most `threshold`, else `high`."""
    return Tree(
        [feature, -1, -1], [threshold, 0, 0], [1, -1, -1], [2, -1, -1], [True, False, False],
        [0, low, high], evaluation=evaluation,
    )  # fmt: skip


def category_tree(feature, codes, inside, outside):
    return Tree(
        [feature, -1, -1], [0, 0, 0], [1, 0, 0], [2, 0, 0], [False] * 3, [0, inside, outside],
        category=[0, -1, -1], words=[category_words(codes)],
    )  # fmt: skip


def random_tree(rng, features, depth=3):
    """A full tree of the given depth over some of the features."""
    inner = 2**depth - 1
    n = 2 * inner + 1
    feature, left, right = np.full(n, -1), np.full(n, -1), np.full(n, -1)
    feature[:inner] = rng.choice(features, inner)
    left[:inner], right[:inner] = 2 * np.arange(inner) + 1, 2 * np.arange(inner) + 2
    threshold, value = np.round(rng.normal(size=(2, n)), 2)
    return Tree(feature, threshold, left, right, rng.random(n) < 0.5, value)


def chain(terms, gates=None, n_scores=1, **rest):
    """One node per term, one after the other; `gates` by node number."""
    gates = gates or {}
    last = len(terms) - 1
    nodes = [
        Node([t], [t % n_scores], [0.1], np.zeros(n_scores), up=t + 1 if t < last else LEAVE,
             **({"gate": gates[t]} if t in gates else {}))
        for t in range(len(terms))
    ]  # fmt: skip
    return Plan(terms=terms, nodes=nodes, base=np.zeros(n_scores), **rest)


def heart(n_trees=40, seed=0):
    """A boosted chain that buys the 13 heart tests a few at a time, with confidence exits."""
    rng = np.random.default_rng(seed)
    order = [2, 0, 1, 9, 8, 10, 12, 7, 3, 11, 4, 5, 6]
    allowed = [order[: 1 + t // 2] if t < 26 else order for t in range(n_trees)]
    terms = [random_tree(rng, columns, depth=2) for columns in allowed]
    gates = {t: Confidence(0.95) for t in range(9, n_trees - 1, 10)}
    return chain(
        terms, gates, costs=heart_costs(), link="logistic", classes=["absent", "present"],
        categories={2: ["typical", "atypical", "other", "none"]}, info={"learner": "GreedyMiserClassifier"},
    )  # fmt: skip


def two_steps():
    """Small enough to be described in full: two stumps, the second behind a confidence gate."""
    costs = Costs(
        {"age": 1, "chol": 5.17, "cp": 2}, groups={"blood": {"features": ["chol"], "setup": 2.1}}, unit="CAD"
    )
    return chain(
        [stump(0, 54.5, -0.4, 0.6), stump(1, 240, -0.2, 0.3)], {0: Confidence(0.9)},
        costs=costs, link="logistic", classes=["absent", "present"],
    )  # fmt: skip


def tree_of_classifiers(depth=3, seed=0):
    """A full binary tree of linear classifiers over the heart tests."""
    rng = np.random.default_rng(seed)
    n = 2**depth - 1
    nodes = []
    for k in range(n):
        terms = np.sort(rng.choice(13, 3, replace=False))
        children = {"up": 2 * k + 1, "low": 2 * k + 2} if 2 * k + 2 < n else {}
        weights = np.round(rng.normal(size=3), 2)
        nodes.append(
            Node(terms, [0, 0, 0], weights, [0.25], False, Threshold(round(rng.normal(), 2)), **children)
        )
    return Plan(costs=heart_costs(), terms=[Raw(i) for i in range(13)], nodes=nodes, base=[0.1])


def kernel_machine(n_features=8, n_vectors=3, seed=0):
    rng = np.random.default_rng(seed)
    terms = [Kernel(rng.normal(size=n_features), "rbf", 0.25, evaluation=0.5) for _ in range(n_vectors)]
    node = Node(np.arange(n_vectors), np.zeros(n_vectors), rng.normal(size=n_vectors), [-0.1])
    return Plan(
        costs=Costs.uniform(n_features, 2.0, unit="ms"), terms=terms, nodes=[node], base=[0.0],
        link="sign", classes=[-1, 1],
    )  # fmt: skip


def ranking():
    """A chain with all list-wise gates."""
    terms = [stump(j % 3, 0.5, -1.0, 1.0, evaluation=0.01) for j in range(6)]
    gates = {0: Proximity(1.5, 5), 1: Rank(20), 2: Capacity(0.5), 3: Threshold(-2.0)}
    return chain(terms, gates, costs=Costs([1.0, 20.0, 200.0], evaluation=0.01))


def three_classes():
    """Every kind of term, softmax, a channel that only steers, categories of every kind."""
    tree = Tree([1, 2, -1, -1, -1], [0.5, -1.5, 0, 0, 0], [1, 3, 0, 0, 0], [2, 4, 0, 0, 0],
                [True, False, False, False, False], [0, 0, 0.25, -0.5, 2.0], evaluation=0.25)  # fmt: skip
    terms = [
        Raw(1, 0.5), tree, category_tree(0, [0, 3], 1.0, -1.0),
        Kernel([0.1, 0.2, 0.3], "poly", 0.5, 1.0, 2, [0.0, 1.0, 2.0], 0.25),
        Kernel([1.0, 2.0, 3.0], "sigmoid"),
    ]  # fmt: skip
    bias = [0.1, 0.2, 0.3, 0.4]
    nodes = [
        Node([0, 1], [0, 1], [1.0, -2.0], bias, up=1, low=2, gate=Threshold(0.5, 3)),
        Node([2, 3], [2, 3], [0.5, 0.25], bias, False, gate=Confidence(0.75), up=3),
        Node([2], [0], [1.5], bias, gate=Threshold(np.inf), low=4),
        Node([4, 0], [0, 0], [1.0, 1.0], bias),
        Node([], [], [], bias, False),
    ]
    return Plan(
        costs=Costs([1.0, 2.0, 0.0], groups={"both": {"features": [0, 2], "setup": 3.0}}, evaluation=0.25),
        terms=terms, nodes=nodes, base=[0.0, 0.1, 0.2, 0.3], link="softmax", n_outputs=3,
        classes=["setosa", "versicolor", "virginica"], categories={0: ["a", 7, 1.5, None, False]},
        info={"learner": "test", "parameters": {"tradeoff": 0.001, "budget": None, "names": ["x", "é"]}},
    )  # fmt: skip


def empty():
    return Plan(costs=Costs({"age": 1.0}), terms=[], nodes=[], base=[0.3])


def long_chain(n_features=100, n_nodes=300, seed=0):
    """A wide boosted chain: features come in over the first two thirds of the steps."""
    rng = np.random.default_rng(seed)
    order = rng.permutation(n_features)
    seen = [order[: 1 + t * n_features // (2 * n_nodes // 3 + 1)] for t in range(n_nodes)]
    terms = [random_tree(rng, columns[-6:], depth=3) for columns in seen]
    prices = np.round(rng.lognormal(1.0, 1.5, n_features), 2)
    gates = {t: Threshold(round(float(rng.normal()), 3)) for t in range(9, n_nodes - 1, 10)}
    return chain(terms, gates, costs=Costs({f"sensor_{j:03d}": c for j, c in enumerate(prices)}, unit="ms"))


MAKERS = (heart, two_steps, tree_of_classifiers, kernel_machine, ranking, three_classes, empty, long_chain)
SAMPLES = {maker.__name__: maker for maker in MAKERS}


def random_rows(plan: Plan, n: int, seed: int = 0) -> np.ndarray:
    """Rows as users give them: numbers, and in columns of categories some of these."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, plan.n_features))
    if not plan.categories:
        return X
    rows = X.astype(object)
    for column, known in plan.categories.items():
        rows[:, column] = [known[place] for place in rng.integers(len(known), size=n)]
    return rows

"""Cost-sensitive decision trees of the 1990s, as baselines: C4.5's gain ratio, EG2, CS-ID3 and IDX.

All four grow a binary tree on numbers and prune it by pessimistic error estimates. They differ in the score
by which a node chooses its feature. Let G be the information gain (in bits) of the best threshold of a
feature and C the price of the feature bought alone:

- C4.5 (Quinlan 1993): G / split information, among features whose gain is at least the mean gain;
- EG2 (Nunez 1991): (2**G - 1) / (C + 1)**omega, with omega = 1 here;
- CS-ID3 (Tan and Schlimmer 1990): G**2 / C;
- IDX (Norton 1989): G / C.

The threshold of a feature is the one with the largest gain. A bill follows the rules of Turney (1995): a
test is paid once per row, the first test of a group pays the common cost of the group, and a row that meets
a test with a delayed result pays for all tests of the subtree below it at once.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numba import njit
from numpy.typing import NDArray

Floats: TypeAlias = NDArray[np.float64]
Ints: TypeAlias = NDArray[np.int64]
Bools: TypeAlias = NDArray[np.bool_]

C45, EG2, CS_ID3, IDX = range(4)
RULES = {"C4.5": C45, "EG2": EG2, "CS-ID3": CS_ID3, "IDX": IDX}
CONFIDENCE = 0.25  # of C4.5's pruning
MIN_ROWS = 2  # in at least two branches
_MOST_MIN_ROWS = 25
_CONFIDENCES = (0.0, 0.001, 0.005, 0.01, 0.05, 0.10, 0.20, 0.40, 1.0)
_DEVIATES = (
    4.0,
    3.09,
    2.58,
    2.33,
    1.65,
    1.28,
    0.84,
    0.25,
    0.0,
)  # of the normal distribution, as C4.5 has them
_LEAST_GAIN = 1e-9


# -- prices ------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class PriceList:
    """What tests cost: `own` once the group is paid for, the `setup` of each group, and which are `delayed`.

    Attributes
    ----------
    own : array of n_features
        The price of each test if its group is paid for already.
    setup : array of n_groups
        The common cost of each group.
    group : array of n_features
        The group of each test, -1 for none.
    delayed : array of n_features
        Whether the result of a test comes later.
    """

    own: Floats
    setup: Floats
    group: Ints
    delayed: Bools

    @property
    def alone(self) -> Floats:
        """The price of each test bought alone."""
        return self.own + np.where(self.group >= 0, np.append(self.setup, 0.0)[self.group], 0.0)

    def of(self, bought: Bools) -> Floats:
        """What each row pays for the tests that it bought, an array (n_rows, n_features)."""
        paid = bought @ self.own
        for g, common in enumerate(self.setup):
            paid = paid + common * bought[:, self.group == g].any(axis=1)
        return np.asarray(paid, dtype=np.float64)

    @property
    def total(self) -> float:
        """What all tests cost together."""
        return float(self.of(np.ones((1, len(self.own)), dtype=np.bool_))[0])

    def at_once(self) -> PriceList:
        """The same prices with all results at once."""
        return PriceList(self.own, self.setup, self.group, np.zeros_like(self.delayed))


# -- growing -----------------------------------------------------------------------------------------------


@njit(cache=True)
def _entropy(counts: Floats, n: float) -> float:
    bits = 0.0
    for c in counts:
        if c > 0.0:
            bits -= c / n * np.log2(c / n)
    return bits


@njit(cache=True)
def best_threshold(
    x: Floats, y: Ints, order: Ints, n_classes: int, least: float
) -> tuple[float, float, float]:
    """Gain in bits, split information and threshold of the best split of x; no split has a gain of 0."""
    n = len(order)
    left, right = np.zeros(n_classes), np.zeros(n_classes)
    for i in order:
        right[y[i]] += 1.0
    before = _entropy(right, n)
    gain, at = 0.0, -1
    for k in range(n - 1):
        left[y[order[k]]] += 1.0
        right[y[order[k]]] -= 1.0
        if x[order[k]] == x[order[k + 1]] or k + 1 < least or n - k - 1 < least:
            continue
        after = (k + 1) / n * _entropy(left, k + 1) + (n - k - 1) / n * _entropy(right, n - k - 1)
        if before - after > gain:
            gain, at = before - after, k
    if at < 0:
        return 0.0, 0.0, 0.0
    sizes = np.array([at + 1.0, n - at - 1.0])
    return gain, _entropy(sizes, n), 0.5 * (x[order[at]] + x[order[at + 1]])


@njit(cache=True)
def feature_scores(gain: Floats, split: Floats, price: Floats, rule: int, omega: float) -> Floats:
    """The score of every feature by one of the rules; -inf for a feature without gain."""
    scores = np.full(len(gain), -np.inf)
    useful = gain > _LEAST_GAIN
    if not useful.any():
        return scores
    mean = gain[useful].mean()
    for f in np.flatnonzero(useful):
        if rule == C45:
            if gain[f] >= mean - _LEAST_GAIN:
                scores[f] = gain[f] / split[f]
        elif rule == EG2:
            scores[f] = (2.0 ** gain[f] - 1.0) / (price[f] + 1.0) ** omega
        elif rule == CS_ID3:
            scores[f] = gain[f] ** 2 / price[f]
        else:
            scores[f] = gain[f] / price[f]
    return scores


@njit(cache=True)
def _grow(X, y, order, n_classes, price, rule, omega):  # type: ignore[no-untyped-def]
    """The arrays of a tree: feature (-1 at leaves), threshold, left, right, class counts of every node."""
    d, n = order.shape
    most = 2 * n
    feature, left, right = np.full(most, -1), np.full(most, -1), np.full(most, -1)
    threshold, counts = np.zeros(most), np.zeros((most, n_classes))
    start, end = np.zeros(most, np.int64), np.zeros(most, np.int64)
    end[0] = n
    n_nodes, node = 1, 0
    gain, split, cut = np.zeros(d), np.zeros(d), np.zeros(d)
    goes_left, spare = np.zeros(len(y), np.bool_), np.zeros(n, np.int64)
    while node < n_nodes:
        a, b = start[node], end[node]
        for i in order[0, a:b]:
            counts[node, y[i]] += 1.0
        size = b - a
        if size < 2 * MIN_ROWS or counts[node].max() == size:
            node += 1
            continue
        least = min(max(MIN_ROWS, 0.1 * size / n_classes), _MOST_MIN_ROWS)
        for f in range(d):
            gain[f], split[f], cut[f] = best_threshold(X[f], y, order[f, a:b], n_classes, least)
        scores = feature_scores(gain, split, price, rule, omega)
        f = int(np.argmax(scores))
        if scores[f] == -np.inf:
            node += 1
            continue
        middle = a
        for i in order[f, a:b]:
            goes_left[i] = X[f, i] <= cut[f]
            middle += goes_left[i]
        for g in range(d):
            low, high = 0, middle - a
            for i in order[g, a:b]:
                if goes_left[i]:
                    spare[low] = i
                    low += 1
                else:
                    spare[high] = i
                    high += 1
            order[g, a:b] = spare[: b - a]
        feature[node], threshold[node] = f, cut[f]
        left[node], right[node] = n_nodes, n_nodes + 1
        start[n_nodes], end[n_nodes] = a, middle
        start[n_nodes + 1], end[n_nodes + 1] = middle, b
        n_nodes += 2
        node += 1
    return feature[:n_nodes], threshold[:n_nodes], left[:n_nodes], right[:n_nodes], counts[:n_nodes]


# -- pruning -----------------------------------------------------------------------------------------------


@njit(cache=True)
def added_errors(n: float, errors: float, confidence: float, z: float) -> float:
    """What C4.5 adds to the errors of a leaf: to the upper limit of a binomial at some confidence.

    `z` is the deviate of the normal distribution at this confidence. With less than one error the
    limit is exact at 0 and interpolated; else it is the normal one with a continuity correction.
    """
    if errors < 1e-6:
        return n * (1.0 - confidence ** (1.0 / n))
    if errors < 0.9999:
        none = n * (1.0 - confidence ** (1.0 / n))
        return none + errors * (added_errors(n, 1.0, confidence, z) - none)
    if errors + 0.5 >= n:
        return 0.67 * (n - errors)
    square = z * z
    half = errors + 0.5
    limit = half + square / 2.0 + np.sqrt(square * (half * (1.0 - half / n) + square / 4.0))
    return n * limit / (n + square) - errors


@njit(cache=True)
def _prune(feature, left, right, counts, confidence, z):  # type: ignore[no-untyped-def]
    """Replace subtrees by leaves where the estimated errors do not grow, from below; in place."""
    estimate = np.zeros(len(feature))
    for node in range(len(feature) - 1, -1, -1):
        n = counts[node].sum()
        errors = n - counts[node].max()
        as_leaf = errors + added_errors(n, errors, confidence, z)
        if feature[node] < 0:
            estimate[node] = as_leaf
            continue
        below = estimate[left[node]] + estimate[right[node]]
        if as_leaf <= below + 0.1:
            feature[node] = -1
        estimate[node] = min(as_leaf, below) if feature[node] >= 0 else as_leaf


# -- running -----------------------------------------------------------------------------------------------


@njit(cache=True)
def _walk(X, feature, threshold, left, right, label, delayed):  # type: ignore[no-untyped-def]
    """The answer of every row, and which tests it buys."""
    d, n = X.shape
    below = np.zeros((len(feature), d), np.bool_)  # tests of each subtree
    for node in range(len(feature) - 1, -1, -1):
        if feature[node] >= 0:
            below[node] = below[left[node]] | below[right[node]]
            below[node, feature[node]] = True
    answer, bought = np.zeros(n, np.int64), np.zeros((n, d), np.bool_)
    for i in range(n):
        node = 0
        while feature[node] >= 0:
            f = feature[node]
            if delayed[f] and not bought[i, f]:
                bought[i] |= below[node]
            bought[i, f] = True
            node = left[node] if X[f, i] <= threshold[node] else right[node]
        answer[i] = label[node]
    return answer, bought


@dataclass(frozen=True, eq=False)
class CostTree:
    """A grown and pruned tree. Node 0 is the root; ``feature[i] < 0`` at leaves."""

    feature: Ints
    threshold: Floats
    left: Ints
    right: Ints
    label: Ints

    def run(self, columns: Floats, delayed: Bools) -> tuple[Ints, Bools]:
        """The answers to rows, given as columns (n_features, n_rows), and the tests that each row buys."""
        arrays = self.feature, self.threshold, self.left, self.right, self.label
        answer, bought = _walk(columns, *arrays, delayed)
        return answer, bought


def sorted_order(columns: Floats) -> Ints:
    """The rows in the order of each column, as `grow_tree` takes them."""
    return np.argsort(columns, axis=1, kind="stable")


def grow_tree(
    columns: Floats,
    y: Ints,
    order: Ints,
    n_classes: int,
    price: Floats,
    rule: str = "EG2",
    omega: float = 1.0,
    confidence: float = CONFIDENCE,
) -> CostTree:
    """Grow and prune a tree.

    Parameters
    ----------
    columns : array of (n_features, n_rows)
        All rows, as columns.
    y : array of n_rows
        Classes from 0.
    order : array of (n_features, n_training_rows)
        The training rows in the order of each column.
    n_classes : int
    price : array of n_features
        What the rule takes for the price of each feature.
    rule : {"C4.5", "EG2", "CS-ID3", "IDX"}
    omega : float
        The exponent of EG2.
    confidence : float
        Of the pruning; smaller prunes more.
    """
    arrays = _grow(columns, y, order.copy(), n_classes, price, RULES[rule], omega)
    feature, threshold, left, right, counts = arrays
    deviate = float(np.interp(confidence, _CONFIDENCES, _DEVIATES))
    _prune(feature, left, right, counts, confidence, deviate)
    return CostTree(feature, threshold, left, right, counts.argmax(axis=1))

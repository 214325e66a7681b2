"""Plans that are sums: their parts, sums that do not depend on the order, and trees merged into one.

An additive plan is a chain in which every node adds to the scores of the one before. Its final scores are a
sum, so its terms can be put into any order and equal ones can be merged.

Floating point sums depend on their order in the last bits. `exact_sums` removes that: it rounds the leaves to
multiples of a power of two that is so large that no sum of leaves is ever rounded.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from miserly.errors import PlanError
from miserly.plan.compose import is_chain
from miserly.plan.nodes import LEAVE, Node
from miserly.plan.plan import Plan
from miserly.plan.terms import Term, Tree

__all__ = ["Summand", "exact_sums", "is_additive", "merge_trees", "sum_of", "summands_of"]

_BITS = 53  # of a floating point number


@dataclass(frozen=True, eq=False)
class Summand:
    """A term, the scores that it adds to, and its weight in each.

    Parameters
    ----------
    term : Term
        What is evaluated, once for all scores.
    channels : tuple of int
        The scores.
    weights : tuple of float
        The weight in each of them.
    """

    term: Term
    channels: tuple[int, ...]
    weights: tuple[float, ...]

    @property
    def simple(self) -> bool:
        """Whether the value is added to one score as it is."""
        return self.weights == (1.0,)


def is_additive(plan: Plan) -> bool:
    """Whether the plan is a chain without gates whose nodes add to each other.

    Parameters
    ----------
    plan : Plan

    Returns
    -------
    bool
    """
    return is_chain(plan) and all(node.inherits for node in plan.nodes)


def summands_of(plan: Plan) -> list[Summand]:
    """The terms of an additive plan, in the order of their first use.

    Parameters
    ----------
    plan : Plan

    Returns
    -------
    list of Summand

    Raises
    ------
    PlanError
        If the plan is not additive.
    """
    if not is_additive(plan):
        raise PlanError("only a chain without gates, whose nodes add to each other, is a sum of its terms")
    weights: dict[int, dict[int, float]] = {}
    for node in plan.nodes:
        for t, c, w in zip(node.terms.tolist(), node.channels.tolist(), node.weights.tolist(), strict=True):
            mine = weights.setdefault(t, {})
            mine[c] = mine.get(c, 0.0) + w
    return [Summand(plan.terms[t], tuple(mine), tuple(mine.values())) for t, mine in weights.items()]


def sum_of(plan: Plan, summands: Sequence[Summand], bias: NDArray[np.float64] | None = None) -> Plan:
    """The plan with these summands instead of its own, one node for each.

    Parameters
    ----------
    plan : Plan
        The plan whose costs, base, link and classes stay.
    summands : sequence of Summand
        In the order of evaluation.
    bias : array of (n_scores,), optional
        What the first node adds on top. By default the sum of what the nodes of `plan` add.

    Returns
    -------
    Plan
    """
    total = _bias(plan) if bias is None else bias
    last = len(summands) - 1
    nodes = [
        Node(
            np.full(len(one.channels), k),
            np.array(one.channels),
            np.array(one.weights),
            total if k == 0 else np.zeros(plan.n_scores),
            up=LEAVE if k == last else k + 1,
        )
        for k, one in enumerate(summands)
    ]
    empty = Node([], [], [], total)  # type: ignore[arg-type]
    return plan.replace(terms=[one.term for one in summands], nodes=nodes or [empty])


def _bias(plan: Plan) -> NDArray[np.float64]:
    """The sum of what nodes add apart from terms, in their order."""
    total = np.zeros(plan.n_scores)
    for node in plan.nodes:
        total += node.bias
    return total


# -- sums that do not depend on the order --------------------------------------------------------------------


def exact_sums(plan: Plan) -> Plan:
    """The plan with leaves that add up without any rounding, in whatever order.

    Weights are multiplied into the leaves. Leaves, base and bias are rounded to multiples of a power of two,
    by less than ``2 ** -52`` of the largest score that the plan can give; the rounding of the sum itself,
    which is no longer needed, is of this size too. Two plans with the same leaves in another order then have
    the same scores, bit for bit.

    Parameters
    ----------
    plan : Plan
        An additive plan.

    Returns
    -------
    Plan
        With one node per term. A plan with terms that are not trees, or with trees that add to several
        scores, keeps its values: its sums depend on the order in the last bits.

    Examples
    --------
    >>> from miserly import Costs
    >>> leaves = [Tree([-1], [0], [0], [0], [0], [value]) for value in (0.1, 0.2, 0.3)]
    >>> nodes = [Node([k], [0], [1.0], [0.0], up=k + 1 if k < 2 else -1) for k in range(3)]
    >>> plan = Plan(costs=Costs([1.0]), terms=leaves, nodes=nodes, base=[0.0])
    >>> turned = plan.replace(terms=leaves[::-1])
    >>> pairs = [(plan, turned), (exact_sums(plan), exact_sums(turned))]
    >>> [bool(one.run([[0.0]]).scores[0] == other.run([[0.0]]).scores[0]) for one, other in pairs]
    [False, True]
    """
    summands = summands_of(plan)
    if not all(isinstance(one.term, Tree) and len(one.channels) == 1 for one in summands):
        return sum_of(plan, summands)
    trees = [(one.term, one.channels[0], one.weights[0]) for one in summands if isinstance(one.term, Tree)]
    bias = _bias(plan)
    largest = np.abs(plan.base) + np.abs(bias)
    for tree, channel, weight in trees:
        largest[channel] += abs(weight) * max(abs(end) for end in tree.bounds)
    grain = 2.0 ** (np.ceil(np.log2(max(2.0 * float(largest.max()), 1e-290))) - _BITS)
    rounded = [
        Summand(replace(tree, value=_round(weight * tree.value, grain)), (channel,), (1.0,))
        for tree, channel, weight in trees
    ]
    return sum_of(plan.replace(base=_round(plan.base, grain)), rounded, _round(bias, grain))


def _round(values: NDArray[np.float64], grain: float) -> NDArray[np.float64]:
    return np.asarray(np.rint(values / grain) * grain)


# -- merging -------------------------------------------------------------------------------------------------


def merge_trees(plan: Plan) -> Plan:
    """The plan with trees of the same splits merged into one, which is evaluated once.

    Merged are trees of one score with the same splits, and all trees of one score that read a single numeric
    feature: they become one tree over all their thresholds. Trees that are constant become part of the bias.
    After `exact_sums` no score changes in any bit.

    Parameters
    ----------
    plan : Plan
        An additive plan.

    Returns
    -------
    Plan
        With one node per term. A merged tree is where the first of its trees was.

    Examples
    --------
    >>> from miserly import Costs
    >>> def stump(threshold, low, high):
    ...     return Tree([0, -1, -1], [threshold, 0, 0], [1, 0, 0], [2, 0, 0], [1, 1, 1], [0, low, high])
    >>> nodes = [Node([0], [0], [1.0], [0.0], up=1), Node([1], [0], [1.0], [0.0])]
    >>> plan = Plan(costs=Costs([1.0]), terms=[stump(0, -1, 1), stump(5, 0, 2)], nodes=nodes, base=[0.0])
    >>> merged = merge_trees(plan)
    >>> len(merged.terms), merged.predict([[-1.0], [3.0], [7.0]]).tolist()
    (1, [-1.0, 1.0, 3.0])
    """
    alike: dict[object, list[Summand]] = {}
    for one in summands_of(plan):
        key = (one.channels, _question(one.term)) if isinstance(one.term, Tree) and one.simple else id(one)
        alike.setdefault(key, []).append(one)
    bias, merged = _bias(plan), []
    for some in alike.values():
        one = some[0] if len(some) == 1 else Summand(_merged(some), some[0].channels, (1.0,))
        if isinstance(one.term, Tree) and one.term.n_leaves == 1 and len(one.channels) == 1:
            bias[one.channels[0]] += one.weights[0] * one.term.value[0]
        else:
            merged.append(one)
    return sum_of(plan, merged, bias)


def _question(tree: Tree) -> object:
    """What a tree asks: equal for trees that can be merged."""
    if len(tree.features) <= 1 and tree.plain:
        return tree.features.tobytes(), tree.evaluation
    assert tree.category is not None and tree.words is not None
    arrays = (
        tree.feature,
        tree.threshold,
        tree.left,
        tree.right,
        tree.missing_left,
        tree.category,
        tree.words,
    )
    return (*(array.tobytes() for array in arrays), tree.evaluation)


def _merged(summands: Sequence[Summand]) -> Tree:
    trees = [one.term for one in summands if isinstance(one.term, Tree)]
    first = trees[0]
    if len(first.features) <= 1 and first.plain:
        return _steps(trees)
    return replace(first, value=np.sum([tree.value for tree in trees], axis=0))


def _steps(trees: Sequence[Tree]) -> Tree:
    """The sum of trees over one numeric feature: a balanced tree over all their thresholds."""
    cuts = np.unique(np.concatenate([tree.threshold[tree.feature >= 0] for tree in trees]))
    cuts = cuts[cuts < np.inf]
    points = np.concatenate([cuts, [np.inf, np.nan]])
    feature = max(int(tree.feature.max()) for tree in trees)
    X = np.zeros((len(points), max(feature, 0) + 1))
    X[:, feature] = points
    values = np.sum([tree.evaluate(X, np.arange(len(X))) for tree in trees], axis=0)
    values, missing = values[:-1], float(values[-1])
    differs = np.flatnonzero(values[1:] != values[:-1])
    cuts, values = cuts[differs], values[np.append(differs, len(values) - 1)]
    if len(values) == 1 and missing == values[0]:
        feature = -1
    return _balanced(feature, cuts, values, missing, trees[0].evaluation)


def _balanced(
    feature: int,
    cuts: NDArray[np.float64],
    values: NDArray[np.float64],
    missing: float,
    evaluation: float,
) -> Tree:
    """A tree that gives ``values[i]`` between ``cuts[i - 1]`` (excluded) and ``cuts[i]``."""
    columns: list[list[float]] = [[], [], [], [], []]  # feature, threshold, left, right, value
    apart = missing not in (values[0], values[-1])  # then the root asks whether the value is missing

    def add(*row: float) -> int:
        for column, entry in zip(columns, row, strict=True):
            column.append(entry)
        return len(columns[0]) - 1

    def grow(first: int, last: int) -> int:
        if first == last:
            return add(-1, 0.0, 0, 0, float(values[first]))
        middle = (first + last) // 2
        place = add(feature, float(cuts[middle]), 0, 0, 0.0)
        columns[2][place] = grow(first, middle)
        columns[3][place] = grow(middle + 1, last)
        return place

    if apart:
        add(feature, np.inf, 1, 0, 0.0)
    grow(0, len(values) - 1)
    if apart:
        columns[3][0] = add(-1, 0.0, 0, 0, missing)
    goes_left = np.full(len(columns[0]), missing == values[0])
    goes_left[0] &= not apart
    features, thresholds, left, right, leaves = (np.array(column) for column in columns)
    return Tree(features, thresholds, left, right, goes_left, leaves, evaluation=evaluation)

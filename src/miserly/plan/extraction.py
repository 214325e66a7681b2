"""Which features a plan extracts: the share of each price tier by level, and how similar its leaves are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from miserly.costs import Costs
from miserly.plan.flow import PlanStage, plan_of, purchased, read_rows, stage_of, stages, visits
from miserly.plan.gates import Threshold
from miserly.plan.nodes import LEAVE, Node
from miserly.plan.plan import Plan
from miserly.plan.show.phrases import number

__all__ = ["Extracted", "Similarity", "extracted", "leaf_similarity", "price_tiers"]

Floats: TypeAlias = NDArray[np.float64]
Bools: TypeAlias = NDArray[np.bool_]

_MOST_TIERS = 7  # different prices that are each a tier; of more, neighbours share one
_FEW_TIERS = 5


@dataclass(frozen=True, eq=False)
class Extracted:
    """How much of each price tier is extracted by each level. Made by `extracted`.

    Parameters
    ----------
    share : array of shape (n_levels, n_tiers)
        The share of each tier's features that is extracted by the end of each level.
    tiers : tuple of str
        The prices in each tier.
    size : array of shape (n_tiers,)
        The number of features in each tier.
    """

    share: Floats
    tiers: tuple[str, ...]
    size: NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Similarity:
    """How similar the leaves of a plan are in what they buy. Made by `leaf_similarity`.

    Parameters
    ----------
    matrix : array of shape (n_leaves, n_leaves)
        The number of features that two leaves share, divided by the number that either has (Jaccard index).
    leaves : tuple of PlanStage
        The leaves, from the upper to the lower ones. In a chain, all stages where rows may leave.
    size : array of shape (n_leaves,)
        The number of features that are bought on the path to each leaf.
    """

    matrix: Floats
    leaves: tuple[PlanStage, ...]
    size: NDArray[np.int64]


def extracted(
    model: Any, X: Any = None, tiers: Sequence[float] | None = None, *, qid: ArrayLike | None = None
) -> Extracted:
    """Compute how much of each price tier has been extracted by the end of each level of stages.

    Parameters
    ----------
    model : fitted learner or Plan
        The model whose plan is run.
    X : array or frame of shape (n, n_features), optional
        With rows: the share of the tier's features that a row has bought by then, on average over all rows.
        Rows that have left buy no more. Without: the share that some node up to this level may read.
    tiers : list of float, optional
        The upper ends of the tiers. Features that cost more than the last end are one more tier. By default
        every price is a tier; if there are many prices, neighbouring ones share a tier.
    qid : array of shape (n,), optional
        The query of each row. Plans that compare the documents of a query need it.

    Returns
    -------
    Extracted
        The share of each tier by level, the names and the sizes of the tiers.

    Notes
    -----
    The price of a feature is what it costs if nothing else is bought. It includes the set-up of its group.

    Examples
    --------
    >>> from miserly import Costs, Plan
    >>> from miserly.plan import Node, Raw, Threshold
    >>> nodes = [Node([0], [0], [1.0], [0.0], gate=Threshold(0.0), up=1), Node([1], [0], [1.0], [0.0])]
    >>> plan = Plan(costs=Costs([1.0, 10.0]), terms=[Raw(0), Raw(1)], nodes=nodes, base=[0.0])
    >>> extracted(plan).share.tolist(), extracted(plan, [[-1.0, 0.0], [1.0, 0.0]]).share.tolist()
    ([[1.0, 0.0], [1.0, 1.0]], [[1.0, 0.0], [1.0, 0.5]])
    """
    plan = plan_of(model)
    parts = stages(plan)
    bought = _may_buy(plan, parts) if X is None else _do_buy(plan, parts, read_rows(plan, X, qid), qid)
    code, names = price_tiers(plan.costs, tiers)
    members = code[:, None] == np.arange(len(names))  # (n_features, n_tiers)
    size = members.sum(axis=0)
    return Extracted(bought @ members / size, names, size)


def _may_buy(plan: Plan, parts: Sequence[PlanStage]) -> Floats:
    """Which features are read somewhere up to each level, (n_levels, n_features)."""
    read = np.zeros((max(stage.level for stage in parts), plan.n_features))
    for stage, new in zip(parts, purchased(plan, parts), strict=True):
        read[stage.level - 1 :, list(new)] = 1.0
    return read


def _may_have(plan: Plan, parts: Sequence[PlanStage]) -> Bools:
    """Which features are read from the first stage through each stage, (n_stages, n_features)."""
    has = np.zeros((len(parts), plan.n_features), dtype=np.bool_)
    for i, (stage, new) in enumerate(zip(parts, purchased(plan, parts), strict=True)):
        if stage.parent >= 0:
            has[i] = has[stage.parent]
        has[i, list(new)] = True
    return has


def _do_buy(plan: Plan, parts: Sequence[PlanStage], matrix: NDArray[Any], qid: ArrayLike | None) -> Floats:
    """The share of rows that have bought each feature by the end of each level."""
    has = np.zeros((len(matrix), plan.n_features), dtype=np.bool_)
    shares = []
    for visit in visits(plan, parts, matrix, qid):
        has[visit.rows] = visit.acquired
        shares.append(has.mean(axis=0))
    return np.array(shares)


def price_tiers(
    costs: Costs, ends: Sequence[float] | None = None
) -> tuple[NDArray[np.int64], tuple[str, ...]]:
    """The tier of each feature, and the prices in each tier that is not empty."""
    price = costs.marginals(np.zeros(len(costs), dtype=np.bool_))
    if ends is None:
        different = np.unique(price)
        ends = different.tolist()
        if len(different) > _MOST_TIERS:
            ends = [part[-1] for part in np.array_split(different, _FEW_TIERS)]
    code = np.searchsorted(np.sort(np.asarray(ends, dtype=np.float64)), price)
    _, code = np.unique(code, return_inverse=True)
    names = [_range(price[code == tier]) for tier in range(code.max(initial=-1) + 1)]
    return code, tuple(names)


def _range(prices: Floats) -> str:
    low, high = number(prices.min()), number(prices.max())
    return low if low == high else f"{low} to {high}"


def leaf_similarity(model: Any, X: Any = None, *, qid: ArrayLike | None = None) -> Similarity:
    """Compute how similar the leaves of a tree, or the exits of a chain, are in the features they buy.

    Parameters
    ----------
    model : fitted learner or Plan
        The model whose plan is run.
    X : array or frame of shape (n, n_features), optional
        With rows: the features that rows which leave there bought. Leaves that no row reaches are omitted.
        Without: all features that may be read on the path to the leaf.
    qid : array of shape (n,), optional
        The query of each row. Plans that compare the documents of a query need it.

    Returns
    -------
    Similarity
        The Jaccard index of each pair of leaves, the leaves and their numbers of features.

    Examples
    --------
    >>> from miserly import Costs, Plan
    >>> from miserly.plan import Node, Raw, Threshold
    >>> nodes = [Node([0], [0], [1.0], [0.0], gate=Threshold(0.0), up=1, low=2),
    ...          Node([1], [0], [1.0], [0.0]), Node([], [], [], [0.0])]
    >>> plan = Plan(costs=Costs([1.0, 10.0]), terms=[Raw(0), Raw(1)], nodes=nodes, base=[0.0])
    >>> leaf_similarity(plan).matrix.tolist()
    [[1.0, 0.5], [0.5, 1.0]]
    """
    plan = plan_of(model)
    parts = stages(plan)
    leaves = [i for i in _from_the_top(parts) if _may_leave(plan.nodes[parts[i].nodes[-1]])]
    if X is None:
        masks = _may_have(plan, parts)[leaves]
    else:
        run = plan.run(read_rows(plan, X, qid), qid=qid, encoded=True)
        at = stage_of(plan, parts)[run.exit]
        leaves = [leaf for leaf in leaves if (at == leaf).any()]
        masks = np.array([run.acquired[at == leaf].any(axis=0) for leaf in leaves])
    common = (masks[:, None] & masks).sum(axis=2)
    either = (masks[:, None] | masks).sum(axis=2)
    matrix = np.where(either > 0, common / np.maximum(either, 1), 1.0)  # nothing equals nothing
    return Similarity(matrix, tuple(parts[i] for i in leaves), masks.sum(axis=1))


def _may_leave(node: Node) -> bool:
    """Whether rows may leave at a node that ends a stage."""
    if node.up != LEAVE and node.low != LEAVE:
        return False
    if isinstance(node.gate, Threshold) and np.isinf(node.gate.value):
        return (node.low if node.gate.value > 0 else node.up) == LEAVE
    return True


def _from_the_top(parts: Sequence[PlanStage]) -> list[int]:
    """Stages in the order they are met from the first, upper branches before lower ones."""
    ahead, order = [0], []
    while ahead:
        i = ahead.pop()
        order.append(i)
        ahead += parts[i].children[::-1]
    return order

"""How rows flow through a plan, stage by stage: how many reach a stage, their costs and their labels.

A stage is a run of nodes. At its end rows separate: at a fork of a tree of classifiers, at an exit, or at the
end of the plan. A cascade is a chain of stages. A tree of classifiers is a tree of stages.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from miserly.errors import DataError
from miserly.plan.compose import keep_nodes
from miserly.plan.nodes import LEAVE
from miserly.plan.plan import Plan
from miserly.plan.purchases import purchases
from miserly.plan.show.phrases import plain

__all__ = [
    "Flow",
    "PlanStage",
    "Visit",
    "flow",
    "fuse",
    "plan_of",
    "purchased",
    "read_rows",
    "remaining",
    "stage_of",
    "stages",
    "visits",
]

Floats: TypeAlias = NDArray[np.float64]


@dataclass(frozen=True)
class PlanStage:
    """Nodes after which rows separate; `up` and `low` are the next stages, None where rows leave."""

    nodes: tuple[int, ...]
    parent: int  # -1 for the first
    level: int  # 1 for the first
    up: int | None = None
    low: int | None = None

    @property
    def children(self) -> tuple[int, ...]:
        return tuple(child for child in (self.up, self.low) if child is not None)


@dataclass(frozen=True, eq=False)
class Visit:
    """The rows that reach a level: their stage there, and what they have bought and paid after it."""

    rows: NDArray[np.int64]
    stage: NDArray[np.int64]
    cost: Floats
    acquired: NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Flow:
    """What rows do in a plan. Made by `flow`.

    Parameters
    ----------
    plan : Plan
        The plan that was run.
    stages : tuple of PlanStage
        The stages, each after the one it follows.
    reached : array of shape (n_stages,)
        The share of all rows that reach each stage.
    left : array of shape (n_stages,)
        The share of all rows that leave at each stage with an answer.
    cost : array of shape (n_stages,)
        The mean cost so far of the rows that reach each stage, after the stage. NaN where no row arrives.
    features : tuple of tuples of int
        The columns that each stage may buy and that no earlier stage on the same path buys.
    label : array of shape (n_stages, n_labels), optional
        Of the rows that reach each stage: the share of each class, or the mean label. None without labels.
    left_label : array of shape (n_stages, n_labels), optional
        The same for the rows that leave at each stage.
    classes : tuple of str, default=()
        The names of the columns of `label`. Empty where they are means.
    rows : {"rows", "documents"}, default="rows"
        What a row is called in pictures.
    """

    plan: Plan = field(repr=False)
    stages: tuple[PlanStage, ...]
    reached: Floats
    left: Floats
    cost: Floats
    features: tuple[tuple[int, ...], ...]
    label: Floats | None = None
    left_label: Floats | None = None
    classes: tuple[str, ...] = ()
    rows: str = "rows"


# -- the stages --------------------------------------------------------------------------------------------


def plan_of(model: Any) -> Plan:
    """The plan of a fitted model, or the plan itself."""
    plan = model if isinstance(model, Plan) else getattr(model, "plan_", None)
    if not isinstance(plan, Plan):
        raise DataError(f"expected a fitted model or a plan, got {type(model).__name__}, which has no plan_")
    if not plan.nodes:
        raise DataError("this plan has no nodes: there is nothing to show")
    return plan


def stages(plan: Plan) -> list[PlanStage]:
    """The stages of a plan, each after the one it follows.

    >>> from miserly import Costs, Plan
    >>> from miserly.plan import Node, Threshold
    >>> chain = [Node([], [], [], [0.0], up=1), Node([], [], [], [0.0], gate=Threshold(0.0), up=2),
    ...          Node([], [], [], [0.0])]
    >>> [stage.nodes for stage in stages(Plan(costs=Costs([]), terms=[], nodes=chain, base=[0.0]))]
    [(0, 1), (2,)]
    """
    starts = [(0, -1, 1)]
    found: list[PlanStage] = []
    for start, parent, level in starts:
        run = [start]
        while _all_go_on(plan, run[-1]):
            run.append(plan.nodes[run[-1]].up)
        last, ways = plan.nodes[run[-1]], dict[str, int]()
        for way, child in (("up", last.up), ("low", last.low)):
            if child != LEAVE:
                ways[way] = len(starts)
                starts.append((child, len(found), level + 1))
        found.append(PlanStage(tuple(run), parent, level, **ways))
    return found


def _all_go_on(plan: Plan, k: int) -> bool:
    node = plan.nodes[k]
    return node.up != LEAVE and node.low == LEAVE and not node.is_exit


def fuse(parts: Sequence[PlanStage], most: int) -> list[PlanStage]:
    """The stages of a chain, neighbours merged so that at most `most` are left."""
    if len(parts) <= most:
        return list(parts)
    pieces = np.array_split(np.arange(len(parts)), most)
    fused = [tuple(node for i in piece for node in parts[i].nodes) for piece in pieces]
    return [PlanStage(nodes, i - 1, i + 1, i + 1 if i + 1 < most else None) for i, nodes in enumerate(fused)]


def purchased(plan: Plan, parts: Sequence[PlanStage]) -> tuple[tuple[int, ...], ...]:
    """The columns that each stage may buy and that no earlier stage on the same path buys."""
    bought = purchases(plan)
    return tuple(tuple(item.feature for k in stage.nodes for item in bought[k].items) for stage in parts)


def stage_of(plan: Plan, parts: Sequence[PlanStage]) -> NDArray[np.int64]:
    """The stage of each node."""
    owner = np.zeros(len(plan.nodes), dtype=np.int64)
    for i, stage in enumerate(parts):
        owner[list(stage.nodes)] = i
    return owner


# -- the rows ----------------------------------------------------------------------------------------------


def flow(
    model: Any, X: Any, y: ArrayLike | None = None, *, qid: ArrayLike | None = None, most: int | None = None
) -> Flow:
    """Follow rows through the stages of a fitted model.

    Parameters
    ----------
    model : fitted learner or Plan
        The model whose plan is run.
    X : array or frame of shape (n, n_features)
        The rows.
    y : array of shape (n,), optional
        Labels: classes if the plan predicts classes, else numbers.
    qid : array of shape (n,), optional
        The query of each row. Plans that compare the documents of a query need it.
    most : int, optional
        The largest number of stages. Neighbouring stages of a longer chain are merged.

    Returns
    -------
    Flow
        For each stage: the share of rows that reach it, their mean cost and their labels.

    Examples
    --------
    >>> from miserly import Costs, Plan
    >>> from miserly.plan import Node, Raw, Threshold
    >>> nodes = [Node([0], [0], [1.0], [0.0], gate=Threshold(0.0), up=1), Node([1], [0], [1.0], [0.0])]
    >>> plan = Plan(costs=Costs([1.0, 10.0]), terms=[Raw(0), Raw(1)], nodes=nodes, base=[0.0])
    >>> found = flow(plan, [[-1.0, 0.0], [1.0, 0.0]], [3.0, 5.0])
    >>> found.reached.tolist(), found.cost.tolist(), found.label[:, 0].tolist()
    ([1.0, 0.5], [1.0, 11.0], [4.0, 5.0])
    """
    plan = plan_of(model)
    parts = stages(plan)
    if most is not None and not plan.has_forks:
        parts = fuse(parts, most)
    matrix = read_rows(plan, X, qid)
    labels, classes = _label_columns(plan, y, len(matrix))
    spent, at = np.zeros(len(parts)), np.zeros(len(matrix), dtype=np.int64)
    for visit in visits(plan, parts, matrix, qid):
        at[visit.rows] = visit.stage
        spent += np.bincount(visit.stage, visit.cost, len(parts))
    left = np.bincount(at, minlength=len(parts)).astype(np.float64)
    left_sum = np.zeros((len(parts), labels.shape[1]))
    np.add.at(left_sum, at, labels)
    reached, reached_sum = _upstream(parts, left), _upstream(parts, left_sum)
    return Flow(
        plan=plan,
        stages=tuple(parts),
        reached=reached / len(matrix),
        left=left / len(matrix),
        cost=_ratio(spent, reached),
        features=purchased(plan, parts),
        label=None if y is None else _ratio(reached_sum, reached[:, None]),
        left_label=None if y is None else _ratio(left_sum, left[:, None]),
        classes=classes,
    )


def remaining(model: Any, X: Any, *, qid: ArrayLike | None = None) -> Floats:
    """Compute the share of rows that reach each level of stages.

    Of a cascade, these are the rows without an answer so far.

    Parameters
    ----------
    model : fitted learner or Plan
        The model whose plan is run.
    X : array or frame of shape (n, n_features)
        The rows.
    qid : array of shape (n,), optional
        The query of each row. Plans that compare the documents of a query need it.

    Returns
    -------
    array of shape (n_levels,)
        Shares between 0 and 1. The first is 1.

    Examples
    --------
    >>> from miserly import Costs, Plan
    >>> from miserly.plan import Node, Raw, Threshold
    >>> nodes = [Node([0], [0], [1.0], [0.0], gate=Threshold(0.0), up=1), Node([], [], [], [0.0])]
    >>> plan = Plan(costs=Costs([1.0]), terms=[Raw(0)], nodes=nodes, base=[0.0])
    >>> remaining(plan, [[-1.0], [1.0], [2.0], [-3.0]]).tolist()
    [1.0, 0.5]
    """
    plan = plan_of(model)
    parts = stages(plan)
    matrix = read_rows(plan, X, qid)
    last = stage_of(plan, parts)[plan.run(matrix, qid=qid, encoded=True).exit]
    levels = np.array([stage.level for stage in parts])
    left = np.bincount(levels[last], minlength=levels.max() + 1)[1:]
    return np.cumsum(left[::-1])[::-1] / len(matrix)


def visits(
    plan: Plan, parts: Sequence[PlanStage], matrix: NDArray[Any], qid: ArrayLike | None
) -> Iterator[Visit]:
    """Level by level, the rows that reach it.

    What rows have bought by then is found by running the plan as if it ended there. Rows that left before are
    not run again, unless documents are compared with each other.
    """
    part_of = stage_of(plan, parts)
    node_level = np.array([stage.level for stage in parts])[part_of]
    whole = plan.run(matrix, qid=qid, encoded=True)
    farthest = node_level[whole.exit]
    for level in range(1, node_level.max() + 1):
        rows = np.flatnonzero(farthest >= level)
        kept = np.flatnonzero(node_level <= level)
        if len(kept) == len(node_level):
            run, own = whole, rows
        elif plan.listwise:
            run, own = keep_nodes(plan, kept).run(matrix, qid=qid, encoded=True), rows
        else:
            some = matrix if len(rows) == len(matrix) else matrix[rows]
            run, own = keep_nodes(plan, kept).run(some, encoded=True), np.arange(len(rows))
        yield Visit(rows, part_of[kept[run.exit[own]]], run.cost[own], run.acquired[own])


def _upstream(parts: Sequence[PlanStage], left: Floats) -> Floats:
    """Sums over rows that reach each stage, from those over the rows that leave there."""
    total = left.copy()
    for i in range(len(parts) - 1, 0, -1):  # stages come after the one they follow
        total[parts[i].parent] += total[i]
    return total


def _ratio(above: Floats, below: Floats) -> Floats:
    out = np.full(above.shape, np.nan)
    np.divide(above, below, out=out, where=below > 0)
    return out


def read_rows(plan: Plan, X: Any, qid: ArrayLike | None) -> NDArray[Any]:
    """Rows as a matrix. `DataError` without rows, or if a plan that compares documents has no `qid`."""
    if plan.listwise and qid is None:
        raise DataError("this plan compares the documents of a query; give qid, the query of each row")
    matrix = plan.encode(X)
    if not len(matrix):
        raise DataError("X has no rows")
    return matrix


def _label_columns(plan: Plan, y: ArrayLike | None, n: int) -> tuple[Floats, tuple[str, ...]]:
    """Labels as columns to average: one per class, or the numbers themselves."""
    if y is None:
        return np.zeros((n, 1)), ()
    labels = np.asarray(y)
    if labels.shape != (n,):
        raise DataError(f"labels of shape {labels.shape} for {n} rows")
    if plan.classes is None:
        return labels.astype(np.float64)[:, None], ()
    columns = labels[:, None] == plan.classes
    strange = labels[~columns.any(axis=1)]
    if len(strange):
        raise DataError(f"label {plain(strange[0])} is none of the plan's classes, {plan.classes.tolist()}")
    names = (plain(label) if isinstance(label, str) else f"class {plain(label)}" for label in plan.classes)
    return columns.astype(np.float64), tuple(names)

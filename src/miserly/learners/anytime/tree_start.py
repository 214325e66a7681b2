"""A tree for the first purchases of an acquirer.

A mixture models densities, and the first purchases depend on details of them that it does not know. A tree
grown by rollouts chooses by counts of rows instead. It spends a part of the budget. Then each of its leaves
goes on with the mixture, which observes first what the tree has bought.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from miserly.costs import Costs, Ledger
from miserly.data.rows import Rows
from miserly.grow import Bins
from miserly.grow.class_cuts import ClassRows
from miserly.learners.common.purchase_branches import Branch, split_node
from miserly.learners.common.purchase_rollouts import RolloutLimits, grow_by_rollouts
from miserly.losses import Loss
from miserly.plan import Node, Plan, Tree

__all__ = ["StartTree", "can_start", "start_tree", "with_start"]

MOST_PURCHASES = 20  # that the budget buys; with more, a tree runs out of rows before it matters
MAX_LEAVES = 64
MAX_BINS = 16
ROWS_PER_SIDE = 200  # of all rows, a side of a split has at least one in so many ...
LEAST_ROWS, MOST_ROWS = 20, 60  # ... between these numbers of rows
MOST_VALUES = 40_000_000  # rows times features from which the tree is grown
PRIOR = 10.0  # rows of the whole table, which count in the answer of a split

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class StartTree:
    """A tree for the first purchases, and the rows that it was grown on.

    Attributes
    ----------
    root : Branch
        The tree; its rows are those of `rows`.
    bins : Bins
        The bins of its splits.
    rows : Rows
        Training rows.
    """

    root: Branch
    bins: Bins
    rows: Rows


def can_start(costs: Costs, features: NDArray[np.int64], budget: float) -> bool:
    """Whether a tree can help: the budget buys 2 to 20 of the features, and evaluations cost nothing."""
    if not np.isfinite(budget) or costs.evaluation > 0.0:
        return False
    prices = np.sort(costs.marginals(np.zeros(len(costs), dtype=np.bool_))[features])
    n_bought = int(np.count_nonzero(np.asarray(Ledger(costs, budget).fits(np.cumsum(prices)))))
    return 2 <= n_bought <= MOST_PURCHASES


def start_tree(
    rows: Rows,
    n_classes: int,
    costs: Costs,
    allowed: NDArray[np.int64],
    budget: float,
    alpha: float,
    kind: int,
    categorical: NDArray[np.bool_],
    seed: int,
    n_threads: int | None,
) -> StartTree:
    """Grow a tree for the first purchases.

    Parameters
    ----------
    rows : Rows
        Training rows; classes are numbered from 0.
    n_classes : int
        Number of classes.
    costs : Costs
        The prices.
    allowed : int array
        The features that it may buy.
    budget : float
        What each path may spend.
    alpha : float
        Power of the price.
    kind : int
        Place of the impurity in `IMPURITIES`.
    categorical : bool array of (n_features,)
        Features that are split by category.
    seed : int
        Random seed of the rows, if there are very many.
    n_threads : int or None
        Number of threads.

    Returns
    -------
    StartTree
    """
    most = max(1, MOST_VALUES // rows.X.shape[1])
    if len(rows) > most:
        some = np.random.default_rng(seed).choice(len(rows), most, replace=False)
        rows = rows.take(np.sort(some))
    bins = Bins.fit(rows.X, MAX_BINS, categorical, random_state=seed)
    data = ClassRows.of(bins.transform(rows.X, n_threads), rows.y, rows.weight, n_classes)
    min_rows = int(np.clip(len(rows) // ROWS_PER_SIDE, LEAST_ROWS, MOST_ROWS))
    limits = RolloutLimits(MAX_LEAVES, min_rows, alpha, kind, spends_all=False)
    mask = np.zeros(len(costs), dtype=np.bool_)
    mask[allowed] = True
    root = grow_by_rollouts(data, Ledger(costs, budget), limits, n_threads, mask)
    return StartTree(root, bins, rows)


def with_start(plan: Plan, start: StartTree, loss: Loss) -> Plan:
    """The plan with a tree before its node, which chooses what rows buy after the tree.

    Parameters
    ----------
    plan : Plan
        One node with an acquisition.
    start : StartTree
        The tree.
    loss : Loss
        It gives the answers of rows that are stopped in the tree.

    Returns
    -------
    Plan
        The plan itself if the tree has no splits.
    """
    if start.root.split is None:
        return plan
    (chooses,) = plan.nodes
    builder = _StartBuilder(start, loss, replace(chooses, bias=np.append(chooses.bias, 0.0)))
    builder.add(start.root)
    return plan.replace(
        terms=builder.terms,
        nodes=builder.nodes,
        base=np.append(plan.base, 0.0),  # the last score is that of the splits
        n_outputs=len(plan.base),
    )


@dataclass
class _StartBuilder:
    start: StartTree
    loss: Loss
    leaf: Node
    terms: list[Tree] = field(default_factory=list)
    nodes: list[Node] = field(default_factory=list)

    def add(self, branch: Branch) -> int:
        """Add the nodes of a branch. Returns the number of the first."""
        place = len(self.nodes)
        if branch.split is None:
            self.nodes.append(self.leaf)
            return place
        term = len(self.terms)
        self.terms.append(branch.split.term(self.start.bins, 0.0))
        node = split_node(term, *(self._answer(child) for child in branch.children))
        self.nodes.append(node)
        up, low = (self.add(child) for child in branch.children)
        self.nodes[place] = replace(node, up=up, low=low)
        return place

    def _answer(self, branch: Branch) -> Floats:
        """Scores of the rows of a branch, if nothing else is known of them."""
        return self.loss.initial(*branch.smoothed(self.start.rows, PRIOR))

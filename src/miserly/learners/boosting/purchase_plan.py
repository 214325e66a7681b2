"""The plan of a purchase tree: a node for each split, and one with all trees of the answer for each leaf."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from miserly.costs import Costs
from miserly.costs.prices import n_evaluations
from miserly.data.rows import Rows
from miserly.grow import Bins
from miserly.learners.common.masked_boosting import Interval, known_part
from miserly.learners.common.purchase_branches import Branch, Split, split_node
from miserly.learners.common.round import Round, nodes_of, terms_of
from miserly.losses import Loss
from miserly.plan import Node, Tree

__all__ = ["PurchaseModel", "terms_and_nodes"]

PRIOR = 10.0  # rows of the whole table, which count in the answer of a split

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class PurchaseModel:
    """A purchase tree with the boosted model that answers.

    Attributes
    ----------
    root : Branch
        The purchase tree. Its rows are those of `rows`.
    bins : Bins
        The bins of its splits.
    rounds : sequence of Round
        The boosted model.
    base : array of (K,)
        Scores before its first round.
    rows : Rows
        Training rows.
    loss : Loss
        The loss.
    costs : Costs
        The prices.
    budget : float
        Cap on the cost of each path.
    """

    root: Branch
    bins: Bins
    rounds: Sequence[Round]
    base: Floats
    rows: Rows
    loss: Loss
    costs: Costs
    budget: float


def terms_and_nodes(model: PurchaseModel) -> tuple[list[Tree], list[Node]]:
    """The terms and the nodes of the plan.

    A leaf has what its rows can meet of each tree. A row that is stopped before its leaf is answered by what
    the last split tells. Without splits there is one node for each round. With splits there is one more score
    than outputs, that of the splits.

    Parameters
    ----------
    model : PurchaseModel
        The model.

    Returns
    -------
    list of Tree
        The terms.
    list of Node
        The nodes, parents before their children.
    """
    if model.root.split is None:
        n_rounds = _n_affordable([one.trees for one in model.rounds], model, model.root.bought, 0)
        return terms_of(model.rounds[:n_rounds]), nodes_of(model.rounds[:n_rounds])
    builder = _Builder(model)
    builder.add(model.root, {}, 0)
    return builder.terms, builder.nodes


@dataclass
class _Builder:
    model: PurchaseModel
    terms: list[Tree] = field(default_factory=list)
    nodes: list[Node] = field(default_factory=list)

    def add(self, branch: Branch, known: Mapping[int, Interval], depth: int) -> int:
        """Add the nodes of a branch. Returns the number of the first; `LEAVE` if there are none."""
        if branch.split is None:
            return self._add_leaf(branch, known, depth)
        term, place = len(self.terms), len(self.nodes)
        self.terms.append(branch.split.term(self.model.bins, self.model.costs.evaluation))
        low, high = (self._answer(child) for child in branch.children)
        node = split_node(term, low, high)
        self.nodes.append(node)
        sides = [
            self.add(child, known_after(branch.split, is_low, known, self.model.bins), depth + 1)
            for child, is_low in zip(branch.children, (True, False), strict=True)
        ]
        self.nodes[place] = replace(node, up=sides[0], low=sides[1])
        return place

    def _add_leaf(self, leaf: Branch, known: Mapping[int, Interval], depth: int) -> int:
        model, bias, place = self.model, self.model.base.copy(), len(self.nodes)
        bought = model.costs.mask(list(leaf.bought))
        parts = [tuple(known_part(tree, bought, known) for tree in one.trees) for one in model.rounds]
        splitting = [[tree for tree in one if tree.n_leaves > 1] for one in parts]
        n_rounds = _n_affordable(splitting, model, leaf.bought, depth)
        channels, weights, first = [], [], len(self.terms)
        for one, trees in zip(model.rounds[:n_rounds], parts[:n_rounds], strict=True):
            bias += one.bias
            for tree, channel in zip(trees, one.channels, strict=True):
                if tree.n_leaves == 1:
                    bias[channel] += one.step * tree.value[0]
                    continue
                self.terms.append(tree)
                channels.append(channel)
                weights.append(one.step)
        terms = np.arange(first, len(self.terms))
        node = Node(
            terms, np.array(channels, dtype=np.int64), np.array(weights), np.append(bias, 0.0), inherits=False
        )
        self.nodes.append(node)
        return place

    def _answer(self, branch: Branch) -> Floats:
        """Scores of the rows of a branch, if nothing else is known of them."""
        return self.model.loss.initial(*branch.smoothed(self.model.rows, PRIOR))


def known_after(split: Split, is_low: bool, known: Mapping[int, Interval], bins: Bins) -> dict[int, Interval]:
    """What is known of values on one side of a split."""
    if bins.categorical[split.feature]:
        return dict(known)
    before, edge = known.get(split.feature, Interval()), float(bins.edges[split.feature, split.cut])
    after = (
        Interval(before.low, min(before.high, edge), may_miss=False)
        if is_low
        else Interval(max(before.low, edge), before.high, before.may_miss)
    )
    return {**known, split.feature: after}


def _n_affordable(
    trees: Sequence[Sequence[Tree]], model: PurchaseModel, bought: tuple[int, ...], n_splits: int
) -> int:
    """The number of rounds whose trees can be evaluated with what a path has left."""
    costs = model.costs
    if costs.evaluation == 0.0:
        return len(trees)
    left = model.budget - costs.of(costs.mask(list(bought)))
    most = n_evaluations(left, costs.evaluation) - n_splits
    return int(np.searchsorted(np.cumsum([len(one) for one in trees]), most, side="right"))

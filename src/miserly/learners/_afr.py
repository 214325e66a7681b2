"""Growing a representation and its SVM together, purchase after purchase (thesis 2.2, algorithm 4).

Rows are in three parts. The SVM is solved on the *inner* ones; the *outer* ones judge the SVM by a smooth
share of errors, whose derivatives trees are fitted to, on inner and outer rows alike; rows *aside* are never
learned from, and say how many trees are enough and how closely the SVM may follow its rows.

Each block begins with rounds of Greedy Miser (a tree for every class against the rest) at a tradeoff half of
the last block's. Their trees become new dimensions, `n_trees` in each, which then grow along the derivatives.

What differs from the thesis, because representations that have seen the labels of all inner and outer rows
overfit otherwise (measured on rows none of this has seen):

- The Miser's rounds go on from one block to the next by themselves, with small steps, and what they lack in
  margin is what a purchase must be worth. An SVM soon has no errors left to pay for.
- Weights of the SVM shrink towards those that boosting gave, not towards zero, and C follows the margins of
  rows aside: where they say so, the SVM is the boosted model.
- After a purchase some rounds may not buy, so that each snapshot makes the best of what it has paid for.
- Trees that rows aside do not find worth their price are taken back.
- Each tree is fitted to a draw of the rows.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from miserly.costs import Ledger
from miserly.grow import Grower, Grown
from miserly.learners._progress import Steps
from miserly.learners._representation import OneVsRest, Parts
from miserly.plan import Tree

__all__ = ["Builder", "Recipe", "Snapshot"]

Floats: TypeAlias = NDArray[np.float64]

SETTLE = 10  # rounds after a purchase that may not buy; as many without a purchase end a block
FALL = 2.0  # by what the tradeoff is divided from block to block
MAX_HALVINGS = 60  # until a first split is affordable
LEAST = 1e-12  # a share of errors or a slope below this is none


@dataclass(frozen=True)
class Recipe:
    """What a builder is told; a `tradeoff` of None starts where the first purchase becomes affordable."""

    n_blocks: int
    n_dimensions: int
    n_trees: int
    step: float
    tradeoff: float | None
    reserve: float  # what of the budget may not go to features
    subsample: float
    seed: int


@dataclass(frozen=True, eq=False)
class Snapshot:
    """The model at one cost: for each class against the rest, the weights of its trees so far and a bias."""

    cost: float
    weights: tuple[Floats, ...]
    bias: tuple[float, ...]
    aside: Floats  # (classes, n): decisions on the rows aside
    outer_loss: float


@dataclass(frozen=True, eq=False)
class _Mark:
    """Where everything stood before something that may be taken back."""

    ledger: dict[str, Any]
    n_trees: int
    n_snapshots: int
    stale: bool
    values: Floats
    n_own: int


class Builder:
    """Grows everything, and keeps a snapshot whenever a purchase ends what one cost could buy.

    Attributes
    ----------
    trees : list of (class, tree), in the order they were grown
    snapshots : list of Snapshot
    tradeoffs : list of float, one for each block
    """

    def __init__(
        self,
        problems: list[OneVsRest],
        grower: Grower,
        ledger: Ledger,
        recipe: Recipe,
        tell: Steps,
    ) -> None:
        self.problems = problems
        self.parts: Parts = problems[0].parts
        self.grower = grower
        self.ledger = ledger
        self.recipe = recipe
        self.tell = tell
        self.trees: list[tuple[int, Tree]] = []
        self.snapshots: list[Snapshot] = []
        self.tradeoffs: list[float] = []
        self._weight = problems[0].weight.copy()
        self._weight[self.parts.aside] = 0.0  # those rows follow the trees, and do not count
        self._total = float(self._weight.sum())
        self._stale = False  # whether the last snapshot is older than the last tree
        self._turn = 0
        self._random = np.random.default_rng(recipe.seed)

    def run(self) -> None:
        tradeoff = self.recipe.tradeoff
        tradeoff = self._first_tradeoff() if tradeoff is None else tradeoff
        for _ in range(MAX_HALVINGS):
            grown = self._block(tradeoff)
            if self.trees:
                self.tradeoffs.append(tradeoff)
            if len(self.tradeoffs) == self.recipe.n_blocks or not (grown or self._may_go_on()):
                break
            tradeoff /= FALL
        self._keep()

    def _first_tradeoff(self) -> float:
        """The largest of halves, from where no gain could pay for the cheapest feature, that buys one."""
        prices = np.array([self.ledger.price(f) for f in range(len(self.ledger.costs))])
        residuals = [problem.residual() for problem in self.problems]
        if not (prices > 0).any():
            return 0.0
        most = max(0.5 * float(self._weight @ residual**2) / self._total for residual in residuals)
        tradeoff = most / float(prices[prices > 0].min())
        before = self.ledger.state()
        for _ in range(MAX_HALVINGS):
            found = [self._grow(residual, tradeoff) for residual in residuals]
            self.ledger.restore(before)
            if any(grown is not None and grown.bought for grown in found):
                break
            tradeoff /= FALL
        return tradeoff

    def _may_go_on(self) -> bool:
        """Whether a smaller tradeoff could change anything."""
        if self.ledger.costs.evaluation > 0:
            return self.ledger.can_evaluate()
        return any(
            not self.ledger.paid[f] and self.ledger.affordable(f) for f in range(len(self.ledger.costs))
        )

    def _block(self, tradeoff: float) -> bool:
        """Greedy Miser, then the slopes of the outer loss; gives whether any tree stayed."""
        before = len(self.trees)
        if not before:  # the first block with trees is the same however its tradeoff was found
            self._random, self._turn = np.random.default_rng(self.recipe.seed), 0
        rounds = self._rounds(tradeoff)
        new = self._commit(rounds)
        for place in range(max((len(mine) for mine in new), default=0)):
            for k, mine in enumerate(new):
                if place < len(mine):
                    self._grow_along(k, mine[place], tradeoff)
        for problem in self.problems:
            problem.tune()
        self.tell(
            f"tradeoff {tradeoff:.3g}, {len(self.trees)} trees, {len(self.snapshots)} snapshots, "
            f"cost {self.ledger.spent:.4g}"
        )
        return len(self.trees) > before

    # -- rounds of Greedy Miser --------------------------------------------------------------------------

    def _rounds(self, tradeoff: float) -> list[list[Grown | None]]:
        """Rounds at one tradeoff, up to where rows aside were best; the ledger is left as it was."""
        scores = [problem.boosted.copy() for problem in self.problems]
        before = self.ledger.state()
        best, n_best = self._shortage(scores), 0
        found: list[list[Grown | None]] = []
        since = SETTLE  # rounds since the last purchase
        while len(found) < self.recipe.n_dimensions * self.recipe.n_trees and since < 2 * SETTLE + 1:
            done = self._round(scores, tradeoff, may_buy=since >= SETTLE)
            if all(grown is None for grown in done):
                if since >= SETTLE:
                    break
                since = SETTLE  # nothing more to learn from what is paid
                continue
            found.append(done)
            since = 0 if any(grown is not None and grown.bought for grown in done) else since + 1
            short = self._shortage(scores) + self._worth(tradeoff, before)
            if short < best:
                best, n_best = short, len(found)
        self.ledger.restore(before)
        return found[:n_best]

    def _round(self, scores: list[Floats], tradeoff: float, may_buy: bool) -> list[Grown | None]:
        """One tree for every class, of which one may buy one feature; adds them to the scores."""
        done: list[Grown | None] = [None] * len(scores)
        self._turn += 1
        for turn in range(len(scores)):
            k = (turn + self._turn) % len(scores)
            sign = self.problems[k].sign
            grown = self._grow(sign * np.maximum(0.0, 1.0 - sign * scores[k]), tradeoff, int(may_buy))
            if grown is not None:
                scores[k] += self.recipe.step * grown.tree.value[grown.leaf]
                may_buy = may_buy and not grown.bought
            done[k] = grown
        return done

    def _shortage(self, scores: list[Floats]) -> float:
        """What margins of rows aside lack, squared, over all classes."""
        aside = self.parts.aside
        return sum(
            problem.shortage(score[aside]) for problem, score in zip(self.problems, scores, strict=True)
        )

    def _worth(self, tradeoff: float, before: dict[str, Any]) -> float:
        """What has been spent since then must have brought, in squares of shortage (twice the loss)."""
        return 2.0 * tradeoff * (self.ledger.spent - float(before["account"][0]))

    def _commit(self, rounds: list[list[Grown | None]]) -> list[list[int]]:
        """Put the trees of rounds into new dimensions, and pay for them; gives these, class by class."""
        new: list[list[int]] = [[] for _ in self.problems]
        for place, done in enumerate(rounds):
            grown = [(k, one) for k, one in enumerate(done) if one is not None]
            if any(one.bought for _, one in grown) or self._pays_for_trees(place):
                self._keep()
            for k, one in grown:
                problem = self.problems[k]
                if place % self.recipe.n_trees == 0 or not new[k]:
                    new[k].append(problem.widen(self.recipe.step))
                problem.grow(new[k][-1], one)
                problem.boosted += self.recipe.step * one.tree.value[one.leaf]
                self._pay(k, one)
        return new

    def _pays_for_trees(self, place: int) -> bool:
        return self.ledger.costs.evaluation > 0 and place % self.recipe.n_trees == 0

    # -- trees along the slopes of the outer loss --------------------------------------------------------

    def _grow_along(self, k: int, s: int, tradeoff: float) -> None:
        """Trees for one dimension, up to where rows aside were best."""
        problem, aside = self.problems[k], self.parts.aside
        mark, best = self._mark(problem, s), problem.shortage(problem.decision(aside))
        before = mark.ledger
        for _ in range(self.recipe.n_trees):
            target = self._descent(problem, s)
            grown = None if target is None else self._grow(target, tradeoff)
            if grown is None:
                break
            if grown.bought:
                self._keep()
            problem.grow(s, grown)
            self._pay(k, grown)
            short = problem.shortage(problem.decision(aside)) + self._worth(tradeoff, before)
            if short >= best:
                break
            mark, best = self._mark(problem, s), short
        self._take_back(problem, s, mark)
        if self.ledger.costs.evaluation > 0:
            self._keep()

    def _descent(self, problem: OneVsRest, s: int) -> Floats | None:
        """Minus the derivatives by dimension `s`, as large as what the margins lack: they saturate."""
        inner, outer = problem.slopes().of(s)
        target = np.zeros(len(problem.sign))
        target[self.parts.inner], target[self.parts.outer] = -inner, -outer
        target[self.parts.learning] /= problem.weight[self.parts.learning]
        size = float(self._weight @ target**2)
        short = float(self._weight @ problem.residual() ** 2)
        if size <= LEAST**2 * self._total or short <= LEAST * self._total:
            return None
        return np.asarray(target * np.sqrt(short / size))

    # -- buying, paying, taking back -----------------------------------------------------------------------

    def _grow(self, target: Floats, tradeoff: float, max_new: int = 1) -> Grown | None:
        """A tree, or None if it would not split, or bring less than its evaluation costs."""
        if not self.ledger.can_evaluate():
            return None
        before = self.ledger.state()
        self.ledger.evaluate()
        weight = self._some_rows()
        with self._saving_for_trees():
            grown = self.grower.fit_tree(
                target, weight, ledger=self.ledger, tradeoff=tradeoff, max_new_features=max_new
            )
        worth = tradeoff * self.ledger.costs.evaluation * float(weight.sum())
        if grown.tree.n_leaves == 1 or grown.gain <= worth:
            self.ledger.restore(before)
            return None
        return grown

    def _some_rows(self) -> Floats:
        """The weights of rows for one tree: a draw of them counts, the others follow."""
        if self.recipe.subsample == 1.0:
            return self._weight
        chosen = self._random.random(len(self._weight)) < self.recipe.subsample
        chosen[0] = True  # at least one
        return np.where(chosen, self._weight, 0.0)

    @contextmanager
    def _saving_for_trees(self) -> Iterator[None]:
        """While features are bought, keep back what is left of the reserve for evaluating trees."""
        ledger = self.ledger
        budget = ledger.account[1]
        evaluated = (len(self.trees) + 1) * ledger.costs.evaluation
        ledger.account[1] = max(ledger.spent, budget - max(0.0, self.recipe.reserve - evaluated))
        try:
            yield
        finally:
            ledger.account[1] = budget

    def _pay(self, k: int, grown: Grown) -> None:
        """Enter a tree that stays, and count anew what is spent."""
        ledger = self.ledger
        self.trees.append((k, grown.tree))
        self._stale = True
        ledger.paid[list(grown.bought)] = True
        opened = ledger.costs.group[ledger.paid]
        ledger.opened[opened[opened >= 0]] = True
        ledger.account[0] = ledger.costs.of(ledger.paid, evaluations=len(self.trees))

    def _mark(self, problem: OneVsRest, s: int) -> _Mark:
        return _Mark(
            self.ledger.state(),
            len(self.trees),
            len(self.snapshots),
            self._stale,
            problem.values(s).copy(),
            len(problem.dimension),
        )

    def _take_back(self, problem: OneVsRest, s: int, mark: _Mark) -> None:
        if len(self.trees) == mark.n_trees:
            return
        self.ledger.restore(mark.ledger)
        del self.trees[mark.n_trees :], self.snapshots[mark.n_snapshots :]
        self._stale = mark.stale
        problem.restore(s, mark.values, mark.n_own)

    def _keep(self) -> None:
        """A snapshot of all there is, unless there is one already."""
        if not self._stale:
            return
        self._stale = False
        found = [problem.settled() for problem in self.problems]
        self.snapshots.append(
            Snapshot(
                self.ledger.costs.of(self._features(), evaluations=len(self.trees)),
                tuple(weights for weights, _, _ in found),
                tuple(bias for _, bias, _ in found),
                np.array([aside for _, _, aside in found]),
                float(np.mean([problem.outer_loss() for problem in self.problems])),
            )
        )

    def _features(self) -> NDArray[np.bool_]:
        used = np.zeros(len(self.ledger.costs), dtype=np.bool_)
        for _, tree in self.trees:
            used[tree.features] = True
        return used

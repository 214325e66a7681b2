"""Growing a representation and its SVM together, purchase after purchase (thesis 2.2, algorithm 4).

Rows are in three parts. The SVM is solved on the *inner* ones; the *outer* ones judge the SVM by a smooth
share of errors, whose derivatives trees are fitted to, on inner and outer rows alike; rows *aside* are never
learned from, and say how many trees are enough and how closely the SVM may follow its rows.

Each block goes on with rounds of Greedy Miser (a tree for every class against the rest) at a tradeoff half of
the last block's. Their trees become new dimensions, `n_trees` or more in each, which then grow along the
derivatives.

What differs from the thesis, because representations that have seen the labels of all inner and outer rows
overfit otherwise (measured on rows none of this has seen):

- The Miser's rounds go on from one block to the next by themselves, with small steps, and what they lack in
  margin is what a purchase must be worth. An SVM soon has no errors left to pay for.
- Trees of early blocks have learned what they could from cheap features, noise too, and what they did to the
  margins of their own rows hides what dear features are worth. So whenever the cost has risen by half,
  boosting begins anew with all that is paid; where rows aside find that better it becomes the
  representation, and the older trees serve older snapshots only. (Where evaluating trees costs something they
  are all kept.) That took the curve of a ranking task from 2.3 % below Greedy Miser's to 0.6 % above.
- Weights of the SVM shrink towards those that boosting gave, not towards zero, and C follows the margins of
  rows aside: where they say so, the SVM is the boosted model.
- After a purchase some rounds may not buy, so that each snapshot makes the best of what it has paid for.
- Trees that rows aside do not find worth their price are taken back; those along the derivatives buy nothing,
  and stay only where rows aside are better by more than the noise.
- Each tree is fitted to a draw of the rows, but for the very first: its purchase stands at the head of all.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from miserly.costs import Ledger
from miserly.grow import Grower, Grown
from miserly.learners.anytime.representation import OneVsRest, Parts
from miserly.learners.anytime.snapshots import Snapshot, features_of, last_of_each_cost
from miserly.learners.common.progress import Steps
from miserly.plan import Tree

__all__ = ["Builder", "Recipe"]

Floats: TypeAlias = NDArray[np.float64]

Round: TypeAlias = list[Grown | None]  # a tree for every class against the rest, if it would split

ROUNDS = 200  # of Greedy Miser from the beginning, at most, or as many as there is room for
PATIENCE = 20  # rounds without rows aside getting better, until they end
SETTLE = 10  # rounds that go on after a purchase
GROWTH = 1.5  # by what factor the cost has risen when it is worth while to begin anew
DOUBT = 2.0  # standard errors by which rows aside must find trees along the slopes better
FALL = 2.0  # by what the tradeoff is divided from block to block
MAX_HALVINGS = 60  # until a first split is affordable
LEAST = 1e-12  # a share of errors or a slope below this is none


@dataclass(frozen=True)
class Recipe:
    """What a builder is told; a `tradeoff` of None starts where the first purchase becomes affordable."""

    n_blocks: int
    n_dimensions: int
    max_dimensions: int | None
    n_trees: int
    step: float
    tradeoff: float | None
    reserve: float  # what of the budget may not go to features
    subsample: float
    seed: int


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
        self._drawn = False  # the first tree sees all rows
        self._renewed = 0.0  # what was spent when we last began anew
        self._random = np.random.default_rng(recipe.seed)
        self._random_along = np.random.default_rng([recipe.seed, 1])  # so that purchases do not depend on it

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
        if self._may_forget:
            self.snapshots = last_of_each_cost(self.snapshots, self.trees, self.ledger.costs)

    def anew(self, paid: NDArray[np.bool_]) -> Builder:
        """A builder for the same rows that has bought these features, and grown nothing yet."""
        ledger = Ledger(self.ledger.costs)
        for f in np.flatnonzero(paid):
            ledger.buy(int(f))
        problems = [OneVsRest(problem.sign, problem.weight, self.parts) for problem in self.problems]
        return Builder(problems, self.grower, ledger, self.recipe, self.tell)

    def learn(self) -> Snapshot:
        """The best of what is paid already: one block that buys nothing, and one snapshot."""
        self._begin_anew(0.0)
        for problem in self.problems:
            problem.tune()
        self._stale = True  # even where nothing was grown there is a bias
        self._keep()
        return self.snapshots[-1]

    def _first_tradeoff(self) -> float:
        """The largest of halves, from where no gain could pay for the cheapest feature, that buys one."""
        prices = self.ledger.prices()
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
        return bool((~self.ledger.paid & self.ledger.fits(self.ledger.prices())).any())

    def _block(self, tradeoff: float) -> bool:
        """Go on buying at one tradeoff, beginning anew where that is better; gives whether a tree stayed."""
        before = len(self.trees)
        if not before:  # the first block with trees is the same however its tradeoff was found
            self._random, self._turn, self._drawn = np.random.default_rng(self.recipe.seed), 0, False
        more = True
        while more:
            self._renew(tradeoff)
            spent = self.ledger.spent
            found = self._purchases(tradeoff)
            self._grow_on(found, tradeoff)
            more = self._may_forget and self.ledger.spent > GROWTH * spent > 0.0
        for problem in self.problems:
            problem.tune()
        self.tell(
            f"tradeoff {tradeoff:.3g}, {len(self.trees)} trees, {len(self.snapshots)} snapshots, "
            f"cost {self.ledger.spent:.4g}"
        )
        return len(self.trees) > before

    def _renew(self, tradeoff: float) -> None:
        """Begin anew with all that is paid, if much is since this was last done."""
        if self._may_forget and self.ledger.spent > GROWTH * self._renewed:
            self._renewed = self.ledger.spent
            self._begin_anew(tradeoff)

    def _begin_anew(self, tradeoff: float) -> None:
        """Boost from the beginning with all that is paid.

        If rows aside find that better it becomes the representation; older trees serve older snapshots.
        """
        scores = [np.full(len(problem.sign), problem.base) for problem in self.problems]
        found: list[Round] = []
        best, n_best = np.inf, 0
        while len(found) < max(ROUNDS, self._room) and len(found) < n_best + PATIENCE:
            done = self._round(scores, tradeoff, may_buy=False)
            if all(grown is None for grown in done):
                break
            found.append(done)
            short = self._shortage(scores)
            if short < best:
                best, n_best = short, len(found)
        if best < self._shortage([problem.boosted for problem in self.problems]):
            self._keep()
            for problem in self.problems:
                problem.forget()
            self._grow_on(found[:n_best], tradeoff)

    def _grow_on(self, rounds: list[Round], tradeoff: float) -> None:
        """Put the trees of rounds into new dimensions, and grow these along the slopes."""
        new = self._commit(rounds)
        for place in range(max((len(mine) for mine in new), default=0)):
            for k, mine in enumerate(new):
                if place < len(mine):
                    self._grow_along(k, mine[place], tradeoff)

    @property
    def _may_forget(self) -> bool:
        """Whether trees may be grown that later snapshots do not need."""
        return self.ledger.costs.evaluation == 0

    @property
    def _room(self) -> int:
        """How many rounds the dimensions of a block hold."""
        return self.recipe.n_dimensions * self.recipe.n_trees

    # -- rounds of Greedy Miser --------------------------------------------------------------------------

    def _purchases(self, tradeoff: float) -> list[Round]:
        """Rounds that buy, and rounds to make the most of it, up to where rows aside were best.

        They end where nothing is worth its price, or so much is spent that beginning anew may be better. The
        ledger is left as it was.
        """
        scores = [problem.boosted.copy() for problem in self.problems]
        before, spent = self.ledger.state(), self.ledger.spent
        best, n_best, since = self._shortage(scores), 0, SETTLE
        found: list[Round] = []
        while len(found) < self._room and since < 2 * SETTLE + 1:
            if since >= SETTLE and self._may_forget and self.ledger.spent > GROWTH * spent > 0.0:
                break
            may_buy = since >= SETTLE
            done = self._round(scores, tradeoff, may_buy)
            bought = any(grown is not None and grown.bought for grown in done)
            if all(grown is None for grown in done):
                if may_buy:
                    break
                since = SETTLE  # nothing more to learn from what is paid
                continue
            found.append(done)
            since = 0 if bought else since + 1
            short = self._shortage(scores) + self._worth(tradeoff, before)
            if short < best:
                best, n_best = short, len(found)
        self.ledger.restore(before)
        return found[:n_best]

    def _round(self, scores: list[Floats], tradeoff: float, may_buy: bool) -> Round:
        """One tree for every class, of which one may buy one feature; adds them to the scores."""
        done: Round = [None] * len(scores)
        self._turn += 1
        for turn in range(len(scores)):
            k = (turn + self._turn) % len(scores)
            sign = self.problems[k].sign
            grown = self._grow(sign * np.maximum(0.0, 1.0 - sign * scores[k]), tradeoff, may_buy)
            if grown is not None:
                self._drawn = True
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

    def _commit(self, rounds: list[Round]) -> list[list[int]]:
        """Put the trees of rounds into new dimensions, and pay for them; gives these, class by class."""
        new: list[list[int]] = [[] for _ in self.problems]
        each = max(self.recipe.n_trees, -(-len(rounds) // self.recipe.n_dimensions))
        for place, done in enumerate(rounds):
            bought = any(grown is not None and grown.bought for grown in done)
            if bought or (self.ledger.costs.evaluation > 0 and place % self.recipe.n_trees == 0):
                self._keep()
            for k, grown in enumerate(done):
                if grown is None:
                    continue
                problem = self.problems[k]
                if place % each == 0 or not new[k]:
                    s = self._new_dimension(problem)
                    new[k] += [s] if s not in new[k] else []
                problem.grow(new[k][-1], grown)
                problem.boosted += self.recipe.step * grown.tree.value[grown.leaf]
                self._pay(k, grown)
        return new

    def _new_dimension(self, problem: OneVsRest) -> int:
        """One more, or the last where there are as many as there may be."""
        most = self.recipe.max_dimensions
        if most is not None and problem.n_dimensions >= most:
            return most - 1
        return problem.widen(self.recipe.step)

    # -- trees along the slopes of the outer loss --------------------------------------------------------

    def _grow_along(self, k: int, s: int, tradeoff: float) -> None:
        """Trees for one dimension, as many as rows aside find best, if better beyond doubt than none."""
        problem, aside = self.problems[k], self.parts.aside
        mark, start = self._mark(problem, s), problem.short(problem.decision(aside))
        best = 0.0
        for _ in range(self.recipe.n_trees):
            target = self._descent(problem, s)
            grown = None if target is None else self._grow(target, tradeoff, may_buy=False, along=True)
            if grown is None:
                break
            problem.grow(s, grown)
            self._pay(k, grown)
            gain = start - problem.short(problem.decision(aside))
            doubt = DOUBT * float(np.std(gain)) / np.sqrt(len(gain))
            if np.mean(gain) > max(best, doubt):
                mark, best = self._mark(problem, s), float(np.mean(gain))
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

    def _grow(
        self, target: Floats, tradeoff: float, may_buy: bool = True, along: bool = False
    ) -> Grown | None:
        """A tree, or None if it would not split, or bring less than its evaluation costs."""
        if not self.ledger.can_evaluate():
            return None
        before = self.ledger.state()
        self.ledger.evaluate()
        weight = self._some_rows(self._random_along if along else self._random)
        with self._saving_for_trees():
            grown = self.grower.fit_tree(
                target, weight, ledger=self.ledger, tradeoff=tradeoff, max_new_features=int(may_buy)
            )
        worth = tradeoff * self.ledger.costs.evaluation * float(weight.sum())
        if grown.tree.n_leaves == 1 or grown.gain <= worth:
            self.ledger.restore(before)
            return None
        return grown

    def _some_rows(self, random: np.random.Generator) -> Floats:
        """The weights of rows for one tree: a draw of them counts, the others follow."""
        if self.recipe.subsample == 1.0 or not self._drawn:
            return self._weight
        chosen = random.random(len(self._weight)) < self.recipe.subsample
        chosen[0] = True  # at least one
        return np.where(chosen, self._weight, 0.0)

    def _saving_for_trees(self) -> AbstractContextManager[None]:
        """While features are bought, keep back what is left of the reserve for evaluating trees."""
        evaluated = (len(self.trees) + 1) * self.ledger.costs.evaluation
        return self.ledger.reserving(max(0.0, self.recipe.reserve - evaluated))

    def _pay(self, k: int, grown: Grown) -> None:
        """Enter a tree that stays, and count anew what is spent."""
        self.trees.append((k, grown.tree))
        self._stale = True
        self.ledger.settle(len(self.trees), grown.bought)

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
        features = features_of(self.trees, len(self.ledger.costs))
        self.snapshots.append(
            Snapshot(
                self.ledger.costs.of(features, evaluations=len(self.trees)),
                tuple(weights for weights, _, _ in found),
                tuple(bias for _, bias, _ in found),
                np.array([aside for _, _, aside in found]),
                float(np.mean([problem.outer_loss() for problem in self.problems])),
            )
        )

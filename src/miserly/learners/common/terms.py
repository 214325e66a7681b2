"""The terms of linear classifiers: raw columns, or trees that were boosted first.

Both kinds have the same interface. With `T` terms over `d` features:

- ``values(X)`` is (n, T) float64, the columns of a linear model: raw columns standardised, with missing
  values at the mean; or the output of each tree.
- ``uses`` (T, d) are the raw features each term needs, ``evaluation`` (T,) what evaluating it costs on top,
  and ``prices(costs, bought)`` what it would cost now, groups included.
- ``plan_terms`` are the terms of a plan, whose values are raw: ``ready = (raw - center) / scale``.
  ``weights_in_plan(beta, intercept)`` turns weights of ready columns into weights of the plan's terms. The
  score of a row is the same number either way, so thresholds need no turning.

There may be no terms at all (a constant target grows no trees); then ``values(X)`` has no columns.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from miserly.costs import Costs, Ledger
from miserly.costs.prices import row_prices
from miserly.data.rows import Rows
from miserly.errors import DataError
from miserly.grow import Bins, Grower, GrowOptions
from miserly.learners.common.booster import Booster
from miserly.learners.common.round import Round, terms_of
from miserly.losses import Loss
from miserly.plan import Node, Plan, Raw, Tree
from miserly.plan.additive import is_additive, summands_of
from miserly.solvers.columns import check_table, means_and_deviations, pieces_of, standardised

__all__ = ["BoostedTerms", "LinearTerms", "TermSet", "trees_of_plan"]

Floats: TypeAlias = NDArray[np.float64]

MAX_TERM_DEPTH = 7  # at most 255 nodes: the number of a leaf fits a byte
MAX_TREE_NODES = 255
STRIDE = 1.2  # by what a tradeoff that no split can pay is divided


@dataclass(frozen=True, eq=False)
class TermSet:
    """Terms of either kind. `LinearTerms` and `BoostedTerms` derive from it.

    Parameters
    ----------
    plan_terms : tuple of Raw or of Tree
        The terms as parts of a plan.
    n_features : int
        Number of features.
    center, scale : array of (T,)
        ``values = (raw - center) / scale``.
    """

    plan_terms: tuple[Raw, ...] | tuple[Tree, ...]
    n_features: int
    center: Floats
    scale: Floats

    @cached_property
    def uses(self) -> NDArray[np.bool_]:
        """The raw features that each term needs, (T, d)."""
        check_table(self.n_terms, self.n_features)
        uses = np.zeros((self.n_terms, self.n_features), dtype=np.bool_)
        terms: tuple[Raw | Tree, ...] = self.plan_terms
        for t, term in enumerate(terms):
            uses[t, term.features] = True
        return uses

    @property
    def n_terms(self) -> int:
        return len(self.plan_terms)

    @property
    def evaluation(self) -> Floats:
        return np.array([term.evaluation for term in self.plan_terms], dtype=np.float64)

    @property
    def freedom(self) -> Floats:
        """Degrees of freedom of each term, its weight included."""
        return np.ones(self.n_terms)

    def values(self, X: NDArray[Any]) -> Floats:
        """The columns (n, T) that weights are for."""
        raise NotImplementedError

    def prices(self, costs: Costs, bought: NDArray[np.bool_]) -> Floats:
        """Cost of each term by itself, given that the features in the mask `bought` are paid."""
        return row_prices(self.uses, costs.prices, bought) + self.evaluation

    def take(self, which: NDArray[Any]) -> Self:
        """Some of the terms, by a mask or by their numbers."""
        numbers = np.arange(self.n_terms)[which]
        terms = tuple(self.plan_terms[t] for t in numbers)
        return type(self)(terms, self.n_features, self.center[numbers], self.scale[numbers])

    def weights_in_plan(self, beta: ArrayLike, intercept: ArrayLike) -> tuple[Floats, Floats]:
        """Weights (T,) or (T, C) and intercept () or (C,) of ready columns as those of the plan's terms."""
        beta = np.asarray(beta, dtype=np.float64)
        weights = (beta.T / self.scale).T
        return weights, np.asarray(intercept, dtype=np.float64) - self.center @ weights


@dataclass(frozen=True, eq=False)
class LinearTerms(TermSet):
    """One raw column each, brought to mean 0 and standard deviation 1; missing values are at the mean.

    Examples
    --------
    >>> X = np.array([[1.0, 7.0], [3.0, 7.0], [np.nan, 7.0]])
    >>> terms = LinearTerms.fit(Rows(X, np.zeros(3)), Costs([1.0, 1.0]))
    >>> terms.plan_terms[0].fill, terms.values(X)[:, 1].tolist(), float(terms.values(X)[2, 0])
    (2.0, [0.0, 0.0, 0.0], 0.0)
    >>> weights, bias = terms.weights_in_plan([2.0, 0.0], 10.0)
    >>> bool(np.allclose([1.0, 7.0] @ weights + bias, terms.values(X)[0] @ [2.0, 0.0] + 10.0))
    True
    """

    @classmethod
    def fit(
        cls,
        samples: Rows,
        costs: Costs,
        features: NDArray[np.int64] | None = None,
        n_threads: int = 1,
    ) -> LinearTerms:
        """Weighted means of the observed values, and standard deviations of the columns filled with them.

        `features` are the columns to take, all by default.
        """
        taken = np.arange(len(costs)) if features is None else features
        center, scale = means_and_deviations(samples.X, samples.weight, taken, n_threads)
        terms = tuple(Raw(int(f), fill=float(c)) for f, c in zip(taken, center, strict=True))
        return cls(terms, len(costs), center, scale)

    @property
    def columns(self) -> NDArray[np.int64]:
        """The column that each term is."""
        return np.array([term.features[0] for term in self.plan_terms], dtype=np.int64)

    def values(self, X: NDArray[Any], dtype: Any = np.float64, n_threads: int = 1) -> NDArray[Any]:
        """Ready columns; in float32 on demand, standardised before they are rounded."""
        return standardised(X, self.columns, self.center, self.scale, dtype, n_threads)


@dataclass(frozen=True, eq=False)
class BoostedTerms(TermSet):
    """Regression trees from a booster (the boosting trick), each the plain output of one tree.

    Trees grown with `tradeoff` above 0 are Greedy Miser's, and use few features. Training rows can be kept as
    the numbers of leaves, one byte each: ``decoder[t, codes[:, t]]`` are the values of term `t`.
    """

    @classmethod
    def fit(
        cls,
        samples: Rows,
        loss: Loss,
        costs: Costs,
        *,
        n_terms: int,
        max_depth: int = 4,
        step: float = 0.1,
        tradeoff: float | tuple[float, float] = 0.0,
        min_samples_leaf: int = 20,
        max_price: float = np.inf,
        budget: float = np.inf,
        categorical: NDArray[np.bool_] | None = None,
        seed: int = 0,
        n_threads: int | None = None,
    ) -> BoostedTerms:
        """Boost trees.

        Parameters
        ----------
        samples : Rows
            Training rows.
        loss : Loss
            The loss that trees decrease. A loss of K scores grows K trees in a round.
        costs : Costs
            Costs of the features.
        n_terms : int
            Largest number of trees. There are fewer if no tree would split.
        max_depth : int, default=4
            Largest number of splits from the root to a leaf, 1 to 7.
        step : float, default=0.1
            Factor of each tree in the scores that the next trees correct.
        tradeoff : float or pair of floats, default=0.0
            Decrease of the mean loss that one unit of cost must bring. Of a pair, the first is for the first
            tree and the second for the last. It falls by a constant factor in between, so the first trees
            are cheap and expensive trees come later.
        min_samples_leaf : int, default=20
            Smallest number of rows in a leaf.
        max_price : float, default=inf
            Most that a tree may cost once the features of all earlier trees are paid; a round may cost K
            times as much.
        budget : float, default=inf
            Most that all trees together may cost.
        categorical : array of bool (n_features,), optional
            Columns that are split by category.
        seed : int, default=0
            Random seed of the bins.
        n_threads : int, optional
            Number of threads, all by default.

        Returns
        -------
        BoostedTerms
            The trees.
        """
        if not 1 <= max_depth <= MAX_TERM_DEPTH:
            raise DataError(f"trees that are terms have a depth of 1 to {MAX_TERM_DEPTH}, not {max_depth}")
        bins = Bins.fit(samples.X, categorical=categorical, random_state=seed)
        options = GrowOptions(max_depth=max_depth, min_samples_leaf=min_samples_leaf)
        grower = Grower(bins.transform(samples.X, n_threads=n_threads), costs, options, n_threads=n_threads)
        base = loss.initial(samples.y, samples.weight)
        booster = Booster(
            loss=loss,
            samples=replace(samples, X=samples.X[:0]),
            grower=grower,
            ledger=Ledger(costs),
            scores=np.asfortranarray(np.tile(base, (len(samples), 1))),
            tradeoff=0.0,
            step=step,
        )
        first, last = tradeoff if isinstance(tradeoff, tuple) else (tradeoff, tradeoff)
        falling = np.full(n_terms, first) if first == last else np.geomspace(first, last, n_terms)
        return cls.of(_boost(booster, falling, max_price, budget), len(costs))

    @classmethod
    def of(cls, trees: tuple[Tree, ...], n_features: int) -> BoostedTerms:
        """Terms from trees that are there already."""
        return cls(trees, n_features, np.zeros(len(trees)), np.ones(len(trees)))

    @property
    def _trees(self) -> list[Tree]:
        return [tree for tree in self.plan_terms if isinstance(tree, Tree)]

    @property
    def freedom(self) -> Floats:
        """Leaves less the one that the mean stands for."""
        return np.array([max(1, tree.n_leaves - 1) for tree in self._trees], dtype=np.float64)

    @property
    def decoder(self) -> Floats:
        """The value of each leaf of each tree, (T, number of leaf codes)."""
        table = np.zeros((self.n_terms, max((len(tree.value) for tree in self._trees), default=1)))
        for t, tree in enumerate(self._trees):
            table[t, : len(tree.value)] = tree.value
        return table

    def codes(self, X: NDArray[Any], n_threads: int | None = None) -> NDArray[np.uint8]:
        """The leaf in which each row ends up in each tree, (n, T)."""
        numbered = [replace(tree, value=np.arange(float(len(tree.value)))) for tree in self._trees]
        out = np.empty((len(X), self.n_terms), dtype=np.uint8)
        for block, rows in self._run(numbered, X, n_threads):
            out[rows] = block
        return out

    def values(self, X: NDArray[Any], n_threads: int | None = None) -> Floats:
        out = np.empty((len(X), self.n_terms))
        for block, rows in self._run(self._trees, X, n_threads):
            out[rows] = block
        return out

    def _run(
        self, trees: list[Tree], X: NDArray[Any], n_threads: int | None
    ) -> Iterator[tuple[Floats, slice]]:
        """The outputs of all trees, some rows at a time: a plan of one node with a score for every tree."""
        if not trees:
            return
        each = np.arange(len(trees))
        plan = Plan(
            costs=Costs.uniform(self.n_features, 0.0),
            terms=trees,
            nodes=[Node(each, each, np.ones(len(trees)), np.zeros(len(trees)))],
            base=np.zeros(len(trees)),
        )
        for rows in pieces_of(len(X)):
            done = plan.run(X[rows], n_threads=n_threads, account=False, encoded=True)
            yield done.scores.reshape(-1, len(trees)), rows


def trees_of_plan(plan: Plan, costs: Costs) -> BoostedTerms:
    """The trees of an additive plan as terms, with the evaluation cost of `costs`.

    Leaves are scaled together so that the largest is 1, as those of trees that are fitted to 1 and -1.

    Raises
    ------
    DataError
        If the plan is not a sum of trees, has other columns, or has a tree of more than 255 nodes.
    """
    if not is_additive(plan):
        raise DataError("terms must be a plan that is a sum of trees, without gates: that of a boosted model")
    if plan.n_features != len(costs):
        raise DataError(f"the plan given as terms has {plan.n_features} columns, and X has {len(costs)}")
    trees = []
    for one in summands_of(plan):
        if not isinstance(one.term, Tree):
            raise DataError(f"terms must be a plan of trees, but it has a term of kind {one.term.kind!r}")
        if len(one.term.feature) > MAX_TREE_NODES:
            raise DataError(
                f"a tree of the plan given as terms has {len(one.term.feature)} nodes; "
                f"{MAX_TREE_NODES} (128 leaves) is the most"
            )
        trees.append(one.term.with_evaluation(costs.evaluation))
    largest = max((float(np.abs(tree.bounds).max()) for tree in trees), default=0.0)
    return BoostedTerms.of(tuple(tree.scaled(1.0 / (largest or 1.0)) for tree in trees), len(costs))


def _boost(booster: Booster, tradeoffs: Floats, max_price: float, budget: float) -> tuple[Tree, ...]:
    """Rounds until there is a tree for each of the falling tradeoffs, or none that would split.

    Where a tradeoff is too high for any split, the following ones are tried.
    """
    rounds: list[Round] = []
    place = 0
    while booster.n_trees < len(tradeoffs):
        place = max(place, booster.n_trees)
        booster.tradeoff = float(tradeoffs[place])
        booster.ledger.budget = min(budget, booster.ledger.spent + max_price * booster.loss.n_scores)
        one = booster.grow()
        if one is not None:
            rounds.append(one)
            continue
        if booster.stopped_by != "no split" or tradeoffs[-1] == booster.tradeoff:
            break
        place = int(np.append(np.flatnonzero(tradeoffs < booster.tradeoff / STRIDE), len(tradeoffs) - 1)[0])
    return tuple(terms_of(rounds)[: len(tradeoffs)])

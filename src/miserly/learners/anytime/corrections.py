"""Boosted trees that correct the answers of an acquirer, by what each row has bought.

The mixture of an acquirer decides what rows buy. Its probabilities are not the best estimates from the values
that were bought, because densities of values are harder to estimate than differences between classes.
So boosted trees start from the scores of the mixture. They are grown on training rows that have bought what
the acquirer buys for them at several budgets; all other values are missing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from miserly.data.rows import Rows
from miserly.grow import Bins, GrowOptions
from miserly.learners.base.arguments import as_columns
from miserly.learners.common.masked_boosting import Boosting, masked_rounds
from miserly.learners.common.round import Round, add_rounds, terms_of
from miserly.losses import log_loss
from miserly.plan import Node, Plan

__all__ = ["CorrectionOptions", "budget_levels", "corrections", "mean_losses", "with_corrections"]

COPIES = 2  # of each row, at different budgets
LEVELS = 8  # budgets above 0
LEAST_SHARE = 1e-3  # of the largest budget: the smallest one above 0
STEP = 0.1
MIN_LEAF = 20
L2 = 20.0
MAX_BINS = 63
# With more rows than these allow, trees are grown on some of them.
MOST_PURCHASES = 600_000  # by all rows together
MOST_ROW_TREES = 20_000_000  # rows times trees
MOST_VALUES = 20_000_000  # rows times features
LEAST_ROWS = 2_000
MOST_TREES = 2_000  # that are tried: with very many classes, fewer rounds

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class CorrectionOptions:
    """How trees are grown.

    Attributes
    ----------
    categorical : bool array of (n_features,)
        Features that are split by category.
    max_depth : int
        Largest depth of a tree.
    seed : int
        Random seed of the rows, and of their budgets.
    n_threads : int or None
        Number of threads.
    """

    categorical: Bools
    max_depth: int
    seed: int
    n_threads: int | None


def corrections(plan: Plan, samples: Rows, n_rounds: int, options: CorrectionOptions) -> list[Round]:
    """Boosted trees on what rows have bought, starting from the scores of a plan.

    Each row is there twice, at budgets drawn from `budget_levels`. If the plan has a budget of its own, one
    of the two is that budget.

    Parameters
    ----------
    plan : Plan
        It chooses what rows buy: one node with an acquisition, or several behind the splits of a tree.
    samples : Rows
        Training rows; classes are numbered from 0.
    n_rounds : int
        Number of rounds.
    options : CorrectionOptions
        How trees are grown.

    Returns
    -------
    list of Round
        Trees split on the features of the plan. Fewer rounds if none can be grown.
    """
    return _grown(plan, _training_copies(plan, samples, n_rounds, options), n_rounds, options)


class DividedRows(Protocol):
    """Rows that are divided into training rows and a validation set."""

    @property
    def training(self) -> Rows: ...
    @property
    def rows(self) -> Rows: ...


def mean_losses(
    plans: Sequence[Plan],
    divisions: Sequence[DividedRows],
    n_rounds: Sequence[int],
    depths: Sequence[int],
    options: CorrectionOptions,
) -> dict[tuple[int, int], float]:
    """The log loss on validation sets, at budgets as in training, for some numbers of rounds and depths.

    Parameters
    ----------
    plans : sequence of Plan
        As for `corrections`, fitted to the training rows of each division.
    divisions : sequence of Division
        Training rows and validation sets; classes are numbered from 0.
    n_rounds : sequence of int
        Numbers of rounds. With very many classes, none grows more than 2,000 trees.
    depths : sequence of int
        Largest depths of a tree.
    options : CorrectionOptions
        How trees are grown.

    Returns
    -------
    dict
        From (number of rounds, depth) to the mean of the log losses; for each depth the number of rounds
        rises.
    """
    found = [
        _losses(plan, division, n_rounds, depths, options)
        for plan, division in zip(plans, divisions, strict=True)
    ]
    return {choice: float(np.mean([one[choice] for one in found])) for choice in found[0]}


def _losses(
    plan: Plan,
    division: DividedRows,
    n_rounds: Sequence[int],
    depths: Sequence[int],
    options: CorrectionOptions,
) -> dict[tuple[int, int], float]:
    most = max(1, MOST_TREES // plan.n_outputs)
    each = sorted({min(number, most) for number in n_rounds})
    learned = _training_copies(plan, division.training, each[-1], options) if each[-1] else None
    held_out = _at_budgets(plan, division.rows, np.random.default_rng(options.seed), options.n_threads)
    known, y = np.where(held_out.bought, held_out.rows.X, np.nan), held_out.rows.y.astype(np.float64)
    loss, losses = log_loss(_n_classes(plan)), {}
    for depth in depths:
        grown = [] if learned is None else _grown(plan, learned, each[-1], replace(options, max_depth=depth))
        scores, done = held_out.scores.copy(), 0
        for number in each:
            add_rounds(scores, grown[done:number], known, plan.costs, options.n_threads)
            losses[number, depth], done = loss.loss(y, scores, held_out.rows.weight), number
    return losses


def with_corrections(plan: Plan, rounds: Sequence[Round]) -> Plan:
    """The plan with nodes after its acquisitions that add trees, which read only what a row has bought.

    Parameters
    ----------
    plan : Plan
        As for `corrections`.
    rounds : sequence of Round
        The trees, as `corrections` gives them.

    Returns
    -------
    Plan
    """
    trees = [
        (channel, one.step) for one in rounds for _, channel in zip(one.trees, one.channels, strict=True)
    ]
    if not trees:
        return plan
    channels, weights = zip(*trees, strict=True)
    bias = np.zeros(plan.n_scores)
    bias[: plan.n_outputs] = np.sum([one.bias for one in rounds], axis=0)
    terms = len(plan.terms) + np.arange(len(trees))
    after = Node(terms, np.array(channels), np.array(weights), bias, bought_only=True)
    nodes = list(plan.nodes)
    for k, node in enumerate(plan.nodes):
        if node.acquisition is not None:
            nodes[k] = replace(node, up=len(nodes))
            nodes.append(after)
    return plan.replace(terms=[*plan.terms, *terms_of(rounds)], nodes=nodes)


def budget_levels(plan: Plan) -> Floats:
    """The budgets that trees are grown for: 0, and from the least price to the largest cost in equal ratios.

    Parameters
    ----------
    plan : Plan
        As for `corrections`.

    Returns
    -------
    array
        In rising order; the last is the largest cost of the plan.

    Examples
    --------
    >>> from miserly import AcquirerClassifier
    >>> from miserly.datasets import load_heart
    >>> heart = load_heart()
    >>> model = AcquirerClassifier(costs=heart.costs, budget=128, n_rounds=0).fit(heart.X, heart.y)
    >>> budget_levels(model.plan_).round(1).tolist()
    [0.0, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0]
    """
    limit = plan.max_cost
    if limit <= 0.0:
        return np.zeros(1)
    price = plan.costs.marginals(np.zeros(plan.n_features, dtype=np.bool_))[plan.features]
    least = max(price[price > 0.0].min(initial=limit), LEAST_SHARE * limit)
    return np.append(0.0, np.geomspace(least, limit, LEVELS))


class _Copies(NamedTuple):
    """Copies of rows at several budgets, what they have bought, and their scores."""

    rows: Rows
    bought: Bools
    scores: Floats


def _training_copies(plan: Plan, samples: Rows, n_rounds: int, options: CorrectionOptions) -> _Copies:
    """Copies of as many rows as trees are grown on."""
    random = np.random.default_rng(options.seed)
    return _at_budgets(plan, _some_rows(plan, samples, n_rounds, random), random, options.n_threads)


def _grown(plan: Plan, learned: _Copies, n_rounds: int, options: CorrectionOptions) -> list[Round]:
    """Boosted trees that start from the scores of the copies."""
    copies, bought, scores = learned
    bins = Bins.fit(copies.X, MAX_BINS, options.categorical, random_state=options.seed)
    growth = GrowOptions(max_depth=options.max_depth, min_samples_leaf=MIN_LEAF, l2=L2)
    boosting = Boosting(log_loss(_n_classes(plan)), growth, STEP, n_rounds, options.n_threads)
    return masked_rounds(bins.transform(copies.X, options.n_threads), bought, copies, scores, boosting)


def _at_budgets(plan: Plan, rows: Rows, random: np.random.Generator, n_threads: int | None) -> _Copies:
    """Copies of rows at several budgets.

    Copies that stop in the splits of a tree are left out, because they do not reach the trees.
    """
    levels = budget_levels(plan)
    level = random.integers(len(levels), size=(COPIES, len(rows)))
    if np.isfinite(plan.budget):
        level[0] = len(levels) - 1
    copies = rows.take(np.tile(np.arange(len(rows)), COPIES))
    bought = np.zeros(copies.X.shape, dtype=np.bool_)
    scores = np.zeros((len(copies), plan.n_outputs))
    is_there = np.zeros(len(copies), dtype=np.bool_)
    chooses = np.array([node.acquisition is not None for node in plan.nodes])
    for place, budget in enumerate(levels.tolist()):
        some = np.flatnonzero(level.ravel() == place)
        run = plan.run(copies.X[some], budget=budget, n_threads=n_threads, encoded=True)
        bought[some], scores[some] = run.acquired, as_columns(run.scores)
        is_there[some] = (run.exit >= 0) & chooses[run.exit]
    if is_there.all():
        return _Copies(copies, bought, scores)
    return _Copies(copies.take(is_there), bought[is_there], scores[is_there])


def _some_rows(plan: Plan, samples: Rows, n_rounds: int, random: np.random.Generator) -> Rows:
    """As many rows as keep the work within bounds."""
    first = np.sort(random.choice(len(samples), min(len(samples), 200), replace=False))
    purchases = plan.run(samples.X[first], encoded=True).acquired.sum(axis=1).mean()
    n_trees = max(1, n_rounds) * plan.n_outputs
    limits = MOST_PURCHASES / max(1.0, purchases), MOST_ROW_TREES / n_trees, MOST_VALUES / plan.n_features
    n_rows = max(LEAST_ROWS, int(min(limits)))
    if n_rows >= len(samples):
        return samples
    return samples.take(np.sort(random.choice(len(samples), n_rows, replace=False)))


def _n_classes(plan: Plan) -> int:
    return max(2, plan.n_outputs)

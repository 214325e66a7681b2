"""Data of a fit, and the terms of linear classifiers: what comes before weights are learned."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from miserly.costs import Costs, fits
from miserly.costs.prices import terms_price
from miserly.data.frames import NumericTable
from miserly.data.rows import Rows, hold_out
from miserly.data.target import Target
from miserly.learners.base import PlanEstimator, bind_costs
from miserly.learners.base.arguments import categorical_columns, refuse_text
from miserly.learners.common.terms import BoostedTerms, LinearTerms, TermSet
from miserly.losses import Loss
from miserly.solvers.columns import CodedColumns, DenseColumns, TermColumns
from miserly.solvers.gram import gram
from miserly.solvers.least_squares import greedy_least_squares
from miserly.solvers.term_prices import PurchaseState, canonical

__all__ = [
    "EXACT",
    "FitData",
    "affordable_terms",
    "affordable_trees",
    "boosted_terms",
    "evened",
    "fit_terms",
    "read_fit_data",
    "ready_columns",
    "term_tradeoff",
]

TERM_DEPTH = 4  # of boosted terms; a split less for several classes, as in Greedy Miser
FALL = 100.0  # of the tradeoff of boosted terms, first to last; 1,000 did about as well for Cronus
SCREENED = 4096  # largest number of candidates of greedy least squares
LARGEST_TABLE = 2**26  # entries of terms by columns
EXACT = 1 << 21  # values: tables up to this size are float64, larger ones float32


@dataclass(frozen=True, eq=False)
class FitData:
    """The training set, the validation set (if any), and what their columns hold and cost."""

    training: Rows
    validation: Rows | None
    table: NumericTable
    costs: Costs
    seed: int


def read_fit_data(
    learner: PlanEstimator,
    X: Any,
    target: Target,
    encode: Callable[[NDArray[Any]], NDArray[np.float64]] | None,
    fraction: float | None,
) -> FitData:
    """Read what `fit` was given: checked rows, weights that average 1, costs in the order of the columns.

    Parameters
    ----------
    learner : PlanEstimator
        Has parameters `costs` and `random_state`.
    X, target
        Arguments of `fit`.
    encode : callable or None
        Turns classes into codes; None leaves numbers as they are.
    fraction : float or None
        Share of the rows in the validation set; whole queries if there are any. None: no validation set.
    """
    table = learner.read_table(X, reset=True)
    costs = bind_costs(learner.costs, table.names or learner.n_features_in_)
    samples = target.checked(table.values, learner, encode is None).without_zero_weights()
    if encode is not None:
        samples = replace(samples, y=encode(samples.y))
    seed = int(check_random_state(learner.random_state).randint(2**31 - 1))
    if fraction is None:
        return FitData(evened(samples), None, table, costs, seed)
    classes = None if encode is None else samples.y
    training, validation = hold_out(samples, fraction, seed, classes)
    return FitData(evened(training), evened(validation), table, costs, seed)


def evened(samples: Rows) -> Rows:
    """Rows with rounded weights that average 1: the unit of weights does not change a bit of the model."""
    samples = samples.with_mean_weight_one()
    return samples if samples.weight is None else replace(samples, weight=canonical(samples.weight))


def fit_terms(
    learner: PlanEstimator, rows: FitData, loss: Loss, tradeoff: float, max_price: float = np.inf
) -> TermSet:
    """Linear or boosted terms, by the parameter `terms` of the learner.

    Boosted terms decrease `loss`, and none of them adds features for more than `max_price`.
    """
    if learner.terms == "linear":
        refuse_text(rows.table)
        return LinearTerms.fit(rows.training, rows.costs)
    return boosted_terms(learner, rows, loss, tradeoff=term_tradeoff(learner, tradeoff), max_price=max_price)


def term_tradeoff(learner: PlanEstimator, tradeoff: float) -> float | tuple[float, float]:
    """The tradeoff for `BoostedTerms.fit`; one that falls starts at `tradeoff`."""
    if learner.term_tradeoff == "falling":
        return tradeoff, tradeoff / FALL
    return float(learner.term_tradeoff or 0.0)


def boosted_terms(learner: PlanEstimator, rows: FitData, loss: Loss, **options: Any) -> BoostedTerms:
    """Boosted trees with the parameters of the learner; `options` are other ones of `BoostedTerms.fit`."""
    return BoostedTerms.fit(
        rows.training,
        loss,
        rows.costs,
        **{
            "n_terms": learner.n_terms,
            "max_depth": TERM_DEPTH - (loss.n_scores > 1),
            "step": learner.step,
            "categorical": categorical_columns("from_dtype", rows.table, learner.n_features_in_),
            "seed": rows.seed,
            "n_threads": learner.n_threads,
            **options,
        },
    )


def affordable_terms(terms: LinearTerms, samples: Rows, costs: Costs, budget: float) -> LinearTerms:
    """Terms that together cost no more than a budget, chosen by greedy least squares; all if all fit.

    With more than `SCREENED` terms, only those that explain most of the target per price, each by itself,
    are candidates. There are fewer candidates if a table of terms by columns would have more than
    `LARGEST_TABLE` entries.

    Examples
    --------
    The second column explains most and does not fit the budget; the first is free:

    >>> X = np.array([[0.0, 0.0, 1.0], [1.0, 1.0, 0.0], [2.0, 3.0, 0.0], [0.0, 3.0, 1.0]])
    >>> samples, costs = Rows(X, X[:, 1]), Costs([0.0, 9.0, 2.0])
    >>> chosen = affordable_terms(LinearTerms.fit(samples, costs), samples, costs, budget=5.0)
    >>> chosen.columns.tolist()
    [0, 2]
    """
    if fits(0.0, terms_price(costs.mask(terms.columns), terms.evaluation, costs.prices), budget):
        return terms
    most = min(SCREENED, max(1, LARGEST_TABLE // len(costs)))
    if terms.n_terms > most:
        terms = terms.take(_most_for_their_price(terms, samples, costs, most))
    columns = DenseColumns(terms.values(samples.X))
    left = gram(columns, samples.y[:, None], samples.weight).centred()
    market = PurchaseState.of(terms.uses, terms.evaluation, costs)
    return terms.take(np.sort(greedy_least_squares(left, market, budget).terms))


def affordable_trees(terms: BoostedTerms, costs: Costs, budget: float) -> BoostedTerms:
    """The trees that together cost no more than a budget, in their order; one that does not fit is left out.

    Examples
    --------
    >>> from miserly.plan import Tree
    >>> trees = [Tree([f, -1, -1], [0] * 3, [1, 0, 0], [2, 0, 0], [1] * 3, [0, -1, 1]) for f in (0, 1, 0)]
    >>> affordable_trees(BoostedTerms.of(tuple(trees), 2), Costs([1.0, 9.0]), budget=5.0).n_terms
    2
    """
    bought, kept = np.zeros(len(costs), dtype=np.bool_), np.zeros(terms.n_terms, dtype=np.bool_)
    for t in range(terms.n_terms):
        kept[t] = True
        both = bought | terms.uses[t]
        if fits(0.0, terms_price(both, terms.evaluation[kept], costs.prices), budget):
            bought = both
        else:
            kept[t] = False
    return terms.take(kept)


def _most_for_their_price(terms: LinearTerms, samples: Rows, costs: Costs, most: int) -> NDArray[np.int64]:
    """The `most` terms that explain most of the target per price, each by itself; free ones first."""
    weight = np.ones(len(samples)) if samples.weight is None else samples.weight
    left = weight * (samples.y - np.average(samples.y, weights=weight))
    drop = (left @ terms.values(samples.X)) ** 2
    price = costs.marginals(np.zeros(len(costs), dtype=np.bool_))[terms.columns] + terms.evaluation
    rate = np.divide(drop, price, out=np.full_like(drop, np.inf), where=price > 0.0)
    return np.sort(np.argsort(-rate, kind="stable")[:most])


def ready_columns(terms: TermSet, X: NDArray[Any], n_threads: int | None) -> TermColumns:
    """Values of the terms for training rows: trees as leaf codes, and float32 for large tables."""
    dtype = np.float64 if len(X) * terms.n_terms <= EXACT else np.float32
    if isinstance(terms, BoostedTerms):
        return CodedColumns(terms.codes(X, n_threads), terms.decoder.astype(dtype))
    assert isinstance(terms, LinearTerms)
    return DenseColumns(terms.values(X, dtype, n_threads or os.cpu_count() or 1))

"""Cronus: the trees of a boosted model weighed and ordered anew, as a cascade that most examples leave early.

M. Chen, Z. Xu, K. Q. Weinberger, O. Chapelle, D. Kedem, Classifier Cascade for Minimizing Feature
Evaluation Cost, AISTATS 2012. The objective, in `solvers.cascade`, is the squared loss at the stage where
an example leaves plus `tradeoff` times what it is expected to pay. In the paper's words: `n_stages` is K,
`rejection` epsilon, `inflation` delta, `positive_weight` omega+, `l1_regularization` rho, `tradeoff`
lambda.

What the paper leaves open is settled as follows. An example is answered by the score of the stage it leaves
at (as the loss assumes), not by -1. Weights are fitted again, without prices, on the trees that were chosen
and those evaluated at earlier stages: without that a single stage does not beat a boosted model that is
simply cut short. Trees are boosted cheap ones first (`term_tradeoff`): nearly every tree of a plain boosted
model needs dear features, and leaves early stages nothing to work with. The steepness of the soft gates is
50 per standard deviation of a stage's scores; an absolute 50 let everything pass. Set-ups of groups are one
norm more over all trees that touch the group.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from itertools import product
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import _fit_context
from sklearn.utils._param_validation import Interval, StrOptions
from threadpoolctl import threadpool_limits

from miserly.costs import Costs
from miserly.learners.cascades.cronus_fit import CascadeSettings, CronusSearch
from miserly.learners.common.cascade import CascadeClassifier, exact_weights
from miserly.learners.common.linear_fit import read_rows
from miserly.learners.common.progress import Steps, outcome
from miserly.learners.common.samples import Given
from miserly.metrics import Metric

__all__ = ["CronusClassifier"]

_ONE_OR_MORE = Interval(Integral, 1, None, closed="left")


class CronusClassifier(CascadeClassifier):
    """A cascade over boosted trees, for two classes of which the second is rare.

    Parameters
    ----------
    costs : Costs, array, mapping of name to cost, or None
        What features cost; 1 each by default.
    tradeoff : float, default=1e-4
        What one unit of cost must bring in mean loss (half the squared error, targets being 1 and -1).
    budget : float, optional
        A cap: no example ever pays more. Trees are boosted that together cost no more (with linear terms,
        features are chosen by greedy least squares within it). Several tradeoffs from `tradeoff` up are
        tried, and the best by `metric` on rows set aside is taken.
    mean_budget : float, optional
        What an example may cost on average: from `tradeoff` up, the smallest is sought that keeps to it on
        rows set aside, and of all cascades met on the way that do, the best by `metric` is taken. May be
        given together with `budget`.
    n_stages : int, default=10
        The most stages a cascade may have; with 1 the trees are weighed anew, and nobody leaves early.
    rejection : float, default=0.15
        The share of the examples still there that leaves at each stage, before `optimise`.
    inflation : float, default=1.3
        How much dearer everything is held at each earlier stage, before `optimise`.
    positive_weight : float, default=3.5
        How much the loss of the second class counts.
    l1_regularization : float, default=0
    optimise : bool, default=True
        Whether all stages are optimised together, after they were initialised one by one.
    refit : bool, default=True
        Whether weights are fitted again without prices in the end.
    terms : {"boosted", "linear"}, default="boosted"
        What is weighed: boosted trees, or the features themselves.
    n_terms : int, default=100
        How many trees; `step`, `max_depth` and `min_samples_leaf` are theirs too.
    term_tradeoff : "falling", float or None, default="falling"
        The tradeoff of the trees themselves, which are Greedy Miser's: it falls from `tradeoff` for the first
        to a hundredth of it for the last, so that cheap trees come first and dear ones build on them; or it
        is one for all. With None or 0 they are plain boosted trees, as in the paper.
    validation_fraction : float, default=0.2
        How much is set aside for a `budget` or `mean_budget`, or to choose among several values of
        `inflation`, `positive_weight` or `l1_regularization`. Each may be a list: then every combination is
        initialised, which is quick, and the best by `metric` is taken.
    metric : str or Metric, optional
        Precision@5 where there are queries, else accuracy.
    random_state : int, RandomState or None
    n_jobs : int, optional
        Threads; all by default. The model does not depend on it.
    verbose : int, default=0
        1 shows what the fit is at.

    Attributes
    ----------
    plan_ : Plan
        A chain of at most `n_stages` nodes; whoever scores low leaves. Stages that nobody left at are not
        in it.
    tradeoff_ : float
        The tradeoff used.
    expected_cost_ : float
        What rows set aside pay on average, if there are any.
    settings_ : dict
        The values of `inflation`, `positive_weight` and `l1_regularization` used.
    objective_ : array
        The joint objective before and after each cycle of `optimise`.

    Examples
    --------
    >>> import numpy as np
    >>> from miserly.learners import CronusClassifier
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(2000, 2))
    >>> y = (X[:, 0] > 1) & (X[:, 1] > 0)
    >>> model = CronusClassifier(costs=[1, 20], n_terms=30, random_state=0).fit(X, y)
    >>> bool(model.run(X).cost.mean() < 15), model.score(X, y) > 0.97
    (True, True)
    """

    tradeoff_: float
    expected_cost_: float
    settings_: dict[str, float]
    objective_: NDArray[np.float64]

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "costs": [None, Costs, Mapping, "array-like"],
        "tradeoff": [Interval(Real, 0, None, closed="left")],
        "budget": [Interval(Real, 0, None, closed="both"), None],
        "mean_budget": [Interval(Real, 0, None, closed="both"), None],
        "n_stages": [_ONE_OR_MORE],
        "rejection": [Interval(Real, 0, 1, closed="neither")],
        "inflation": [Interval(Real, 1, None, closed="left"), "array-like"],
        "positive_weight": [Interval(Real, 0, None, closed="neither"), "array-like"],
        "l1_regularization": [Interval(Real, 0, None, closed="left"), "array-like"],
        "optimise": ["boolean"],
        "refit": ["boolean"],
        "terms": [StrOptions({"linear", "boosted"})],
        "n_terms": [_ONE_OR_MORE],
        "term_tradeoff": [Interval(Real, 0, None, closed="left"), StrOptions({"falling"}), None],
        "step": [Interval(Real, 0, None, closed="neither")],
        "max_depth": [Interval(Integral, 1, 7, closed="both")],
        "min_samples_leaf": [_ONE_OR_MORE],
        "validation_fraction": [Interval(Real, 0, 1, closed="neither")],
        "metric": [str, Metric, None],
        "random_state": ["random_state"],
        "n_jobs": [_ONE_OR_MORE, Interval(Integral, None, -1, closed="right"), None],
        "verbose": ["verbose"],
    }

    def __init__(
        self,
        *,
        costs: Any = None,
        tradeoff: float = 1e-4,
        budget: float | None = None,
        mean_budget: float | None = None,
        n_stages: int = 10,
        rejection: float = 0.15,
        inflation: float = 1.3,
        positive_weight: float = 3.5,
        l1_regularization: float = 0.0,
        optimise: bool = True,
        refit: bool = True,
        terms: str = "boosted",
        n_terms: int = 100,
        term_tradeoff: float | str | None = "falling",
        step: float = 0.1,
        max_depth: int = 4,
        min_samples_leaf: int = 20,
        validation_fraction: float = 0.2,
        metric: Any = None,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.costs = costs
        self.tradeoff = tradeoff
        self.budget = budget
        self.mean_budget = mean_budget
        self.n_stages = n_stages
        self.rejection = rejection
        self.inflation = inflation
        self.positive_weight = positive_weight
        self.l1_regularization = l1_regularization
        self.optimise = optimise
        self.refit = refit
        self.terms = terms
        self.n_terms = n_terms
        self.term_tradeoff = term_tradeoff
        self.step = step
        self.max_depth = max_depth
        self.min_samples_leaf = min_samples_leaf
        self.validation_fraction = validation_fraction
        self.metric = metric
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(
        self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None, qid: ArrayLike | None = None
    ) -> CronusClassifier:
        """Fit to two classes; rows that share a `qid` are set aside together, and judged as one query."""
        settings = self._settings()
        validates = self.budget is not None or self.mean_budget is not None or len(settings) > 1
        fraction = self.validation_fraction if validates else None
        with Steps(self, bool(self.verbose)) as report:
            rows = read_rows(self, X, Given(y, sample_weight, qid), self._encode, fraction)
            search = CronusSearch(self, replace(rows, learning=exact_weights(rows.learning)), report)
            with threadpool_limits(search.blas_threads, "blas"):
                best = search.best_settings(settings) if len(settings) > 1 else settings[0]
                found = search.best(best)
            self.settings_, self.tradeoff_, self.plan_ = best.named(), found.tradeoff, found.model.plan
            self.objective_ = np.array(found.model.objective)
            if rows.judging is not None:
                self.expected_cost_ = found.cost
            report(outcome(self))
        return self

    def _settings(self) -> list[CascadeSettings]:
        """All combinations of the values given."""
        given = (self.inflation, self.positive_weight, self.l1_regularization)
        return [
            CascadeSettings(*map(float, one)) for one in product(*(np.atleast_1d(values) for values in given))
        ]

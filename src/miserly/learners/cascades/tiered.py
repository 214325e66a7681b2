"""The base class of cascades whose features are assigned to stages by price."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, replace
from numbers import Real
from typing import Any, ClassVar, TypeAlias

import numpy as np
from numpy.typing import NDArray
from sklearn.utils._param_validation import Interval
from threadpoolctl import threadpool_limits

from miserly.costs import Costs, read_budget
from miserly.data.target import Target
from miserly.errors import CostError
from miserly.learners.base import as_columns
from miserly.learners.base.arguments import ONE_OR_MORE, POSITIVE, constraints, refuse_text
from miserly.learners.common.budget_search import BudgetSearch, first_guess, mean_cost
from miserly.learners.common.classifier_tree import CascadeClassifier, cascade_plan, exact_weights, merged
from miserly.learners.common.linear_fit import EXACT, FitData, affordable_terms, read_fit_data
from miserly.learners.common.progress import Steps, outcome
from miserly.learners.common.terms import LinearTerms
from miserly.losses import Logistic
from miserly.plan import Plan
from miserly.solvers.node_block import exit_threshold
from miserly.solvers.term_prices import canonical
from miserly.solvers.tiered import Stages, TieredProblem, fit_answers, fit_stages

__all__ = ["TieredCascade", "stages_by_price"]

Floats: TypeAlias = NDArray[np.float64]

MAX_FITS = 14  # of cascades, to find the tradeoff for a budget


def stages_by_price(
    costs: Costs, tiers: Any, worth: Floats | None = None, among: NDArray[np.bool_] | None = None
) -> NDArray[np.bool_]:
    """The features that each stage may use, (K, d): those of its tier and all cheaper ones.

    A feature's price is what it costs by itself, set-up included. `tiers` are upper bounds, or a number of
    tiers with about as many features each, those of more `worth` first where prices are the same. Tiers
    without features of their own are no stage. With `among`, only these features are used.

    >>> stages_by_price(Costs([1.0, 5.0, 30.0, 2.0]), (5, 20, 50)).astype(int).tolist()
    [[1, 1, 0, 1], [1, 1, 1, 1]]
    >>> stages_by_price(Costs([1.0, 5.0, 30.0, 2.0]), 2).sum(axis=1).tolist()
    [2, 4]
    >>> stages_by_price(Costs([1.0, 1.0, 1.0]), 2, np.array([0.1, 0.2, 0.9])).astype(int).tolist()
    [[0, 1, 1], [1, 1, 1]]
    """
    price = costs.marginals(np.zeros(len(costs), dtype=np.bool_))
    among = np.ones(len(price), dtype=np.bool_) if among is None else among
    if np.ndim(tiers) == 0:
        price = np.where(among, price, np.inf)  # after all that are used
        place = np.argsort(np.lexsort((np.zeros(len(price)) if worth is None else -worth, price)))
        bounds = np.ceil(np.arange(1, tiers + 1) * among.sum() / tiers)
        allowed = np.unique(place < bounds[:, None], axis=0)
    else:
        bounds = np.sort(np.asarray(tiers, dtype=np.float64))
        allowed = np.unique((price <= bounds[:, None]) & among, axis=0)
    allowed = allowed[np.argsort(allowed.sum(axis=1))]
    allowed = allowed[allowed.any(axis=1)]
    if not len(allowed) and among.all():
        raise CostError(f"no feature costs {bounds.max():g} or less; the tiers must reach the cheapest one")
    return allowed


class TieredCascade(CascadeClassifier):
    """A cascade of linear classifiers, each with the features up to some price; subclasses define the
    loss."""

    tradeoff_: float
    expected_cost_: float

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = constraints(
        *("costs", "tradeoff", "budget", "mean_budget", "l2_regularization", "validation_fraction"),
        *("class_weight", "random_state", "verbose"),
        tiers=[ONE_OR_MORE, "array-like"],
        positive_weight=[POSITIVE],
        miss=[Interval(Real, 0, 1, closed="left")],
    )

    def __init__(
        self,
        *,
        costs: Any = None,
        tradeoff: float = 1e-4,
        budget: float | None = None,
        mean_budget: float | None = None,
        tiers: Any = 4,
        positive_weight: float = 1.0,
        miss: float = 0.02,
        l2_regularization: float = 1e-3,
        validation_fraction: float = 0.2,
        class_weight: Any = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.costs = costs
        self.tradeoff = tradeoff
        self.budget = budget
        self.mean_budget = mean_budget
        self.tiers = tiers
        self.positive_weight = positive_weight
        self.miss = miss
        self.l2_regularization = l2_regularization
        self.validation_fraction = validation_fraction
        self.class_weight = class_weight
        self.random_state = random_state
        self.verbose = verbose

    @staticmethod
    @abstractmethod
    def _row_loss(scores: Floats, positive: NDArray[np.bool_]) -> tuple[Floats, Floats]:
        """The losses (n,) of scores (K, n), and their slopes (K, n)."""

    def _fit(self, X: Any, given: Target) -> None:
        held = self.budget is not None or self.mean_budget is not None
        fraction = self.validation_fraction if held else None
        with Steps(self, bool(self.verbose)) as report:
            rows = read_fit_data(self, X, given, self._encode, fraction)
            refuse_text(rows.table)
            rows = replace(rows, training=merged(exact_weights(rows.training)))
            fit = TieredFit.of(self, rows, report)
            limit = 1 if rows.training.X.size <= EXACT else None
            with threadpool_limits(limit, "blas"):
                found = fit.search().best()
            self.tradeoff_, self.plan_ = found.tradeoff, found.model
            if rows.validation is not None:
                self.expected_cost_ = found.cost
            report(outcome(self))


@dataclass(frozen=True, eq=False)
class TieredFit:
    """Fits cascades for different tradeoffs to the same rows."""

    learner: TieredCascade
    rows: FitData
    terms: LinearTerms  # in the order in which stages may use them
    problem: TieredProblem  # prices in the unit of the costs
    report: Steps
    capped: bool  # whether a cap leaves features out

    @classmethod
    def of(cls, learner: TieredCascade, rows: FitData, report: Steps) -> TieredFit:
        samples, costs = rows.training, rows.costs
        dtype = np.float64 if samples.X.size <= EXACT else np.float32
        every = LinearTerms.fit(samples, costs)
        columns = every.values(samples.X, dtype).T
        mass = np.ones(len(samples)) if samples.weight is None else samples.weight
        share = mass * np.where(samples.y > 0, learner.positive_weight, 1.0)
        worth = np.abs(
            columns @ (mass * samples.y).astype(dtype)
        )  # columns have mean 0: as their correlation
        among = None
        if learner.budget is not None:
            chosen = affordable_terms(every, samples, costs, read_budget(learner.budget))
            among = costs.mask(chosen.columns)
        allowed = stages_by_price(costs, learner.tiers, canonical(worth, 9), among)
        order = np.argsort(-allowed.sum(axis=0), kind="stable")[: allowed.any(axis=0).sum()]
        problem = TieredProblem(
            columns=np.ascontiguousarray(columns[order]),
            positive=samples.y > 0,
            share=share / share.sum(),
            mass=mass / mass.sum(),
            widths=allowed.sum(axis=1),
            price=np.diff(np.array([costs.of(stage) for stage in allowed]), prepend=0.0),
            loss=type(learner)._row_loss,
            l2=learner.l2_regularization,
        )
        return cls(learner, rows, every.take(order), problem, report, among is not None and not among.all())

    def search(self) -> BudgetSearch[Plan]:
        """The search over tradeoffs; under a cap, cascades are compared by their log loss."""
        learner = self.learner
        return BudgetSearch(
            self.cascade,
            lambda plan: mean_cost(plan, self.rows.validation, learner.n_threads),
            lambda plan: -self.loss(plan),
            tradeoff=learner.tradeoff,
            first=first_guess(self.rows.training.y, self.rows.costs),
            mean_budget=learner.mean_budget,
            capped=self.capped,
            max_fits=MAX_FITS,
        )

    def loss(self, plan: Plan) -> float:
        """The log loss on the validation set."""
        rows = self.rows.validation
        assert rows is not None
        scores = plan.run(rows.X, n_threads=self.learner.n_threads, encoded=True).scores
        return Logistic().loss(rows.y, as_columns(scores), rows.weight)

    def cascade(self, tradeoff: float) -> Plan:
        """The cascade of a tradeoff."""
        self.report(f"tradeoff {tradeoff:.3g}: fitting stages")
        problem = replace(self.problem, price=canonical(tradeoff * self.problem.price))
        stages, base = fit_stages(problem), self.constant()
        if not len(stages.intercept):
            nothing = np.zeros((1, self.terms.n_terms)), np.array([base]), np.array([-np.inf])
            return cascade_plan(self.learner, self.rows, self.terms, *nothing, base)
        self.report(f"tradeoff {tradeoff:.3g}: fitting answers")
        threshold, reached = self.gates(stages)
        answers = fit_answers(problem, reached)
        return cascade_plan(
            self.learner,
            self.rows,
            self.terms,
            answers.table(self.terms.n_terms),
            answers.intercept,
            threshold,
            base,
            steer=(stages.table(self.terms.n_terms), stages.intercept),
        )

    def constant(self) -> float:
        """The log-odds of the second class."""
        positive = float(self.problem.share[self.problem.positive].sum())
        return float(np.log(positive / (1.0 - positive)))

    def gates(self, stages: Stages) -> tuple[Floats, NDArray[np.bool_]]:
        """Thresholds (K,), and which rows come to each stage (K, n).

        They are at most 0, and so low that a stage loses no more than a share `miss` of the positives there.
        """
        problem, n_stages = self.problem, len(stages.intercept)
        scores = problem.scores(stages.weights, stages.intercept)
        found = np.full(n_stages, -np.inf)
        reached = np.ones(scores.shape, dtype=np.bool_)
        for k in range(n_stages - 1):
            here = reached[k] & problem.positive
            if here.any():
                found[k] = min(0.0, exit_threshold(scores[k, here], problem.mass[here], self.learner.miss))
            reached[k + 1] = reached[k] & (scores[k] > found[k])
        return found, reached

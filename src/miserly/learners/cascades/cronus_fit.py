"""From rows to a Cronus cascade: terms, stages one by one, all stages together, a refit, the plan."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from miserly.costs import read_budget
from miserly.data.rows import Rows
from miserly.learners.base import as_columns
from miserly.learners.base.arguments import refuse_text
from miserly.learners.common.budget_search import (
    BudgetSearch,
    PerTradeoff,
    TradeoffModel,
    first_guess,
    mean_cost,
)
from miserly.learners.common.classifier_tree import cascade_plan, merged, ranking_scores
from miserly.learners.common.linear_fit import (
    EXACT,
    FitData,
    affordable_terms,
    affordable_trees,
    boosted_terms,
    ready_columns,
    term_tradeoff,
)
from miserly.learners.common.progress import Steps
from miserly.learners.common.terms import LinearTerms, TermSet, trees_of_plan
from miserly.learners.common.training import measure
from miserly.losses import Squared
from miserly.metrics import get_metric
from miserly.plan import Plan
from miserly.solvers.cascade import Cascade, CascadeProblem, initialise, refit_stages
from miserly.solvers.cascade_descent import optimise
from miserly.solvers.columns import shares
from miserly.solvers.gram import Centred
from miserly.solvers.term_prices import Blocks

__all__ = ["CascadeSettings", "CronusFit", "CronusSearch", "FittedCascade", "fit_cascade_terms"]

# Of refits. Trees were fitted to the same rows before; least squares would fit them a second time: of 1e-4,
# 0.01, 0.1, 1 and 10, 1 gave the best precision in benchmarks/cronus.py at nearly every cost.
RIDGE = {"boosted": 1.0, "linear": 1e-4}
MAX_FITS = 14  # of cascades, to find the tradeoff for a budget


@dataclass(frozen=True)
class CascadeSettings:
    """Hyperparameters that are compared by initialised cascades."""

    inflation: float
    positive_weight: float
    l1: float

    def named(self) -> dict[str, float]:
        return {
            "inflation": self.inflation,
            "positive_weight": self.positive_weight,
            "l1_regularization": self.l1,
        }


@dataclass(frozen=True, eq=False)
class FittedCascade:
    """A plan, and the joint objective from cycle to cycle."""

    plan: Plan
    objective: list[float]


class CronusFit:
    """Fits cascades for different tradeoffs and settings to the same rows and terms."""

    def __init__(self, learner: Any, rows: FitData, terms: TermSet, report: Steps) -> None:
        self.learner, self.rows, self.terms, self.report = learner, rows, terms, report
        samples = rows.training
        self.columns = ready_columns(terms, samples.X, learner.n_threads)
        self.target = 2.0 * samples.y - 1.0
        self.mass = shares(samples.weight, len(samples))
        self.blocks = Blocks.of(terms.uses, terms.evaluation, rows.costs)
        self.grams: dict[float, Centred] = {}  # of all rows, by the weight of positives

    def problem(self, settings: CascadeSettings, tradeoff: float) -> CascadeProblem:
        share = self.mass * np.where(self.target > 0, settings.positive_weight, 1.0)
        return CascadeProblem(
            columns=self.columns,
            target=self.target,
            share=share / share.sum(),
            mass=self.mass,
            blocks=self.blocks.scaled(tradeoff),
            l1=settings.l1,
            ridge=RIDGE["linear" if self.learner.terms == "linear" else "boosted"],
            n_threads=self.learner.n_threads or os.cpu_count() or 1,
        )

    def cascade(
        self, settings: CascadeSettings, tradeoff: float, optimised: bool | None = None
    ) -> FittedCascade:
        """The cascade of a tradeoff; `optimised` overrides the learner's `optimise`."""
        learner = self.learner
        problem = self.problem(settings, tradeoff)
        self.report(f"tradeoff {tradeoff:.3g}: initialising")
        gram = self.grams.get(settings.positive_weight)
        if gram is None:
            gram = self.grams[settings.positive_weight] = problem.gram_of(None)
        cascade = initialise(
            problem,
            learner.n_stages,
            leaving=learner.rejection,
            inflation=settings.inflation,
            first_gram=gram,
        )
        objective: list[float] = []
        if learner.optimise if optimised is None else optimised:
            step = f"tradeoff {tradeoff:.3g}: optimising {len(cascade)} stages"
            self.report(step)
            cascade, objective = optimise(
                problem, cascade, report=lambda value: self.report(f"{step}, objective {value:.6g}")
            )
        if learner.refit:
            cascade = refit_stages(problem, cascade, first_gram=gram)
        return FittedCascade(self.plan(cascade, problem), objective)

    def plan(self, cascade: Cascade, problem: CascadeProblem) -> Plan:
        parts = (cascade.weights, cascade.intercept, cascade.threshold)
        return cascade_plan(
            self.learner, self.rows, self.terms, *parts, base=float(problem.share @ self.target)
        )


def fit_cascade_terms(
    learner: Any, rows: FitData, report: Steps, tradeoff: float, budget: float = np.inf
) -> TermSet:
    """Columns, or trees that are boosted for a tradeoff; together they cost no more than a budget."""
    report("making terms")
    if isinstance(learner.terms, Plan):
        return affordable_trees(trees_of_plan(learner.terms, rows.costs), rows.costs, budget)
    if learner.terms == "linear":
        refuse_text(rows.table)
        samples = merged(rows.training)
        return affordable_terms(LinearTerms.fit(samples, rows.costs), samples, rows.costs, budget)
    samples = rows.training
    return boosted_terms(
        learner,
        replace(rows, training=Rows(samples.X, 2.0 * samples.y - 1.0, weight=samples.weight)),
        Squared(),
        max_depth=learner.max_depth,
        tradeoff=term_tradeoff(learner, tradeoff),
        budget=budget,
        min_samples_leaf=learner.min_samples_leaf,
    )


class CronusSearch:
    """Finds the settings and the tradeoff that the parameters and budgets of a `CronusClassifier` ask for."""

    def __init__(self, learner: Any, rows: FitData, report: Steps) -> None:
        self.learner, self.rows, self.report = learner, rows, report
        self.merged = replace(rows, training=merged(rows.training))
        depends = (
            isinstance(learner.terms, str)
            and learner.terms == "boosted"
            and learner.term_tradeoff == "falling"
        )
        self.fits = PerTradeoff(lambda tradeoff: self._fit_with(tradeoff, self._cap), depends)

    @property
    def blas_threads(self) -> int | None:
        """One for small problems, where several would wait for each other."""
        terms = self.learner.terms
        width = len(self.rows.costs) if terms == "linear" else self.learner.n_terms
        width = len(terms.terms) if isinstance(terms, Plan) else width
        return 1 if len(self.merged.training) * width <= EXACT else None

    def best(self, settings: CascadeSettings) -> TradeoffModel[FittedCascade]:
        """The best cascade on the validation set of those that keep the budgets.

        All cascades met on the way to the smallest tradeoff that keeps `mean_budget` are compared. A larger
        tradeoff may give better answers.
        """
        return BudgetSearch(
            lambda tradeoff: self.fits.at(tradeoff).cascade(settings, tradeoff),
            self.expected_cost,
            self.merit,
            tradeoff=self.learner.tradeoff,
            first=first_guess(2.0 * self.merged.training.y - 1.0, self.rows.costs),
            mean_budget=self.learner.mean_budget,
            capped=self.learner.budget is not None,
            compare_all=True,
            repair=lambda made: self._with_affordable_trees(settings, made),
            max_fits=MAX_FITS,
        ).best()

    def best_settings(self, settings: list[CascadeSettings]) -> CascadeSettings:
        """The settings whose initialised cascade does best on the validation set; the cheapest of equals."""
        tradeoff = self.learner.tradeoff
        made = {one: self.fits.at(tradeoff).cascade(one, tradeoff, optimised=False) for one in settings}
        return max(settings, key=lambda one: (self.merit(made[one]), -self.expected_cost(made[one])))

    def merit(self, made: FittedCascade) -> float:
        """The metric on the validation set, the greater the better."""
        samples = self.rows.validation
        assert samples is not None
        metric = get_metric(self.learner.metric or ("accuracy" if samples.qid is None else "precision@5"))
        run = made.plan.run(samples.X, n_threads=self.learner.n_threads, encoded=True)
        scores = as_columns(ranking_scores(run, samples.qid if metric.needs == "score" else None))
        value = measure(metric, made.plan.link, scores, samples.y, samples.qid, samples.weight)
        return value if metric.greater_is_better else -value

    def expected_cost(self, made: FittedCascade) -> float:
        """What rows of the validation set pay on average."""
        return mean_cost(made.plan, self.rows.validation, self.learner.n_threads)

    @property
    def _cap(self) -> float:
        return read_budget(self.learner.budget)

    def _fit_with(self, tradeoff: float, budget: float) -> CronusFit:
        """The fit with terms that together cost no more than a budget."""
        terms = fit_cascade_terms(self.learner, self.rows, self.report, tradeoff, budget)
        return CronusFit(self.learner, self.merged, terms, self.report)

    def _with_affordable_trees(self, settings: CascadeSettings, made: FittedCascade) -> FittedCascade | None:
        """A cascade of trees that fit `mean_budget`, where the one found buys no feature.

        All trees together cost too much there, and every larger tradeoff bought none of them.
        """
        if self.learner.terms == "linear" or isinstance(self.learner.terms, Plan) or len(made.plan.features):
            return None
        budget, tradeoff = min(read_budget(self.learner.mean_budget), self._cap), self.learner.tradeoff
        return self._fit_with(tradeoff, budget).cascade(settings, tradeoff)

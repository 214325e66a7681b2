"""From rows to a cascade: terms, stages one by one, all of them together, weights anew, the plan."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from miserly.costs import fits, read_budget
from miserly.learners.base import as_columns
from miserly.learners.common.budget_search import first_guess, larger_tradeoffs, tradeoff_for_budget
from miserly.learners.common.cascade import cascade_plan, mean_cost, merged, ranking_scores
from miserly.learners.common.labels import refuse_text
from miserly.learners.common.linear_fit import (
    EXACT,
    LinearRows,
    affordable_terms,
    boosted_terms,
    ready_columns,
    term_tradeoff,
)
from miserly.learners.common.progress import Steps
from miserly.learners.common.samples import Samples
from miserly.learners.common.terms import LinearTerms, Terms
from miserly.learners.common.training import measure
from miserly.losses import Squared
from miserly.metrics import get_metric
from miserly.plan import Plan
from miserly.solvers.cascade import Cascade, CascadeProblem, initialise, refit_stages
from miserly.solvers.cascade_descent import optimise
from miserly.solvers.gram import Centred
from miserly.solvers.mixed_norm import Blocks

__all__ = ["Made", "Settings", "Workshop", "Workshops", "fit_terms"]

# Of refits. Trees were fitted to the same rows before; least squares would fit them a second time: of 1e-4,
# 0.01, 0.1, 1 and 10, 1 gave the best precision in benchmarks/cronus.py at nearly every cost.
RIDGE = {"boosted": 1.0, "linear": 1e-4}
MAX_FITS = 14  # of cascades, to find the tradeoff for a budget


@dataclass(frozen=True)
class Settings:
    """What may be searched for with the initialisation alone."""

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
class Made:
    """A cascade, and the joint objective from cycle to cycle."""

    tradeoff: float
    plan: Plan
    objective: list[float]


class Workshop:
    """Makes cascades for different tradeoffs and settings from the same rows and terms."""

    def __init__(self, learner: Any, rows: LinearRows, terms: Terms, tell: Steps) -> None:
        self.learner, self.rows, self.terms, self.tell = learner, rows, terms, tell
        samples = rows.learning
        self.columns = ready_columns(terms, samples.X, learner._threads)
        self.target = 2.0 * samples.y - 1.0
        weight = np.ones(len(samples)) if samples.weight is None else samples.weight
        self.mass = weight / weight.sum()
        self.blocks = Blocks.of(terms.uses, terms.evaluation, rows.costs)
        self.grams: dict[float, Centred] = {}  # of all rows, by the weight of positives

    def problem(self, settings: Settings, tradeoff: float) -> CascadeProblem:
        share = self.mass * np.where(self.target > 0, settings.positive_weight, 1.0)
        return CascadeProblem(
            columns=self.columns,
            target=self.target,
            share=share / share.sum(),
            mass=self.mass,
            blocks=self.blocks.scaled(tradeoff),
            l1=settings.l1,
            ridge=RIDGE[self.learner.terms],
            n_threads=self.learner._threads or os.cpu_count() or 1,
        )

    def make(self, settings: Settings, tradeoff: float, optimised: bool | None = None) -> Made:
        """The plan for some settings, and the joint objective from cycle to cycle."""
        learner = self.learner
        problem = self.problem(settings, tradeoff)
        self.tell(f"tradeoff {tradeoff:.3g}: initialising")
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
            said = f"tradeoff {tradeoff:.3g}: optimising {len(cascade)} stages"
            self.tell(said)
            cascade, objective = optimise(
                problem, cascade, tell=lambda value: self.tell(f"{said}, objective {value:.6g}")
            )
        if learner.refit:
            cascade = refit_stages(problem, cascade, first_gram=gram)
        return Made(tradeoff, self.plan(cascade, problem), objective)

    def plan(self, cascade: Cascade, problem: CascadeProblem) -> Plan:
        parts = (cascade.weights, cascade.intercept, cascade.threshold)
        return cascade_plan(
            self.learner, self.rows, self.terms, *parts, base=float(problem.share @ self.target)
        )


def fit_terms(learner: Any, rows: LinearRows, tell: Steps, tradeoff: float, budget: float = np.inf) -> Terms:
    """Columns, or trees that are boosted for a tradeoff; together they cost no more than a budget."""
    tell("making terms")
    if learner.terms == "linear":
        refuse_text(rows.table)
        samples = merged(rows.learning)
        return affordable_terms(LinearTerms.fit(samples, rows.costs), samples, rows.costs, budget)
    samples = rows.learning
    return boosted_terms(
        learner,
        replace(rows, learning=Samples(samples.X, 2.0 * samples.y - 1.0, samples.weight)),
        Squared(),
        max_depth=learner.max_depth,
        tradeoff=term_tradeoff(learner, tradeoff),
        budget=budget,
        min_samples_leaf=learner.min_samples_leaf,
    )


class Workshops:
    """One workshop for all tradeoffs; one for each where the trees themselves go by the tradeoff."""

    def __init__(self, learner: Any, rows: LinearRows, tell: Steps) -> None:
        self.learner, self.rows, self.tell = learner, rows, tell
        self.merged = replace(rows, learning=merged(rows.learning))
        self._falls = learner.terms == "boosted" and learner.term_tradeoff == "falling"
        self._last: tuple[float, Workshop] | None = None

    @property
    def blas_threads(self) -> int | None:
        """One for small problems, where several would wait for each other."""
        width = self.learner.n_terms if self.learner.terms == "boosted" else len(self.rows.costs)
        return 1 if len(self.merged.learning) * width <= EXACT else None

    def at(self, tradeoff: float) -> Workshop:
        if self._last is None or (self._falls and self._last[0] != tradeoff):
            terms = fit_terms(self.learner, self.rows, self.tell, tradeoff, self._cap)
            self._last = tradeoff, Workshop(self.learner, self.merged, terms, self.tell)
        return self._last[1]

    @property
    def _cap(self) -> float:
        return read_budget(self.learner.budget)

    def make(self, settings: Settings, tradeoff: float) -> Made:
        return self.at(tradeoff).make(settings, tradeoff)

    def chosen(self, settings: Settings) -> Made:
        """The cascade that the learner's budgets ask for, the best one on the rows set aside."""
        given, mean_budget = self.learner.tradeoff, read_budget(self.learner.mean_budget)
        made = [] if self.learner.mean_budget is None else [self.within(settings, mean_budget)]
        if self.learner.budget is None and made:
            return made[0]
        tradeoffs = [given] if self.learner.budget is None else larger_tradeoffs(given, self._first())
        for tradeoff in tradeoffs:
            one = self.make(settings, tradeoff)
            if self.learner.mean_budget is None or fits(0.0, self.expected_cost(one), mean_budget):
                made.append(one)
        return made[0] if len(made) == 1 else max(made, key=lambda one: (self.merit(one), -one.tradeoff))

    def _first(self) -> float:
        return first_guess(2.0 * self.merged.learning.y - 1.0, self.rows.costs)

    def within(self, settings: Settings, budget: float) -> Made:
        """The best on the rows set aside of the cascades that keep to the budget there.

        They are those met on the way to the smallest tradeoff that does. More may be spent at that one than
        is good for the answers.
        """
        tried: list[Made] = []

        def make(tradeoff: float) -> Made:
            tried.append(self.make(settings, tradeoff))
            return tried[-1]

        made = tradeoff_for_budget(
            make,
            self.expected_cost,
            budget,
            lowest=self.learner.tradeoff,
            first=self._first(),
            max_fits=MAX_FITS,
        ).model
        if self.learner.terms == "linear" or len(made.plan.features):
            inside = [one for one in tried if fits(0.0, self.expected_cost(one), budget)]
            return max(inside, key=lambda one: (self.merit(one), -one.tradeoff), default=made)
        # The price of all trees was too much, and any higher one bought none: trees that fit.
        terms = fit_terms(self.learner, self.rows, self.tell, self.learner.tradeoff, min(budget, self._cap))
        return Workshop(self.learner, self.merged, terms, self.tell).make(settings, self.learner.tradeoff)

    def best(self, settings: list[Settings]) -> Settings:
        """The settings whose initialisation does best on the rows set aside, or the cheapest of these."""
        tradeoff = self.learner.tradeoff
        made = {one: self.at(tradeoff).make(one, tradeoff, optimised=False) for one in settings}
        return max(settings, key=lambda one: (self.merit(made[one]), -self.expected_cost(made[one])))

    def merit(self, made: Made) -> float:
        """The metric on the rows set aside, the greater the better."""
        samples = self.rows.judging
        assert samples is not None
        metric = get_metric(self.learner.metric or ("accuracy" if samples.qid is None else "precision@5"))
        run = made.plan.run(samples.X, n_threads=self.learner._threads, encoded=True)
        scores = as_columns(ranking_scores(run, samples.qid if metric.needs == "score" else None))
        value = measure(metric, made.plan.link, scores, samples.y, samples.qid, samples.weight)
        return value if metric.greater_is_better else -value

    def expected_cost(self, made: Made) -> float:
        """What the rows set aside pay on average."""
        return mean_cost(made.plan, self.rows.judging, self.learner._threads)

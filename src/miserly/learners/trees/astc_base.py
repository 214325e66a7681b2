"""The base class of the ASTC estimators: rows, terms that can be paid, dividing a budget, and the plan."""

from __future__ import annotations

import os
from abc import abstractmethod
from collections.abc import Callable
from numbers import Integral, Real
from typing import Any, ClassVar, TypeAlias

import numpy as np
from numpy.typing import NDArray
from sklearn.utils._param_validation import Interval

from miserly.costs import Costs, fits, read_budget
from miserly.data.rows import Rows
from miserly.data.target import Target
from miserly.errors import CostError
from miserly.learners.base import as_columns
from miserly.learners.base.arguments import constraints, refuse_text
from miserly.learners.base.kinds import WeightedFit
from miserly.learners.common.classifier_tree import ClassifierTree, build_plan
from miserly.learners.common.linear_fit import FitData, boosted_terms, read_fit_data, ready_columns
from miserly.learners.common.progress import Steps, outcome
from miserly.learners.common.terms import LinearTerms, TermSet
from miserly.learners.trees.astc_growth import TreeGrower, path_budget
from miserly.losses import Loss
from miserly.plan import Plan
from miserly.solvers.term_prices import PurchaseState

__all__ = ["ASTC"]

Floats: TypeAlias = NDArray[np.float64]


PARTS = (1.0, 1.5, 2.0, 3.0)  # of which a node may spend one, where a budget is to be divided
HALVINGS = 6


class ASTC(WeightedFit):
    """The base class of both ASTC estimators; subclasses define how labels are read and fitted."""

    node_budget_: NDArray[np.float64]
    expected_cost_: float
    _numeric_target: ClassVar[bool]

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = constraints(
        *("costs", "budget", "mean_budget", "tradeoff", "min_samples_leaf", "terms", "n_terms", "step"),
        *("validation_fraction", "random_state", "n_jobs", "verbose"),
        node_budget=[Interval(Real, 0, None, closed="both"), "array-like", None],
        max_depth=[Interval(Integral, 1, 12, closed="both")],
        soft=["boolean"],
    )

    def __init__(
        self,
        *,
        costs: Any = None,
        node_budget: Any = None,
        budget: float | None = None,
        mean_budget: float | None = None,
        tradeoff: float = 0.0,
        max_depth: int = 5,
        min_samples_leaf: int = 20,
        soft: bool = False,
        terms: str = "linear",
        n_terms: int = 100,
        step: float = 0.1,
        validation_fraction: float = 0.1,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.costs = costs
        self.node_budget = node_budget
        self.budget = budget
        self.mean_budget = mean_budget
        self.tradeoff = tradeoff
        self.max_depth = max_depth
        self.min_samples_leaf = min_samples_leaf
        self.soft = soft
        self.terms = terms
        self.n_terms = n_terms
        self.step = step
        self.validation_fraction = validation_fraction
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    # -- what subclasses define -------------------------------------------------------------------------

    _link: str
    _loss: Loss  # that boosted terms lower

    def _unit(self, samples: Rows) -> tuple[float, float]:
        """What targets are measured from, and in units of what."""
        return 0.0, 1.0

    @abstractmethod
    def _targets(self, y: Floats, unit: tuple[float, float]) -> Floats:
        """What least squares is fitted to, (n, C)."""

    @abstractmethod
    def _scale(self, plan: Plan, samples: Rows, unit: tuple[float, float]) -> tuple[float, float]:
        """How the scores of a plan become answers: plus an offset, times a factor."""

    # -- fitting -------------------------------------------------------------------------------------

    def _fit(self, X: Any, given: Target) -> None:
        encode = None if self._numeric_target else self._encode
        fraction = self.validation_fraction if self._divides_budgets else None
        with Steps(self, bool(self.verbose)) as report:
            rows = read_fit_data(self, X, given, encode, fraction)
            unit = self._unit(rows.training)
            least, most = self._node_budgets()
            report("making terms")
            terms = self._fit_terms(rows, float(least.max()), min(path_budget(most), self._cap))
            grow = self._grower(rows, terms, unit, report)
            if rows.validation is None:
                self.node_budget_, tree = least, grow(least, self._cap)
            else:
                validation, aims = rows.validation, self._targets(rows.validation.y, unit)
                tree = self._search(grow, lambda tree: _evaluate(tree, terms, rows.costs, validation, aims))
            self._keep(tree, terms, rows, unit)
            report(outcome(self))

    @property
    def _cap(self) -> float:
        """What no way through the tree may cost more than."""
        return read_budget(self.budget)

    @property
    def _divides_budgets(self) -> bool:
        """Whether a validation set is held out to find how much of a budget each node should spend."""
        held = self.budget is not None or self.mean_budget is not None
        return held and self.node_budget is None

    @property
    def _n_threads(self) -> int:
        return self.n_threads or os.cpu_count() or 1

    def _node_budgets(self) -> tuple[Floats, Floats]:
        """The least and the most that nodes may spend: what is given, or what a budget might come to.

        If each of the nodes on a path spends its share of the budget at most, no row can pass it.
        """
        n_nodes = 2**self.max_depth - 1
        if self.mean_budget is not None and self.node_budget is not None:
            raise CostError("give node_budget or mean_budget, not both")
        if self._divides_budgets:
            whole = self._smaller
            return np.full(n_nodes, whole / self.max_depth), np.full(n_nodes, whole)
        given = np.asarray(np.inf if self.node_budget is None else self.node_budget, dtype=np.float64)
        if given.ndim and given.shape != (n_nodes,):
            raise CostError(
                f"node_budget is one number, or one for each of the {n_nodes} nodes of {self.max_depth} "
                f"levels (the root, its upper and lower child, ...); its shape is {given.shape}"
            )
        if not (given >= 0.0).all():
            raise CostError(f"node_budget must be 0 or more, not {given.min():g}")
        budgets = np.broadcast_to(given, (n_nodes,))
        return budgets, budgets

    def _fit_terms(self, rows: FitData, max_price: float, reach: float) -> TermSet:
        """The terms that some row might be able to pay for."""
        costs = rows.costs
        nothing = np.zeros(len(costs), dtype=np.bool_)
        if self.terms == "linear":
            refuse_text(rows.table)
            payable = np.flatnonzero(fits(0.0, costs.marginals(nothing), reach))
            return LinearTerms.fit(rows.training, costs, payable, self._n_threads)
        boosted = boosted_terms(
            self,
            rows,
            self._loss,
            tradeoff=self.tradeoff,
            min_samples_leaf=self.min_samples_leaf,
            max_price=max_price,
        )
        return boosted.take(fits(0.0, boosted.prices(costs, nothing), reach))

    def _grower(
        self, rows: FitData, terms: TermSet, unit: tuple[float, float], report: Steps
    ) -> Callable[[Floats, float], ClassifierTree]:
        """What grows a tree for the budgets of its nodes and paths; the Gram of all rows is made once."""
        samples = rows.training
        grower = TreeGrower(
            columns=ready_columns(terms, samples.X, self._n_threads),
            targets=self._targets(samples.y, unit),
            weight=samples.weight,
            max_depth=self.max_depth,
            min_rows=self.min_samples_leaf,
            freedom=terms.freedom,
            soft=bool(self.soft),
            n_threads=self._n_threads,
        )
        market = PurchaseState.of(terms.uses, terms.evaluation, rows.costs)

        def grow(budgets: Floats, path: float) -> ClassifierTree:
            report(f"growing a tree with up to {budgets.max():.3g} to spend per node")
            return grower.grow(market, budgets, path, self.tradeoff / unit[1] ** 2)

        return grow

    @property
    def _smaller(self) -> float:
        """The smaller of both budgets, which is the one to divide."""
        return min(self._cap, read_budget(self.mean_budget))

    def _search(
        self,
        grow: Callable[[Floats, float], ClassifierTree],
        evaluate: Callable[[ClassifierTree], tuple[float, float]],
    ) -> ClassifierTree:
        """The tree of the smallest error on the validation set among those that keep `mean_budget` there.

        Nodes may spend some part of the budget each and all of it along a path; or as much as they can, the
        same for all nodes and whatever that comes to along a path, which is found by halving. No path ever
        costs more than `budget`.
        """
        whole = self._smaller
        n_nodes = 2**self.max_depth - 1
        best, least_error = None, np.inf

        def attempt(node_budget: float, path: float) -> bool:
            nonlocal best, least_error
            budgets = np.full(n_nodes, node_budget)
            tree = grow(budgets, path)
            cost, error = evaluate(tree)
            inside = fits(0.0, cost, read_budget(self.mean_budget))
            if inside and error < least_error:
                best, least_error = tree, error
                self.node_budget_, self.expected_cost_ = budgets, cost
            return inside

        for parts in sorted({*PARTS, float(self.max_depth)}):
            attempt(whole / parts, whole)
        low, high = 1.0 / self.max_depth, 1.0
        for _ in range(0 if self.mean_budget is None else HALVINGS):
            middle = 0.5 * (low + high)
            low, high = (middle, high) if attempt(middle * whole, self._cap) else (low, middle)
        assert best is not None
        return best

    def _keep(self, tree: ClassifierTree, terms: TermSet, rows: FitData, unit: tuple[float, float]) -> None:
        samples, costs = rows.training, rows.costs
        mean = np.average(self._targets(samples.y, unit), axis=0, weights=samples.weight)
        offset, factor = self._scale(build_plan(tree, terms, costs, base=mean), samples, unit)
        self.plan_ = build_plan(
            tree.rescaled(factor, offset),
            terms,
            costs,
            link=self._link,
            base=factor * mean + offset,
            classes=self.plan_classes(),
            info={"learner": type(self).__name__},
            categories=self.categories_,
        )


def _evaluate(
    tree: ClassifierTree, terms: TermSet, costs: Costs, rows: Rows, aims: Floats
) -> tuple[float, float]:
    """What rows cost on average, and their mean squared error."""
    run = build_plan(tree, terms, costs).run(rows.X, encoded=True)
    error = ((as_columns(run.scores) - aims) ** 2).sum(axis=1)
    return float(np.average(run.cost, weights=rows.weight)), float(np.average(error, weights=rows.weight))

"""The base class of CSTC and CSCC: parameters, rows and terms, and the search for a tradeoff."""

from __future__ import annotations

from abc import abstractmethod
from numbers import Integral
from typing import Any, ClassVar, TypeAlias

import numpy as np
from numpy.typing import NDArray
from sklearn.utils._param_validation import Interval, StrOptions
from threadpoolctl import threadpool_limits

from miserly.costs import read_budget
from miserly.data.rows import Rows
from miserly.data.target import Target
from miserly.learners.base.arguments import ONE_OR_MORE, class_signs, constraints
from miserly.learners.base.kinds import WeightedFit
from miserly.learners.common.budget_search import BudgetSearch, PerTradeoff, first_guess, mean_cost
from miserly.learners.common.linear_fit import FitData, fit_terms, read_fit_data
from miserly.learners.common.progress import Steps, outcome
from miserly.learners.common.training import ScoreEvaluator, steepness_of
from miserly.learners.trees.soft_tree_fit import FittedTree, SoftTreeFit, Targets
from miserly.losses import Loss, MeanSquared, log_loss
from miserly.metrics import get_metric
from miserly.solvers.soft_tree import TreeShape

__all__ = ["SoftTreeClassifier", "SoftTreeLearner"]

Floats: TypeAlias = NDArray[np.float64]

MAX_FITS = 10  # of trees, to find the tradeoff for a budget
NEIGHBOURS = (1.25, 1.6)  # multiples of that tradeoff to compare with it


class SoftTreeLearner(WeightedFit):
    """The base class of CSTC and CSCC: linear classifiers in a tree or a chain, with soft gates while fitted.

    Subclasses define what the labels mean, and the shape of a tree with `max_depth` levels.
    """

    tradeoff_: float
    expected_cost_: float
    objective_: NDArray[np.float64]

    _on_exit: ClassVar[bool] = False
    _classes: ClassVar[bool] = False

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = constraints(
        *("costs", "tradeoff", "budget", "mean_budget", "terms", "n_terms", "term_tradeoff", "step"),
        *("l1_regularization", "optimise", "early_stopping", "validation_fraction", "metric", "random_state"),
        *("n_jobs", "verbose"),
        max_depth=[Interval(Integral, 1, 10, closed="both")],
        prune=["boolean"],
        max_sweeps=[ONE_OR_MORE],
    )

    def __init__(
        self,
        *,
        costs: Any = None,
        tradeoff: float = 0.001,
        budget: float | None = None,
        mean_budget: float | None = None,
        max_depth: int = 3,
        terms: str = "linear",
        n_terms: int = 100,
        term_tradeoff: float | str | None = "falling",
        step: float = 0.1,
        l1_regularization: float = 0.0,
        prune: bool = True,
        optimise: bool = True,
        max_sweeps: int = 10,
        early_stopping: bool | int = False,
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
        self.max_depth = max_depth
        self.terms = terms
        self.n_terms = n_terms
        self.term_tradeoff = term_tradeoff
        self.step = step
        self.l1_regularization = l1_regularization
        self.prune = prune
        self.optimise = optimise
        self.max_sweeps = max_sweeps
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.metric = metric
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    # -- what subclasses define ----------------------------------------------------------------------

    @abstractmethod
    def _shape(self) -> TreeShape:
        """The tree to begin with."""

    @abstractmethod
    def _targets(self, samples: Rows) -> Targets:
        """What the scores are fitted to."""

    @abstractmethod
    def _evaluated_by(self, samples: Rows) -> tuple[str, Loss]:
        """The metric by default, and the loss, of plain scores."""

    def _answers(self, scores: Floats, samples: Rows) -> float:
        """The factor that turns scores into what the link expects."""
        return 1.0

    def _class_weights(self, samples: Rows) -> Floats | None:
        """How much the loss of each class counts, from the rows to learn from; None if all count the same."""
        return None

    def _squared_targets(self, samples: Rows) -> Floats | None:
        """What scores are fitted to by squared error; None if by the loss of `_evaluated_by`."""
        return None

    # -- fitting -------------------------------------------------------------------------------------

    def _fit(self, X: Any, given: Target) -> None:
        held = self.budget is not None or self.mean_budget is not None
        fraction = self.validation_fraction if self.prune or self.early_stopping or held else None
        with Steps(self, bool(self.verbose)) as report:
            rows = read_fit_data(self, X, given, self._encode if self._classes else None, fraction)
            with threadpool_limits(1, "blas"):  # many small products: more threads would wait for each other
                found = self._search(rows, report).best()
            self.tradeoff_, self.plan_ = found.tradeoff, found.model.plan
            self.objective_ = np.array(found.model.objective)
            if rows.validation is not None:
                self.expected_cost_ = found.cost
            report(outcome(self))

    def _search(self, rows: FitData, report: Steps) -> BudgetSearch[FittedTree]:
        """The search over tradeoffs.

        At the smallest tradeoff that keeps a mean budget, a node often buys what its children would choose
        better. Somewhat larger tradeoffs are compared with it.
        """
        metric, loss = self._evaluated_by(rows.training)
        evaluator = ScoreEvaluator(get_metric(self.metric or metric), loss, rows.training)

        def prepare(tradeoff: float) -> SoftTreeFit:
            report("making terms")
            terms = fit_terms(self, rows, loss, tradeoff, read_budget(self.budget))
            return SoftTreeFit(self, rows, terms, evaluator, report)

        depends = self.terms == "boosted" and self.term_tradeoff == "falling"
        fits = PerTradeoff(prepare, depends)
        return BudgetSearch(
            lambda tradeoff: fits.at(tradeoff).tree(tradeoff),
            lambda made: mean_cost(made.plan, rows.validation, self.n_threads),
            lambda made: made.rank,
            tradeoff=self.tradeoff,
            first=first_guess(rows.training.y, rows.costs),
            mean_budget=self.mean_budget,
            capped=self.budget is not None and fits.at(self.tradeoff).cap is not None,
            neighbours=NEIGHBOURS,
            max_fits=MAX_FITS,
        )


class SoftTreeClassifier(SoftTreeLearner):
    """What CSTC and CSCC share for classes, by the log loss or by the squared error to 1 and -1."""

    _classes = True

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **SoftTreeLearner._parameter_constraints,
        "loss": [StrOptions({"log_loss", "squared"})],
    }

    def _targets(self, samples: Rows) -> Targets:
        return class_targets(samples.y, len(self.classes_), self.loss)

    def _squared_targets(self, samples: Rows) -> Floats | None:
        return (
            None
            if self.loss == "log_loss"
            else class_targets(samples.y, len(self.classes_), self.loss).values
        )

    def _evaluated_by(self, samples: Rows) -> tuple[str, Loss]:
        return "accuracy", log_loss(len(self.classes_))

    def _answers(self, scores: Floats, samples: Rows) -> float:
        if self.loss == "log_loss":
            return 1.0
        return steepness_of(scores, samples.y, samples.weight)


def class_targets(codes: NDArray[np.float64], n_classes: int, loss: str) -> Targets:
    """Classes as the loss takes them; 1 and -1 for "squared", in one column for two classes, else one each.

    >>> class_targets(np.array([0.0, 1.0]), 2, "squared").values.tolist()
    [[-1.0], [1.0]]
    """
    emphasis = np.ones(len(codes))
    if loss == "log_loss":
        return Targets(codes, 1.0, emphasis, log_loss(n_classes))
    signs = class_signs(codes, n_classes)
    return Targets(signs, 1.0, emphasis, MeanSquared(signs.shape[1]))

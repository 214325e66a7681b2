"""The result of a search: its settings, its evaluated models, and the choice for a request."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Self

import numpy as np

from miserly.costs import Costs
from miserly.data.rows import Rows
from miserly.data.tasks import TaskChoice
from miserly.errors import CostError, MetricError
from miserly.metrics import get_metric
from miserly.selection.choice import Chooser
from miserly.selection.cross_choice import choose
from miserly.selection.evaluation import Candidate, Evaluator, pareto
from miserly.selection.history import Failure, SearchEffort
from miserly.selection.requests import Request
from miserly.selection.splits import Parts

__all__ = ["EvaluatedModels", "SearchResult"]

_N_BUDGETS = 8


@dataclass(frozen=True, eq=False, kw_only=True)
class SearchResult:
    """What a search gives to its `Frontier`.

    Attributes
    ----------
    evaluator : Evaluator
        The evaluator, with the rows of the search and its folds.
    costs : Costs
    candidates : sequence of Candidate
        All models.
    budgets, mean_budgets : sequence of float, optional
        The caps and the mean budgets that the search was made for.
    seed : int
    failures : sequence of Failure
    seconds : float
    left_out : mapping
        Why learners were left out.
    everything : Rows, optional
        All rows that were given; by default those of the search.
    kept : Rows, optional
        The guarantee rows.
    confidence : float, optional
        The default confidence of guarantees.
    taken : TaskChoice, optional
        The task, and why.
    effort : SearchEffort, optional
    """

    evaluator: Evaluator
    costs: Costs
    candidates: Sequence[Candidate]
    budgets: Sequence[float] | None = None
    mean_budgets: Sequence[float] | None = None
    seed: int = 0
    failures: Sequence[Failure] = ()
    seconds: float = 0.0
    left_out: Mapping[str, str] = field(default_factory=dict)
    everything: Rows | None = None
    kept: Rows | None = None
    confidence: float | None = None
    taken: TaskChoice | None = None
    effort: SearchEffort | None = None


class EvaluatedModels:
    """The models of a search with their evaluations, and the choice among them.

    Parameters
    ----------
    result : SearchResult
    """

    def __init__(self, result: SearchResult) -> None:
        self.result = result
        self._candidates = sorted(result.candidates, key=lambda one: one.mean_cost)

    # -- the search ----------------------------------------------------------------------------------

    @property
    def metric(self) -> str:
        """The name of the metric."""
        return self.result.evaluator.metric.name

    @property
    def greater_is_better(self) -> bool:
        """Whether a larger value of the metric is better."""
        return self.result.evaluator.metric.greater_is_better

    @property
    def sign(self) -> float:
        """1 if a larger value of the metric is better, else -1."""
        return self.result.evaluator.metric.sign

    @property
    def task(self) -> str | None:
        """The task: "classes", "numbers" or "ranking"."""
        return None if self.result.taken is None else self.result.taken.task

    @property
    def costs(self) -> Costs:
        """The costs of the features."""
        return self.result.costs

    @property
    def seconds(self) -> float:
        """How long the search took."""
        return self.result.seconds

    @property
    def seed(self) -> int:
        """The seed of splits and learners."""
        return self.result.seed

    @property
    def failures(self) -> list[Failure]:
        """The fits that raised an error: `learner`, `params` and `error` of each."""
        return list(self.result.failures)

    @property
    def left_out(self) -> dict[str, str]:
        """Learners that were left out, and why: they cannot use the columns, or were too slow or worse."""
        return dict(self.result.left_out)

    @property
    def rows(self) -> Rows:
        """All rows that were given."""
        return self.result.everything or self.result.evaluator.rows

    @property
    def search_rows(self) -> Rows:
        """The rows that the search used: all but the guarantee rows."""
        return self.result.evaluator.rows

    @property
    def n_kept(self) -> int:
        """The number of guarantee rows."""
        return 0 if self.result.kept is None else len(self.result.kept)

    @property
    def splits(self) -> Parts:
        """Training rows and held-out rows of each fold, as places in `search_rows`."""
        return self.result.evaluator.parts

    @property
    def budgets(self) -> list[float]:
        """The caps of tables: those that the search was made for."""
        return list(self.result.budgets or ())

    @property
    def mean_budgets(self) -> list[float]:
        """The mean budgets of tables; eight if the search was made for no budgets at all."""
        if self.result.mean_budgets or self.result.budgets:
            return list(self.result.mean_budgets or ())
        paid = [one.mean_cost for one in self.pareto_candidates if one.mean_cost > 0]
        return [float(budget) for budget in np.geomspace(min(paid), max(paid), _N_BUDGETS)] if paid else [0.0]

    # -- models --------------------------------------------------------------------------------------

    @property
    def learners(self) -> list[str]:
        """The names of the learners that gave models."""
        return sorted({one.learner for one in self._candidates if not one.is_constant})

    @property
    def candidates(self) -> list[Candidate]:
        """All models with their evaluations on held-out rows, the cheapest first."""
        return list(self._candidates)

    @property
    def pareto_candidates(self) -> list[Candidate]:
        """The models that are better than every cheaper or equally cheap one, the cheapest first."""
        return pareto(self._candidates, self.sign)

    @cached_property
    def chooser(self) -> Chooser:
        """Chooses models for requests and fits them to all rows.

        Returns
        -------
        Chooser
            One for this frontier.
        """
        given = self.result
        return Chooser(
            given.evaluator, given.costs, self._candidates, given.everything, given.kept, given.effort
        )

    @cached_property
    def by_total(self) -> Self:
        """The same models, valued by the total cost of a row: its tests and its answer.

        Returns
        -------
        Frontier
            Itself if the metric is the total cost.

        Raises
        ------
        MetricError
            If the search had no outcome costs.
        """
        given = self.result
        if given.evaluator.metric.name == "total_cost":
            return self
        if given.evaluator.rows.outcomes is None:
            raise MetricError("the total cost is not known: give frontier(..., outcome_costs=...)")
        evaluator = Evaluator(given.evaluator.rows, given.evaluator.parts, get_metric("total_cost"))
        some = [replace(one, value=one.total, includes_cost=True) for one in given.candidates]
        return type(self)(replace(given, evaluator=evaluator, candidates=some))

    def total(self, budget: float | None = None, *, mean_budget: float | None = None) -> dict[str, Any]:
        """The total cost of a row with the model of ``best(objective="total")``.

        Every row is evaluated with a choice made without this row.

        Parameters
        ----------
        budget : float, optional
            A cap, as in `best`.
        mean_budget : float, optional
            A mean budget, as in `best`.

        Returns
        -------
        dict
            `tests`, `mistakes` (what answers cost) and `total`, each a mean over rows, the 95 % interval
            `total_low` to `total_high`, and `words`, a sentence.

        Raises
        ------
        MetricError
            If the search had no outcome costs.
        CostError
            If no model fits the budget.
        """
        from miserly.selection.totals import total_record

        return total_record(self.by_total, Request.read(budget, mean_budget))

    # -- the choice for a request --------------------------------------------------------------------

    def chosen(self, request: Request) -> Candidate:
        """The best candidate inside the budgets of a request, by all held-out rows.

        Parameters
        ----------
        request : Request
            The limits.

        Returns
        -------
        Candidate
            The candidate; its model is not fitted to all rows yet.

        Raises
        ------
        CostError
            If there is none.
        """
        found = self.chosen_if_any(request)
        if found is None:
            raise self.no_model(request)
        return found

    def chosen_if_any(self, request: Request) -> Candidate | None:
        """The best candidate inside the budgets of a request; None if there is none.

        Parameters
        ----------
        request : Request
            The limits.

        Returns
        -------
        Candidate or None
            The candidate.
        """
        return choose(self.chooser.under(request.budget), request.mean_budget, self.sign)

    def no_model(self, request: Request) -> CostError:
        """The error to raise if no model fits a request.

        Parameters
        ----------
        request : Request
            The limits.

        Returns
        -------
        CostError
            The error, which names the cost of the cheapest model.
        """
        cheapest = self._candidates[0].mean_cost
        return CostError(f"no model costs {request.words}; the cheapest costs {cheapest:g}")

    def request(
        self,
        budget: float | None,
        mean_budget: float | None,
        confidence: float | None = None,
        max_loss: float | None = None,
    ) -> Request:
        """A request, with the confidence of the frontier if none is given.

        Parameters
        ----------
        budget, mean_budget, confidence, max_loss : float, optional
            As in `best`.

        Returns
        -------
        Request
            The limits.
        """
        if confidence is None and not (budget is None and mean_budget is None and max_loss is None):
            confidence = self.result.confidence
        return Request.read(budget, mean_budget, confidence, max_loss)

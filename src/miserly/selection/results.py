"""The frontier: tables of cost and quality, the best model for a budget, and other prices."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from miserly.data.frames import is_frame
from miserly.errors import CostError, DataError, did_you_mean
from miserly.learners.base import bind_costs
from miserly.metrics import cost_curve_area
from miserly.selection.cross_choice import compare_learners, holm
from miserly.selection.evaluation import Candidate
from miserly.selection.models import EvaluatedModels, SearchResult
from miserly.selection.offers import offers, suggested
from miserly.selection.requests import Request, read_requests
from miserly.selection.tables import change_of, frame, offered, record, summary

__all__ = ["Frontier"]


class Frontier(EvaluatedModels):
    """The models of a search with their costs and values on held-out rows, and the best one for a budget.

    `miserly.frontier` makes it. A `budget` is a cap: no row pays more. A `mean_budget` is what rows pay on
    average. Costs are mean costs of a row. Intervals are 95 % intervals of each model by itself. They
    describe new rows, not other training rows.

    Parameters
    ----------
    result : SearchResult
        The result of a search.
    before : Frontier, optional
        The frontier at the old prices, if this one comes from `reprice`.

    Notes
    -----
    `points` and `pareto` hold the held-out values by which models are chosen. The best of many such values is
    optimistic. `at` and `compare` evaluate every row with a choice made without this row.

    Examples
    --------
    >>> from miserly import CostLassoClassifier, frontier
    >>> from miserly.datasets import load_heart
    >>> heart = load_heart()
    >>> learner = CostLassoClassifier()
    >>> found = frontier(learner, heart.X, heart.y, costs=heart.costs, max_fits=6, random_state=0)
    >>> found.metric, found.learners
    ('accuracy', ['CostLassoClassifier'])
    >>> bool(found.area(300.0) > 0.7)
    True
    """

    def __init__(self, result: SearchResult, before: Frontier | None = None) -> None:
        super().__init__(result)
        self.before = before

    # -- tables --------------------------------------------------------------------------------------

    @property
    def points(self) -> Any:
        """All models, the cheapest first.

        A data frame, or without pandas a list of dicts, with `learner`, `params`, `cost`, `value`, their
        95 % intervals, `features` (how many a row acquires on average) and `max_cost` (the most that a row
        can cost).
        """
        return frame([record(one) for one in self._candidates])

    def pareto(self) -> Any:
        """The models that are better than every cheaper or equally cheap one.

        Their values are the best of many and so too optimistic; `at` gives estimates without this bias.

        Returns
        -------
        DataFrame or list of dict
            The columns of `points`, the cheapest model first.
        """
        return frame([record(one) for one in self.pareto_candidates])

    def at(self, *budgets: float, mean_budgets: Sequence[float] | None = None) -> Any:
        """Show what budgets buy: for each budget the model that `best` returns, and its estimates.

        `cost` and `value` (with 95 % intervals) are estimates: every row is evaluated with a choice made
        without this row. `features`, `max_cost` and `plan_cost` (the mean cost of the given rows) are those
        of the delivered plan, which is fitted to all rows: one fit for each model of the table. If no better
        model was found than for a smaller budget of the table, the line repeats that one, and `note` says so.

        Parameters
        ----------
        *budgets : float
            Caps: no row pays more. All models are evaluated under each. By default `budgets` and
            `mean_budgets` of the frontier.
        mean_budgets : list of float, optional
            Mean budgets.

        Returns
        -------
        DataFrame or list of dict
            One line for each budget.

        Raises
        ------
        CostError
            If no model fits one of the budgets.
        """
        requests = self._requests(budgets, mean_budgets)
        made = offers(self, requests)
        if len(made) < len(requests):
            self.chosen(requests[0])  # raises the error that names the cheapest model
        return frame([offered(one) for one in made])

    def suggested_budget(self, *budgets: float, mean_budgets: Sequence[float] | None = None) -> float:
        """The smallest budget whose model is within one standard error of the best one of the table.

        This is the one-standard-error rule: held-out rows cannot show that a larger budget is better.

        Parameters
        ----------
        *budgets : float
            Caps. By default `budgets` and `mean_budgets` of the frontier, as in `at`.
        mean_budgets : list of float, optional
            Mean budgets.

        Returns
        -------
        float
            One of the budgets.

        Raises
        ------
        CostError
            If no model fits any of the budgets.
        """
        made = offers(self, self._requests(budgets, mean_budgets))
        if not made:
            raise CostError("no model fits any of the budgets")
        return made[suggested(made, self.greater_is_better)].budget

    def area(self, max_cost: float, learner: str | None = None) -> float:
        """The mean, over budgets from 0 to `max_cost`, of the best held-out value.

        Parameters
        ----------
        max_cost : float
            The largest budget.
        learner : str, optional
            Only models of this learner; by default all.

        Returns
        -------
        float
            The area under the curve, divided by `max_cost`.
        """
        some = self._of(learner)
        return cost_curve_area(
            [one.mean_cost for one in some],
            [one.mean_value for one in some],
            max_cost,
            start=next(one for one in self._candidates if one.is_constant).mean_value,
            greater_is_better=self.greater_is_better,
        )

    def compare(
        self, *budgets: float, mean_budgets: Sequence[float] | None = None, against: str | None = None
    ) -> Any:
        """Learners at equal budgets, each with its best model, against one of them.

        Every row is evaluated with a choice made without this row. The test describes these models. Other
        training rows could make a larger difference.

        Parameters
        ----------
        *budgets : float
            Caps. By default `budgets` and `mean_budgets` of the frontier.
        mean_budgets : list of float, optional
            Mean budgets.
        against : str, optional
            The learner to compare with. By default the learner with the largest area (the smallest, if a
            lower metric is better).

        Returns
        -------
        DataFrame or list of dict
            For each budget and learner the `difference` of the metric, its 95 % interval and the p-value `p`
            of a paired t-test over rows (queries), corrected by Holm's method for the number of lines.
        """
        rival = self._leader() if against is None else against
        self._of(rival)  # raises an error if there is no such learner
        requests = self._requests(budgets, mean_budgets)
        lines = [line for request in requests for line in compare_learners(self, rival, request)]
        for line, p in zip(lines, holm([line["p"] for line in lines]), strict=True):
            line["p"] = p
        return frame(lines)

    def __repr__(self) -> str:
        return summary(self)

    # -- choosing ------------------------------------------------------------------------------------

    def best(
        self,
        budget: float | None = None,
        *,
        mean_budget: float | None = None,
        confidence: float | None = None,
        max_loss: float | None = None,
        objective: str = "metric",
    ) -> Any:
        """The best model for a budget, or the cheapest that is nearly as good as the best.

        It is chosen on held-out rows and fitted to all rows, guarantee rows included. A model that then costs
        more than the mean budget is replaced by the next best. `guarantee_` of the model lists the guarantees
        and their evidence; ``plan_.guarantees`` has them in words.

        Parameters
        ----------
        budget : float, optional
            A cap: no row ever pays more. All models are evaluated under it. The plan of the best one contains
            it, so it holds with certainty. None is no limit.
        mean_budget : float, optional
            What a row may cost on average. None is no limit.
        confidence : float, optional
            The confidence of a guarantee; by default that of the frontier. With a confidence, the guarantee
            rows must show that the mean cost of new rows (in ranking, the mean over queries) is at most
            `mean_budget`, and the loss of the metric at most `max_loss`, for any distribution. The model is
            fitted to all other rows. The confidence applies to each call separately.
        max_loss : float, optional
            The cheapest model is returned whose metric is at most this much, 0.01 for example, worse than
            that of the best model at any cost. With a confidence, the loss of a row must be bounded:
            accuracy, ndcg@k, precision@k or a cost of mistakes.
        objective : {"metric", "total"}, default="metric"
            The criterion: the metric of the frontier, or the mean cost of tests and mistakes together, which
            needs `outcome_costs` (see `total`).

        Returns
        -------
        estimator
            The fitted model.

        Raises
        ------
        CostError
            If no model fits the budget, or the guarantee rows do not support the guarantee for any model.
        """
        if objective not in ("metric", "total"):
            raise DataError(f'objective is "metric" or "total", not {objective!r}')
        found = self.by_total if objective == "total" else self
        return found.chooser.best(self.request(budget, mean_budget, confidence, max_loss))

    # -- pictures ------------------------------------------------------------------------------------

    def plot(self, ax: Any = None, budget: float | None = None, mean_budget: float | None = None) -> Any:
        """Draw the metric of all models against their mean cost, with matplotlib.

        Strong marks, with 95 % intervals, are the models of `pareto`.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; new axes by default.
        budget : float, optional
            A cap; the best model under it is marked with a ring.
        mean_budget : float, optional
            A mean budget; the best model inside it is marked with a ring.

        Returns
        -------
        matplotlib Axes
            The axes.
        """
        from miserly.report.found_plot import plot_found

        given = budget is not None or mean_budget is not None
        return plot_found(self, ax, Request.read(budget, mean_budget) if given else None)

    def to_html(
        self,
        path: str | PathLike[str],
        budget: float | None = None,
        *,
        mean_budget: float | None = None,
        confidence: float | None = None,
        title: str | None = None,
    ) -> Path:
        """Write a report in one HTML file that needs no network.

        It says what was found, has a slider for the budget, draws the plan of the chosen model and lists all
        figures. It needs plotly and matplotlib: ``pip install "miserly[report]"``.

        Parameters
        ----------
        path : str or path
            The file to write.
        budget : float, optional
            The cap whose model is shown first and fitted. The slider then is over caps.
        mean_budget : float, optional
            The same for a mean budget. With both, the slider is over the smaller one. By default the
            smallest budget within one standard error of the best.
        confidence : float, optional
            The confidence of a guarantee for that model, as in `best`.
        title : str, optional
            The title of the page.

        Returns
        -------
        Path
            The path of the file.
        """
        from miserly.report.page import write_page

        given = budget is not None or mean_budget is not None
        request = self.request(budget, mean_budget, confidence) if given else None
        return write_page(self, path, request, confidence, title)

    # -- other prices --------------------------------------------------------------------------------

    def reprice(self, costs: Any) -> Frontier:
        """The same models at other prices, evaluated again on the same held-out rows; nothing is fitted.

        The models were trained at the old prices. After large changes, search again.

        Parameters
        ----------
        costs : Costs, mapping or array
            The new prices, as for learners.

        Returns
        -------
        Frontier
            Its `changes` say where another model is now better.
        """
        evaluator = self.result.evaluator
        if evaluator.rows.own_costs.get("prices") is not None:
            raise DataError("rows have their own prices, which new costs do not change: run frontier again")
        table = evaluator.rows.X
        prices = bind_costs(costs, [str(c) for c in table.columns] if is_frame(table) else np.shape(table)[1])
        trials = dict.fromkeys(one.trial for one in self._candidates)
        found = [one for trial in trials for one in evaluator.evaluate(trial, prices)]
        return Frontier(replace(self.result, costs=prices, candidates=found), before=self)

    def changes(self, *budgets: float, mean_budgets: Sequence[float] | None = None) -> Any:
        """What new prices change: for each budget the choice before, its cost now, and the choice now.

        Parameters
        ----------
        *budgets : float
            Caps. By default `budgets` and `mean_budgets` of the frontier, as in `at`.
        mean_budgets : list of float, optional
            Mean budgets.

        Returns
        -------
        DataFrame or list of dict
            `better` says whether another model is chosen now: it is better, or the one from before costs
            too much.

        Raises
        ------
        DataError
            If this frontier does not come from `reprice`.
        """
        if self.before is None:
            raise DataError("prices have not changed: this frontier does not come from reprice")
        requests = self.before._requests(budgets, mean_budgets)
        self.chooser.evaluate_under(request.budget for request in requests)
        return frame([change_of(self.before, self, request) for request in requests])

    # -- inside --------------------------------------------------------------------------------------

    def _requests(self, budgets: Sequence[float], mean_budgets: Sequence[float] | None) -> list[Request]:
        """The budgets of a table: those that are given, or those of the frontier."""
        own = read_requests(self.budgets, self.mean_budgets, [])
        found = read_requests(budgets, mean_budgets, own)
        self.chooser.evaluate_under(request.budget for request in found)
        return found

    def _of(self, learner: str | None) -> list[Candidate]:
        """The candidates of one learner, or of all."""
        if learner is None:
            return self.candidates
        if learner not in self.learners:
            known = ", ".join(self.learners)
            raise DataError(
                f"no learner {learner!r}{did_you_mean(learner, self.learners)}. There are: {known}"
            )
        return [one for one in self._candidates if one.learner == learner]

    def _leader(self) -> str:
        top = max(one.mean_cost for one in self._candidates)
        return max(self.learners, key=lambda name: self.sign * self.area(top, name))

"""What a frontier found: tables of cost and quality, the best model for a budget, and other prices."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from miserly.costs import Costs
from miserly.data.frames import is_frame
from miserly.data.rows import Rows
from miserly.data.tasks import Taken
from miserly.errors import CostError, DataError, did_you_mean
from miserly.learners.base import bind_costs
from miserly.metrics import cost_curve_area
from miserly.selection.asked import Effort
from miserly.selection.choice import Chooser, Wish, read_wishes
from miserly.selection.cross_choice import choose, cross_choose, holm, paired
from miserly.selection.evaluation import Bench, Candidate, pareto
from miserly.selection.offers import offers
from miserly.selection.round_budgets import suggested
from miserly.selection.search import Failure
from miserly.selection.splits import Parts
from miserly.selection.tables import frame, interval, offered, record, shown, summary
from miserly.utils.checks import read_budget

__all__ = ["Frontier", "read_budgets"]

_N_BUDGETS = 8


class Frontier:
    """What every model of a sweep costs and reaches on held-out rows, and the best of them for a budget.

    Made by `miserly.frontier`. A `budget` is a cap that no row passes, a `mean_budget` what rows pay on
    average. Costs are what a row pays on average. Intervals are of 95 % for each model by
    itself; they speak of new rows, not of other rows to learn from.

    Attributes
    ----------
    points : frame, or list of dicts without pandas
        All models: `learner`, `params`, `cost`, `value`, their intervals, `features` (how many a row buys on
        average) and `max_cost` (what a row can cost at most). Cheap ones first.
    failures : list
        Fits that raised an error: `learner`, `params` and `error`.
    left_out : dict
        Learners that a look at a part of the rows found too slow or far behind, and why; only where time was
        limited and rows were many.
    metric : str
    costs : Costs
    seconds : float
        How long the search took.
    """

    def __init__(
        self,
        bench: Bench,
        costs: Costs,
        candidates: Sequence[Candidate],
        budgets: Sequence[float] | None = None,
        seed: int = 0,
        failures: Sequence[Failure] = (),
        seconds: float = 0.0,
        *,
        left_out: Mapping[str, str] | None = None,
        mean_budgets: Sequence[float] | None = None,
        everything: Rows | None = None,
        kept: Rows | None = None,
        confidence: float | None = None,
        before: Frontier | None = None,
        taken: Taken | None = None,
        effort: Effort | None = None,
    ) -> None:
        self.costs = costs
        self.failures = list(failures)
        self.left_out = dict(left_out or {})
        self.seconds = seconds
        self._bench = bench
        self._candidates = sorted(candidates, key=lambda one: one.mean_cost)
        self._budgets = budgets
        self._mean_budgets = mean_budgets
        self._seed = seed
        self._everything = everything
        self._kept = kept
        self._confidence = confidence
        self._before = before
        self._taken = taken
        self._effort = effort

    @property
    def metric(self) -> str:
        return self._bench.metric.name

    @property
    def task(self) -> str | None:
        """What the labels were taken for: "classes", "numbers" or "ranking"."""
        return None if self._taken is None else self._taken.task

    @property
    def learners(self) -> list[str]:
        """The learners that gave models."""
        return sorted({one.learner for one in self._candidates if one.trial.contender.dial is not None})

    @property
    def budgets(self) -> list[float]:
        """The caps that tables are for: those the frontier was made for."""
        return list(self._budgets or ())

    @property
    def mean_budgets(self) -> list[float]:
        """The budgets on average that tables are for; eight where the frontier was made for none at all."""
        if self._mean_budgets or self._budgets:
            return list(self._mean_budgets or ())
        paid = [one.mean_cost for one in self.pareto_candidates if one.mean_cost > 0]
        return [float(budget) for budget in np.geomspace(min(paid), max(paid), _N_BUDGETS)] if paid else [0.0]

    # -- what the search used and gave, for reports ----------------------------------------------------

    @property
    def candidates(self) -> list[Candidate]:
        """All models as they were evaluated on held-out rows, the cheapest first."""
        return list(self._candidates)

    @property
    def pareto_candidates(self) -> list[Candidate]:
        """The models that no cheaper or equally cheap one matches, the cheapest first."""
        return pareto(self._candidates, self._sign)

    @property
    def greater_is_better(self) -> bool:
        """Whether a larger value of the metric is better."""
        return self._bench.metric.greater_is_better

    @property
    def rows(self) -> Rows:
        """All rows that were given."""
        return self._everything or self._bench.rows

    @property
    def search_rows(self) -> Rows:
        """The rows that the search used: all but those kept for guarantees."""
        return self._bench.rows

    @property
    def n_kept(self) -> int:
        """How many rows are kept for guarantees."""
        return 0 if self._kept is None else len(self._kept)

    @property
    def splits(self) -> Parts:
        """Training rows and held-out rows of each fold, as places in `search_rows`."""
        return self._bench.parts

    @property
    def seed(self) -> int:
        """The seed of splits and learners."""
        return self._seed

    # -- tables --------------------------------------------------------------------------------------

    @property
    def points(self) -> Any:
        return frame([record(one) for one in self._candidates])

    def pareto(self) -> Any:
        """The points that no cheaper or equally cheap one matches: the best held-out value for each cost.

        These are the best of many, so the values flatter; `at` says what choosing them is really worth.
        """
        return frame([record(one) for one in self.pareto_candidates])

    def at(self, *budgets: float, mean_budgets: Sequence[float] | None = None) -> Any:
        """What a budget buys: the model that `best` delivers for it, and what to expect of it.

        `cost` and `value` (with 95 % intervals) are estimates. They come from choices that never saw the rows
        they are judged on, so they do not flatter. `features`, `max_cost` and `plan_cost` (what the given
        rows pay on average) are those of the delivered plan, which is fitted to all rows: a fit for each
        model of the table. Where no better model was found than for a smaller budget of the table, the line
        is that one's, and `note` says so.

        Parameters
        ----------
        *budgets : float
            What no row may pay more than: all models are judged under each. By default `budgets` and
            `mean_budgets` of the frontier.
        mean_budgets : list of numbers, optional
            What rows may pay on average.
        """
        wishes = self._wishes(budgets, mean_budgets)
        made = offers(self, wishes)
        if len(made) < len(wishes):
            self.chosen(wishes[0])  # says that nothing is so cheap
        return frame([offered(one) for one in made])

    def suggested_budget(self, *budgets: float, mean_budgets: Sequence[float] | None = None) -> float:
        """The smallest budget whose model is within one standard error of the best one of the table.

        This is the one-standard-error rule: a larger budget buys nothing that the held-out rows can show.

        Parameters
        ----------
        *budgets : float
            Caps. By default `budgets` and `mean_budgets` of the frontier, as in `at`.
        mean_budgets : list of float, optional
            Budgets on average.

        Returns
        -------
        float
            One of the budgets.
        """
        made = offers(self, self._wishes(budgets, mean_budgets))
        if not made:
            raise CostError("no model fits any of the budgets")
        return made[suggested(made, self.greater_is_better)].budget

    def area(self, max_cost: float, learner: str | None = None) -> float:
        """The mean over budgets from 0 to `max_cost` of the best held-out value, of one learner or of all."""
        some = self._of(learner)
        return cost_curve_area(
            [one.mean_cost for one in some],
            [one.mean_value for one in some],
            max_cost,
            start=self._free().mean_value,
            greater_is_better=self._bench.metric.greater_is_better,
        )

    def compare(
        self, *budgets: float, mean_budgets: Sequence[float] | None = None, against: str | None = None
    ) -> Any:
        """Learners at equal budgets, each with its best model there, against one of them.

        For each budget and learner the `difference` of the metric, its 95 % interval and the p-value of a
        paired t-test over rows (queries), corrected by Holm's method for the number of lines. Every
        row is judged by a choice that did not see it. It is about these models: other rows to learn
        from might change more.

        Parameters
        ----------
        *budgets : float
            Caps. By default `budgets` and `mean_budgets` of the frontier.
        mean_budgets : list of numbers, optional
            What rows may pay on average.
        against : str, optional
            By default the learner of the largest area (the smallest, for losses).
        """
        rival = self._leader() if against is None else against
        self._of(rival)  # is known
        lines = [line for wish in self._wishes(budgets, mean_budgets) for line in self._against(rival, wish)]
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
    ) -> Any:
        """The best model for a budget, or the cheapest that is nearly as good as the best.

        It is chosen by held-out figures and fitted to all rows, those kept for promises included. A model
        that costs more than the mean budget by then gives way to the next best. `guarantee_` of the model
        lists what is guaranteed and what showed it; so does ``plan_.guarantees``, as text.

        Parameters
        ----------
        budget : float, optional
            What no row may ever pay more than. All models are judged on the held-out rows, stopped where the
            budget ends, and the plan of the best carries the budget with it: this holds with certainty, and
            needs no kept rows. None is no limit.
        mean_budget : float, optional
            What a row may cost on average. None is no limit.
        confidence : float, optional
            By default that of the frontier. With one, the mean cost on new rows like these (in ranking: the
            mean over queries) is at most `mean_budget`, and the loss of the metric at most `max_loss`, with
            at least this confidence, whatever their distribution: the kept rows have shown it, and the model
            is fitted to all but those. It holds for each call by itself. `CostError` if it can be shown of
            none.
        max_loss : float, optional
            What may be lost of the metric, 0.01 for example, against the model that is best whatever it
            costs: the cheapest that loses no more is taken. With a confidence the metric must be one of which
            a row cannot lose more than 1: accuracy, ndcg@k, precision@k.
        """
        return self._chooser.best(self._wish(budget, mean_budget, confidence, max_loss))

    def chosen(self, wish: Wish) -> Candidate:
        """The best candidate inside the budgets of a request, by all held-out rows.

        `CostError` if there is none.
        """
        found = self._chosen_if_any(wish)
        if found is None:
            raise self.no_model(wish)
        return found

    def _wish(
        self,
        budget: float | None,
        mean_budget: float | None,
        confidence: float | None = None,
        max_loss: float | None = None,
    ) -> Wish:
        """What is asked for, with the frontier's own confidence where none is given."""
        if confidence is None and not (budget is None and mean_budget is None and max_loss is None):
            confidence = self._confidence
        return Wish.read(budget, mean_budget, confidence, max_loss)

    def _wishes(self, budgets: Sequence[float], mean_budgets: Sequence[float] | None) -> list[Wish]:
        """What tables are for: the budgets that are asked for, or those of the frontier."""
        own = read_wishes(self.budgets, self.mean_budgets, [])
        found = read_wishes(budgets, mean_budgets, own)
        self._chooser.hold(wish.budget for wish in found)
        return found

    @cached_property
    def _chooser(self) -> Chooser:
        return Chooser(self._bench, self.costs, self._candidates, self._everything, self._kept, self._effort)

    # -- pictures ------------------------------------------------------------------------------------

    def plot(self, ax: Any = None, budget: float | None = None, mean_budget: float | None = None) -> Any:
        """Draw the metric of all models against their mean cost, with matplotlib; gives the axes.

        Strong marks, with 95 % intervals, are the models that no cheaper one matches. With a `budget` (a cap
        for every row) or a `mean_budget`, the best model inside it has a ring.
        """
        from miserly.report.found_plot import plot_found

        wished = budget is not None or mean_budget is not None
        return plot_found(self, ax, Wish.read(budget, mean_budget) if wished else None)

    def to_html(
        self,
        path: str | PathLike[str],
        budget: float | None = None,
        *,
        mean_budget: float | None = None,
        confidence: float | None = None,
        title: str | None = None,
    ) -> Path:
        """Write a report that any browser opens, one file that needs no network; gives its path.

        It says in plain words what was found, lets a slider move the budget, draws the plan of the chosen
        model and lists all figures. It needs plotly and matplotlib: ``pip install "miserly[report]"``.

        Parameters
        ----------
        path : path of a file
        budget : float, optional
            The budget whose model is shown first and fitted: no row pays more. The slider is over such caps
            then.
        mean_budget : float, optional
            The same for what rows pay on average. With both, the slider is over the smaller one. By default
            the smallest of the
            frontier's budgets that buys what is within one standard error of the best.
        confidence : float, optional
            As in `best`: what is promised of that model.
        title : str, optional
        """
        from miserly.report.page import write_page

        wished = budget is not None or mean_budget is not None
        wish = self._wish(budget, mean_budget, confidence) if wished else None
        return write_page(self, path, wish, confidence, title)

    # -- other prices --------------------------------------------------------------------------------

    def reprice(self, costs: Any) -> Frontier:
        """The same models at other prices, judged again on the same held-out rows; nothing is fitted.

        `changes` of the new frontier says where another model is now better. Models still spend as they
        learned to at the old prices: where much changes, learn a new frontier.
        """
        rows = self._bench.rows
        names = [str(c) for c in rows.X.columns] if is_frame(rows.X) else np.shape(rows.X)[1]
        prices = bind_costs(costs, names)
        trials = dict.fromkeys(one.trial for one in self._candidates)
        found = [one for trial in trials for one in self._bench.judge(trial, prices)]
        return Frontier(
            self._bench,
            prices,
            found,
            self._budgets,
            self._seed,
            self.failures,
            self.seconds,
            left_out=self.left_out,
            mean_budgets=self._mean_budgets,
            everything=self._everything,
            kept=self._kept,
            confidence=self._confidence,
            before=self,
            taken=self._taken,
            effort=self._effort,
        )

    def changes(self, *budgets: float, mean_budgets: Sequence[float] | None = None) -> Any:
        """What new prices mean for each budget: the model chosen before, what it costs now, the choice now.

        `better` says whether another model is chosen now, be it that it is better or that the one from before
        costs too much. Budgets are as in `at`.
        """
        if self._before is None:
            raise DataError("prices have not changed: this frontier does not come from reprice")
        wishes = self._before._wishes(budgets, mean_budgets)
        self._chooser.hold(wish.budget for wish in wishes)
        return frame([self._change(self._before, wish) for wish in wishes])

    def _change(self, old: Frontier, wish: Wish) -> dict[str, Any]:
        was, now = old.chosen(wish), self.chosen(wish)
        again = self._chooser.under(wish.budget)
        still = next(one for one in again if one.trial is was.trial and one.view == was.view)
        return {
            wish.kind: wish.amount,
            "before": shown(was),
            "cost_before": was.mean_cost,
            "cost_of_it_now": still.mean_cost,
            "value_before": was.mean_value,
            "now": shown(now),
            "cost": now.mean_cost,
            "value": now.mean_value,
            "better": now is not still,
        }

    # -- inside --------------------------------------------------------------------------------------

    @property
    def _sign(self) -> float:
        return 1.0 if self._bench.metric.greater_is_better else -1.0

    def _of(self, learner: str | None, some: Sequence[Candidate] | None = None) -> list[Candidate]:
        """The candidates of one learner, or of all; among `some` if they are given."""
        some = self._candidates if some is None else some
        if learner is None:
            return list(some)
        if learner not in self.learners:
            known = ", ".join(self.learners)
            raise DataError(
                f"no learner {learner!r}{did_you_mean(learner, self.learners)}. There are: {known}"
            )
        return [one for one in some if one.learner == learner]

    def _free(self) -> Candidate:
        """The answer that pays nothing."""
        return next(one for one in self._candidates if one.trial.contender.dial is None)

    def _leader(self) -> str:
        top = max(one.mean_cost for one in self._candidates)
        return max(self.learners, key=lambda name: self._sign * self.area(top, name))

    def _chosen_if_any(self, wish: Wish) -> Candidate | None:
        """The best candidate inside a budget, by all held-out rows."""
        return choose(self._chooser.under(wish.budget), wish.mean_budget, self._sign)

    def no_model(self, wish: Wish) -> CostError:
        """The error to raise where no model fits a request."""
        cheapest = self._candidates[0].mean_cost
        return CostError(f"no model costs {wish.words}; the cheapest costs {cheapest:g}")

    def _against(self, rival: str, wish: Wish) -> list[dict[str, Any]]:
        some = self._chooser.under(wish.budget)
        free = next(one for one in some if one.trial.contender.dial is None)
        reached = {
            name: cross_choose([free, *self._of(name, some)], wish.mean_budget, self._sign, self._seed)
            for name in self.learners
        }
        theirs = reached[rival]
        lines = []
        for name, own in reached.items():
            if name == rival or own is None or theirs is None:
                continue
            mean, error, p = paired(own.value, theirs.value)
            lines.append(
                {
                    wish.kind: wish.amount,
                    "learner": name,
                    "against": rival,
                    "value": float(np.nanmean(own.value)),
                    **interval("difference", mean, error),
                    "p": p,
                }
            )
        return lines


def read_budgets(budgets: Sequence[float]) -> list[float]:
    found = sorted({read_budget(budget) for budget in budgets})
    if not found:
        raise CostError("an empty list of budgets")
    return found

"""The best model of a frontier for a wish: by held-out figures, or with a promise that kept rows must show.

Which models are tested for a promise, in which order, and what they are compared with, is settled by
held-out figures alone: the kept rows have a say only in whether a promise is shown.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from copy import copy
from dataclasses import dataclass, replace
from functools import cached_property
from numbers import Real
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from miserly.costs import Costs, mean_fits
from miserly.data.rows import Rows
from miserly.errors import BudgetWarning, CostError, DataError, MetricError
from miserly.metrics import Queries
from miserly.plan import Plan
from miserly.plan.engine.batch import Run
from miserly.plan.engine.effort import engine_for
from miserly.selection.asked import Effort, why_nothing_helps
from miserly.selection.candidates import viewed
from miserly.selection.cross_choice import steady_gains
from miserly.selection.evaluation import Bench, Candidate, Trial, pareto, repriced
from miserly.selection.guarantee import Assurance, Promise, certify, mean_bound, read_confidence
from miserly.selection.handovers import Pair
from miserly.selection.row_values import RowValues, scores_of
from miserly.selection.tables import shown
from miserly.utils.checks import read_budget

__all__ = ["Bill", "Chooser", "Wish", "read_wishes"]

Floats: TypeAlias = NDArray[np.float64]

_FEW_ROWS = 500  # that show whether a plan acquires anything
_N_TRIED = 8  # models that are fitted to be tested, besides the surest for a promise
_ROUNDING = 1e-9  # losses of the metric closer than this are equal
_WITLESS = 3.0  # standard errors by which a model is worse with all rows that is another one there
_LIKELY = 1.0  # standard errors inside its limits, as far as held-out rows tell, of a model worth testing


@dataclass(frozen=True, kw_only=True)
class Wish:
    """What a model has to keep to: a cap for each row, a budget on average, and what it may lose to the best.

    Attributes
    ----------
    budget : float
        What no row may ever pay more than.
    mean_budget : float
        What rows may pay on average.
    confidence : float, optional
    max_loss : float, optional
    """

    budget: float = np.inf
    mean_budget: float = np.inf
    confidence: float | None = None
    max_loss: float | None = None

    @classmethod
    def read(
        cls,
        budget: float | None,
        mean_budget: float | None,
        confidence: float | None = None,
        max_loss: float | None = None,
    ) -> Wish:
        if max_loss is not None and not (isinstance(max_loss, Real) and 0.0 <= max_loss < np.inf):
            raise DataError(f"max_loss is what may be lost of the metric, 0 or more, not {max_loss!r}")
        if confidence is not None:
            read_confidence(confidence)
            if budget is None and mean_budget is None and max_loss is None:
                raise DataError("nothing to promise: with a confidence give budget, mean_budget or max_loss")
        return cls(
            budget=read_budget(budget),
            mean_budget=read_budget(mean_budget),
            confidence=confidence,
            max_loss=max_loss,
        )

    @property
    def amount(self) -> float:
        """The tighter of the two budgets."""
        return min(self.budget, self.mean_budget)

    @property
    def kind(self) -> str:
        """Which budget `amount` is."""
        return "budget" if self.budget <= self.mean_budget else "mean_budget"

    @property
    def is_capped(self) -> bool:
        return self.budget < np.inf

    @property
    def needs_rows(self) -> bool:
        """Whether there is something that only kept rows can show: a cap for each row needs none."""
        return self.confidence is not None and (self.mean_budget < np.inf or self.max_loss is not None)

    def promises(self, span: float) -> list[Promise]:
        """What kept rows have to show."""
        assert self.confidence is not None
        found = []
        if self.mean_budget < np.inf:
            found.append(Promise("mean cost", self.mean_budget, self.confidence))
        if self.max_loss is not None:
            found.append(Promise("loss of metric", self.max_loss, self.confidence, span=span))
        return found

    @property
    def words(self) -> str:
        """The limits in words, as in "no model ..."."""
        words = [f"{self.mean_budget:g} or less on average"] if self.mean_budget < np.inf else []
        words += [f"{self.budget:g} or less for every row"] if self.is_capped else []
        return " and ".join(words) or "any amount"


def read_wishes(
    budgets: Iterable[float], mean_budgets: Iterable[float] | None, default: Sequence[Wish]
) -> list[Wish]:
    """A wish for each cap and for each budget on average, the smallest first; or the `default`."""
    caps = sorted({read_budget(budget) for budget in budgets})
    means = sorted({read_budget(budget) for budget in mean_budgets or ()})
    return [*(Wish(budget=one) for one in caps), *(Wish(mean_budget=one) for one in means)] or list(default)


class Chooser:
    """Chooses among the candidates of a frontier, and fits what it chose.

    Parameters
    ----------
    everything : Rows
        All rows, those kept for promises included; those of `bench` are the others.
    kept : Rows, optional
    """

    def __init__(
        self,
        bench: Bench,
        costs: Costs,
        candidates: Sequence[Candidate],
        everything: Rows | None = None,
        kept: Rows | None = None,
        effort: Effort | None = None,
    ) -> None:
        self._bench = bench
        self._costs = costs
        self._candidates = candidates
        self._everything = bench.rows if everything is None else everything
        self._kept = kept
        self._effort = effort
        self._sign = 1.0 if bench.metric.greater_is_better else -1.0
        self._held: dict[float, list[Candidate]] = {}  # candidates under caps
        self._fitted: dict[tuple[Trial, bool], Any] = {}  # models of all rows, or of all but the kept ones

    def best(self, wish: Wish) -> Any:
        candidate, model = self.take(wish)
        self.warn_of_a_constant(wish, candidate, model.plan_)
        return model

    def take(self, wish: Wish) -> tuple[Candidate, Any]:
        """The candidate that is chosen, and its model."""
        offers = self._offers(wish)
        return self._promised(wish, offers) if wish.needs_rows else self._hoped(wish, offers)

    def warn_of_a_constant(self, wish: Wish, taken: Candidate, plan: Plan) -> None:
        """Say why the answer is a constant, if it is: by the estimates or by what the plan acquires."""
        effort = self._effort
        if effort is None or wish.max_loss is not None or not wish.amount > 0.0:
            return
        offers = self._offers(wish)
        free = [one for one in self._candidates if one.trial.contender.dial is None]
        constant = max(map(self._gain, free), default=-np.inf)
        if self._gain(taken) > constant and self._acquires(plan):
            return
        if not any(self._gain(one) > constant for one in offers):
            why = why_nothing_helps(self._costs, wish.amount, effort)
        elif wish.needs_rows:
            why = "kept rows cannot show of any other that it keeps what is promised"
        else:
            why = "those that seemed better cost more, or do worse, once they are fitted to all rows"
        told = f"no model for {wish.words} is better than a constant answer: {why}"
        warnings.warn(told, BudgetWarning, stacklevel=4)

    def _acquires(self, plan: Plan) -> bool:
        """Whether some row acquires a feature; a few hundred rows are looked at."""
        few = self._everything.take(np.arange(min(_FEW_ROWS, len(self._everything))))
        done = plan.run(few.X, qid=few.qid, compiled=engine_for(plan, len(few)), unknown="missing")
        return bool(done.acquired.any())

    # -- caps ----------------------------------------------------------------------------------------

    def under(self, budget: float) -> list[Candidate]:
        """All candidates, none of whose rows may pay more than `budget`, in their order."""
        if budget == np.inf:
            return list(self._candidates)
        self.hold([budget])
        return self._held[budget]

    def hold(self, budgets: Iterable[float]) -> None:
        """Judge all candidates under some caps at once, which is quicker than one by one."""
        new = [one for one in dict.fromkeys(budgets) if one < np.inf and one not in self._held]
        if new:
            held = [self._bench.held_to_each(one, new, self._prices(one)) for one in self._candidates]
            for budget, *some in zip(new, *held, strict=True):
                self._held[budget] = some

    # -- by held-out figures -------------------------------------------------------------------------

    def _offers(self, wish: Wish) -> list[Candidate]:
        """What held-out rows find inside the limits, the best first; of equals the cheapest."""
        some = self.under(wish.budget)
        payable = [one for one in some if mean_fits(one.mean_cost, wish.mean_budget)]
        if not payable:
            least = min(one.mean_cost for one in some)
            raise CostError(f"no model costs {wish.words}; the cheapest costs {least:g}")
        if wish.max_loss is None:
            steady = dict(zip(some, steady_gains(some, self._sign), strict=True))
            return sorted(payable, key=lambda one: (-steady[one], one.mean_cost))
        near = [one for one in payable if self._loss(one) <= wish.max_loss + _ROUNDING]
        if not near:
            least = min(map(self._loss, payable))
            raise CostError(
                f"no model for {wish.words} loses {wish.max_loss:g} of {self._metric} or less to "
                f"the best one; the nearest loses {least:.4g}"
            )
        return sorted(near, key=lambda one: (one.mean_cost, -self._gain(one)))

    def _hoped(self, wish: Wish, offers: Sequence[Candidate]) -> tuple[Candidate, Any]:
        """The first that keeps to the budget once it is fitted to all rows, and has not lost its wits there.

        A dial may stand where a little decides whether a feature is bought: fitted to other rows the model is
        another one then. It shows when it does clearly worse on the rows it learned from than it did on
        held-out ones.
        """
        rows = self._everything
        kept: dict[Trial, tuple[Candidate, Any]] = {}
        for one in offers:
            if one.trial in kept:  # it has been another one in another view
                continue
            model = self._fit(one, rows, wish)
            done = model.plan_.run(rows.X, qid=rows.qid, unknown="missing")
            if not mean_fits(done.cost.mean(), wish.mean_budget):
                continue
            kept[one.trial] = one, model
            reached = self._sign * self._reached(model.plan_, done)
            if not reached < self._gain(one) - _WITLESS * self._doubt(one):
                return one, _told(model, self._certain(wish))
            if len(kept) == _N_TRIED:
                break
        if not kept:
            raise CostError(f"no model costs {wish.words} once it is fitted to all rows; allow a little more")
        one, model = next(iter(kept.values()))
        return one, _told(model, self._certain(wish))

    def _doubt(self, one: Candidate) -> float:
        """The standard error of a candidate; at least one row (query), where all are right."""
        span = RowValues(self._bench.metric, self._everything.y).span
        return max(one.error, span / len(one.value) if np.isfinite(span) else 0.0)

    def _reached(self, plan: Plan, done: Run) -> float:
        """The metric on all rows."""
        rows = self._everything
        values = RowValues(self._bench.metric, rows.y)
        scores = scores_of(done, rows)[:, : plan.n_outputs]
        return float(np.nanmean(values(plan, scores, rows.y, Queries(rows.qid, len(rows)))))

    def _gain(self, one: Candidate) -> float:
        return self._sign * one.mean_value

    def _loss(self, one: Candidate) -> float:
        return self._gain(self._reference) - self._gain(one)

    @cached_property
    def _reference(self) -> Candidate:
        """The most accurate candidate, whatever it costs."""
        return max(self._candidates, key=lambda one: (self._gain(one), -one.mean_cost))

    # -- with promises -------------------------------------------------------------------------------

    def _promised(self, wish: Wish, offers: Sequence[Candidate]) -> tuple[Candidate, Any]:
        """The best of some models that the kept rows vouch for."""
        kept, values = self._rows_for_promises(), self._values_for_promises(wish)
        promises = wish.promises(1.0 if values is None else values.span)
        tried = self._worth_testing(wish, offers)
        models = {one: self._fit(one, self._bench.rows, wish) for one in tried}
        bills = {one: self._bill(model, kept, values) for one, model in models.items()}
        theirs = self._reference_values(bills, kept, values)
        holds = certify([bills[one] for one in tried], promises, order=range(len(tried)), reference=theirs)
        shown_of = [one for one, holding in zip(tried, holds, strict=True) if holding]
        chosen = min(shown_of or tried[:1], key=offers.index)
        told = self._assurances(promises, bills[chosen], theirs)
        if not shown_of:
            raise CostError(self._refusal(wish, told))
        return chosen, _told(models[chosen], [*self._certain(wish), *told])

    def _rows_for_promises(self) -> Rows:
        if self._kept is None:
            raise DataError(
                "no rows are kept for promises: give frontier(..., certify=0.2), or leave confidence out"
            )
        return self._kept

    def _values_for_promises(self, wish: Wish) -> RowValues | None:
        if wish.max_loss is None:
            return None
        values = RowValues(self._bench.metric, self._rows_for_promises().y)
        if not np.isfinite(values.span):
            raise MetricError(
                f"one row can lose any amount of {self._metric}, so that no loss of it can be promised. Take "
                "accuracy, ndcg@k or precision@k, or leave confidence out"
            )
        return values

    def _worth_testing(self, wish: Wish, offers: Sequence[Candidate]) -> list[Candidate]:
        """The best of those that are likely to pass, and the surest of all; the surest first."""
        kept = self._rows_for_promises()
        n_units = len(kept) if kept.qid is None else len(np.unique(kept.qid))
        sure = {one: self._surety(one, wish, n_units) for one in pareto(offers, self._sign)}
        likely = sorted((one for one in sure if sure[one] >= _LIKELY), key=offers.index)[:_N_TRIED]
        surest = max(sure, key=lambda one: (sure[one], -one.mean_cost))
        return sorted(dict.fromkeys([*likely, surest]), key=lambda one: (-sure[one], one.mean_cost))

    def _surety(self, one: Candidate, wish: Wish, n: int) -> float:
        """How many standard errors of `n` units inside its limits a candidate is, by held-out figures."""
        room = []
        if wish.mean_budget < np.inf:
            room.append(_errors_inside(one.unit_cost, wish.mean_budget, n))
        if wish.max_loss is not None:
            lost = self._sign * (self._reference.value - one.value)
            room.append(_errors_inside(lost, wish.max_loss, n))
        return min(room)

    def _reference_values(self, bills: dict[Candidate, Bill], kept: Rows, values: RowValues | None) -> Any:
        if values is None:
            return None
        if self._reference in bills:
            return bills[self._reference].value
        model = self._fit(self._reference, self._bench.rows, Wish())
        return self._bill(model, kept, values).value

    def _bill(self, model: Any, kept: Rows, values: RowValues | None) -> Bill:
        return Bill.of(model.plan_, kept, values, self._sign)

    # -- words ---------------------------------------------------------------------------------------

    def _certain(self, wish: Wish) -> list[Assurance]:
        if not wish.is_capped:
            return []
        return [Assurance(f"no row costs more than {self._price(wish.budget)}", "each row", wish.budget)]

    def _assurances(self, promises: Sequence[Promise], bill: Bill, theirs: Any) -> list[Assurance]:
        return [
            self._of_cost(one, bill) if one.kind == "mean cost" else self._of_loss(one, bill, theirs)
            for one in promises
        ]

    def _of_cost(self, promise: Promise, bill: Bill) -> Assurance:
        bound = mean_bound(bill.cost, bill.upper, promise.confidence)
        what = f"a {self._unit} costs {self._price(promise.limit)} or less on average"
        return self._assurance(promise, what, float(bill.cost.mean()), bound, len(bill.cost))

    def _of_loss(self, promise: Promise, bill: Bill, theirs: Floats) -> Assurance:
        lost = (theirs - bill.value)[~np.isnan(theirs)]
        bound = mean_bound(lost + promise.span, 2.0 * promise.span, promise.confidence) - promise.span
        if bill.value is theirs:
            bound = 0.0  # there is nothing to lose to itself
        what = f"{self._metric} is at most {promise.limit:g} below that of {shown(self._reference)}"
        return self._assurance(promise, what, float(lost.mean()), bound, len(lost))

    def _assurance(self, promise: Promise, what: str, seen: float, bound: float, n: int) -> Assurance:
        text = (
            f"{what}, with confidence {promise.confidence:g} ({n} kept {self._units} show {seen:.4g}, "
            f"at most {bound:.4g})"
        )
        return Assurance(text, promise.kind, promise.limit, promise.confidence, seen, bound, n)

    def _refusal(self, wish: Wish, nearest: Sequence[Assurance]) -> str:
        words = {"mean cost": f"costs {wish.mean_budget:g} or less on average"}
        words["loss of metric"] = f"loses {wish.max_loss} of {self._metric} or less"
        wanted = " and ".join(words[one.kind] for one in nearest)
        bounds = " and ".join(f"at most {one.bound:.4g}" for one in nearest)
        return (
            f"{nearest[0].n_units} kept {self._units} cannot show, with confidence {wish.confidence:g}, that "
            f"some model {wanted} (of the likeliest they show {bounds}): keep more of them (certify), or "
            "allow more"
        )

    @property
    def _metric(self) -> str:
        return self._bench.metric.name

    @property
    def _by_query(self) -> bool:
        return self._everything.qid is not None

    @property
    def _unit(self) -> str:
        return "query's row" if self._by_query else "row"

    @property
    def _units(self) -> str:
        return "queries" if self._by_query else "rows"

    def _price(self, amount: float) -> str:
        return f"{amount:g} {self._costs.unit}" if self._costs.unit else f"{amount:g}"

    # -- fitting -------------------------------------------------------------------------------------

    def _prices(self, one: Candidate) -> Costs | None:
        """The prices of the frontier, where they are not those that the candidate learned with."""
        return None if one.trial.contender.costs == self._costs else self._costs

    def _fit(self, one: Candidate, rows: Rows, wish: Wish) -> Any:
        """The candidate fitted to some rows, at the prices of the frontier, held to its cap."""
        model = copy(viewed(self._learned(one.trial, rows), one.view))
        if self._prices(one) is not None:
            model.plan_ = repriced(model.plan_, self._costs)
        if wish.is_capped:
            model.plan_ = model.plan_.replace(budget=wish.budget)
        return model

    def _learned(self, trial: Trial, rows: Rows) -> Any:
        """What a trial gives with some rows; whoever takes part in several pairs is fitted once."""
        key = trial, rows is self._everything
        if key not in self._fitted:
            pair = trial.contender
            self._fitted[key] = (
                pair.join(*(self._learned(half.trial, rows) for half in (pair.first, pair.then)))
                if isinstance(pair, Pair)
                else pair.fit(rows, trial.value)
            )
        return self._fitted[key]


@dataclass(frozen=True, eq=False)
class Bill:
    """What a plan cost and reached, by unit, on rows that it was neither learned from nor chosen by."""

    cost: Floats
    value: Floats  # higher is better
    upper: float

    @classmethod
    def of(cls, plan: Plan, rows: Rows, values: RowValues | None, sign: float) -> Bill:
        done = plan.run(rows.X, qid=rows.qid, compiled=engine_for(plan, len(rows)), unknown="missing")
        queries = Queries(np.arange(len(rows)) if rows.qid is None else rows.qid)
        cost = _by_unit(done.cost, queries)
        value = np.zeros(len(cost))
        if values is not None:
            value = sign * values(plan, scores_of(done, rows)[:, : plan.n_outputs], rows.y, queries)
            value = value if values.by_query else _by_unit(value, queries)
        return cls(cost, value, plan.max_cost)


def _by_unit(values: Floats, queries: Queries) -> Floats:
    means: Floats = np.bincount(queries.code, values) / queries.sizes
    return means


def _errors_inside(values: Floats, limit: float, n: int) -> float:
    """How far below a limit a mean is, in the standard errors that `n` units would have."""
    room = limit - float(np.nanmean(values))
    error = float(np.nanstd(values)) / np.sqrt(n)
    return room / error if error > 0.0 and np.isfinite(room) else float(np.copysign(np.inf, room))


def _told(model: Any, assurances: Sequence[Assurance]) -> Any:
    """The model with what is promised of it, in words also in its plan."""
    plan = model.plan_.with_guarantees([str(one) for one in assurances])
    model.plan_ = plan
    model.set_guarantee([replace(one, plan=plan.digest) for one in assurances])
    return model

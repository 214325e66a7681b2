"""What each budget buys: the model that is delivered for it, and what to expect of that model.

Accuracy and mean cost are estimates: they come from models fitted to some of the rows, judged on the others.
What the plan may buy, what it costs at most and what it pays on the given rows are those of the plan that is
delivered, fitted to all rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from miserly.costs import mean_fits
from miserly.data.rows import Rows
from miserly.errors import CostError
from miserly.plan import Plan
from miserly.plan.engine.batch import Run
from miserly.plan.engine.effort import engine_for
from miserly.selection.choice import Wish
from miserly.selection.cross_choice import cross_choose
from miserly.selection.evaluation import Candidate, mean_and_error
from miserly.selection.tables import interval

if TYPE_CHECKING:
    from miserly.selection.results import Frontier

__all__ = ["Offer", "offer_for", "offers"]

Floats: TypeAlias = NDArray[np.float64]

_NOTICEABLE = 0.05  # of the estimate: a mean cost of the plan that differs by more is told beside it


@dataclass(frozen=True, eq=False)
class Offer:
    """What one budget buys.

    Attributes
    ----------
    wish : Wish
        The budget: a cap for every row, or what rows pay on average.
    candidate : Candidate
        The model as it was judged on held-out rows.
    model : estimator
        The model as it is delivered, fitted to all rows.
    rows : Rows
        All rows that were given.
    estimates : dict
        `cost` and `value` with their 95 % intervals, by choices that never saw the rows they are judged on.
    is_second : bool
        Whether the model was taken in place of a better one: for a promise, or because that one costs too
        much once it is fitted to all rows. Then the estimates are its own on held-out rows, and flatter.
    same_as : float, optional
        The smaller budget whose model this is, because none better was found.
    """

    wish: Wish
    candidate: Candidate
    model: Any
    rows: Rows
    estimates: dict[str, float]
    is_second: bool = False
    same_as: float | None = None

    @property
    def budget(self) -> float:
        return self.wish.amount

    @property
    def value(self) -> float:
        """The estimate of the metric."""
        return self.estimates["value"]

    @property
    def low(self) -> float:
        return self.estimates["value_low"]

    @property
    def high(self) -> float:
        return self.estimates["value_high"]

    @property
    def error(self) -> float:
        """The standard error of the estimate of the metric."""
        return (self.high - self.low) / (2 * 1.96)

    @property
    def cost(self) -> float:
        """The estimate of what a row pays on average, by this model's own kind on held-out rows."""
        return self.candidate.mean_cost

    # -- the delivered plan --------------------------------------------------------------------------

    @property
    def plan(self) -> Plan:
        plan: Plan = self.model.plan_
        return plan

    @cached_property
    def max_cost(self) -> float:
        """What no row pays more than."""
        return self.plan.max_cost

    @cached_property
    def run(self) -> Run:
        """What the delivered plan does with the rows that were given."""
        rows = self.rows
        engine = engine_for(self.plan, len(rows))
        return self.plan.run(rows.X, qid=rows.qid, compiled=engine, unknown="missing")

    @cached_property
    def pays(self) -> float:
        """What the given rows pay on average for the delivered plan."""
        return float(self.run.cost.mean())

    @property
    def pays_otherwise(self) -> bool:
        """Whether that differs noticeably from the estimate, or the estimate is above the cap of the plan."""
        differs = abs(self.pays - self.cost) > _NOTICEABLE * max(self.pays, self.cost)
        return differs or not mean_fits(self.cost, self.max_cost)

    @cached_property
    def cost_95(self) -> float:
        """What 95 of 100 of the given rows pay at most."""
        return float(np.quantile(self.run.cost, 0.95, method="higher"))

    @cached_property
    def share(self) -> Floats:
        """The share of the given rows that buy each feature."""
        bought: Floats = self.run.acquired.mean(axis=0)
        return bought

    @property
    def features(self) -> float:
        """How many features a row buys, on average."""
        return float(self.share.sum())

    @property
    def note(self) -> str:
        """Why this is no model of its own; empty where it is one."""
        return "" if self.same_as is None else f"no better model found: same as {self.same_as:g}"

    @property
    def _key(self) -> tuple[Any, ...]:
        """What tells models apart: under another cap that none of its rows reaches, a model is the same."""
        return self.candidate.trial, tuple(sorted(self.candidate.view.items())), self.max_cost


def offers(found: Frontier, wishes: Sequence[Wish]) -> list[Offer]:
    """What each of some budgets buys, the smallest first; budgets that buy nothing at all are left out.

    A larger budget whose model has no better estimate than a smaller one's takes that one's model, and says
    so: one model has one estimate.
    """
    made: list[Offer] = []
    found._chooser.hold(wish.budget for wish in wishes)
    for wish in wishes:
        try:
            one = offer_for(found, wish)
        except CostError:
            continue
        made.append(_unless_no_better(one, [old for old in made if old.wish.kind == wish.kind], found._sign))
    return made


def _unless_no_better(one: Offer, before: Sequence[Offer], sign: float) -> Offer:
    best = max(before, key=lambda old: sign * old.value, default=None)  # of equals, the first
    if best is None or (
        sign * one.value > sign * best.value and one._key not in [old._key for old in before]
    ):
        return one
    smaller = best.budget if best.same_as is None else best.same_as
    if one._key == best._key:  # the same but for a cap that no row reaches
        return replace(one, estimates=best.estimates, same_as=smaller)
    return replace(best, wish=one.wish, same_as=smaller)


def offer_for(found: Frontier, wish: Wish) -> Offer:
    """What `best` delivers for a wish, with its estimates."""
    chosen = found.chosen(wish)
    candidate, model = found._chooser.take(wish)
    rows = found.rows
    if candidate is chosen:
        return Offer(wish, candidate, model, rows, honest(found, wish))
    own = {
        **interval("cost", *mean_and_error(candidate.unit_cost)),
        **interval("value", candidate.mean_value, candidate.error),
    }
    return Offer(wish, candidate, model, rows, own, is_second=True)


def honest(found: Frontier, wish: Wish) -> dict[str, float]:
    """Cost and value with their intervals, by choices that never saw the rows they are judged on."""
    some = found._chooser.under(wish.budget)
    reached = cross_choose(some, wish.mean_budget, found._sign, found._seed)
    if reached is None:
        raise found.no_model(wish)
    return {
        **interval("cost", *mean_and_error(reached.cost)),
        **interval("value", *mean_and_error(reached.value)),
    }

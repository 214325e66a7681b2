"""What a report shows of a frontier: the offers for every budget, the chosen one, and the words for them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from miserly.data.rows import Rows
from miserly.plan.show.phrases import plain
from miserly.selection.guarantee import Guarantee
from miserly.selection.handovers import Pair
from miserly.selection.offers import Offer, offer_for, round_offers, suggested
from miserly.selection.requests import Request
from miserly.selection.row_values import PRICED
from miserly.selection.tables import short_name

if TYPE_CHECKING:
    from miserly.plan import Plan
    from miserly.selection import Frontier
    from miserly.selection.evaluation import Candidate

__all__ = ["ReportContent", "Words", "metric_name", "model_name", "price_text", "read_content", "settings"]


@dataclass(frozen=True, eq=False)
class ReportContent:
    """All that a report shows.

    Attributes
    ----------
    offers : tuple of Offer
        One for each step of the slider.
    place : int
        The place of the chosen one among `offers`.
    was_asked : bool
        Whether a budget was given. Otherwise one is suggested.
    rows : Rows
        The rows that the chosen model is fitted to: all, or with a guarantee all but those kept for it.
    guarantees : tuple of Guarantee
        The guarantees of the chosen model, with what the guarantee rows showed.
    """

    found: Frontier
    words: Words
    offers: tuple[Offer, ...]
    place: int
    was_asked: bool
    rows: Rows
    guarantees: tuple[Guarantee, ...]

    @property
    def chosen(self) -> Offer:
        return self.offers[self.place]

    @property
    def plan(self) -> Plan:
        """The delivered plan of the chosen model."""
        return self.chosen.plan

    @property
    def free(self) -> Offer | None:
        """The offer that costs nothing, if there is one."""
        first = self.offers[0]
        return first if first.cost == 0.0 else None

    @property
    def best(self) -> Offer:
        """The best offer at any price; if several are equal, the cheapest."""
        return max(self.offers, key=lambda one: (self.found.sign * one.value, -one.cost))


def read_content(found: Frontier, asked: Request | None, confidence: float | None) -> ReportContent:
    """What each budget buys, and the model of the one that is asked for.

    Without a budget, one is suggested: the smallest whose metric is within one standard error of the best.
    """
    made = round_offers(found, asked)
    if asked is None:
        place = suggested(made, found.greater_is_better)
    else:
        place = [one.budget for one in made].index(asked.amount)
    request = replace(made[place].request, confidence=confidence if asked is None else asked.confidence)
    if request.needs_rows:  # the certified model was fitted to fewer rows
        made[place] = offer_for(found, request)
    return ReportContent(
        found,
        Words(found, made[0].request.kind),
        tuple(made),
        place,
        asked is not None,
        found.search_rows if request.needs_rows else found.rows,
        tuple(made[place].model.guarantee_),
    )


# -- names of metrics, prices, rows and models ---------------------------------------------------------------

SHARES = ("accuracy", "balanced_accuracy")
_NAMES = {
    "balanced_accuracy": "balanced accuracy",
    "f1": "F1",
    "roc_auc": "area under the ROC curve",
    "log_loss": "log loss",
    "mse": "mean squared error",
    "mae": "mean absolute error",
    "r2": "R²",
    "total_cost": "total cost of tests and mistakes",
    "outcome_cost": "cost of mistakes",
}
_LONGEST_UNIT = 16
_LONGEST_NAME = 60


class Words:
    """The terms of one frontier: what rows are called, and the digits of its figures."""

    def __init__(self, found: Frontier, kind: str = "mean_budget") -> None:
        self.is_cap = kind == "budget"
        self.budget = kind.replace("_", " ")  # what the page calls a budget
        self.metric = metric_name(found.metric)
        self.is_share = found.metric in SHARES
        self.is_money = found.metric in PRICED
        self.is_total = found.metric == "total_cost"
        self.unit = plain(found.costs.unit, _LONGEST_UNIT)
        self.is_ranking = found.rows.qid is not None
        self.row, self.rows = ("document", "documents") if self.is_ranking else ("row", "rows")
        self.units = "queries" if self.is_ranking else self.rows  # what standard errors are computed over
        errors = [one.error for one in found.candidates if one.error > 0]
        self._decimals = _decimals(float(np.median(errors)) if errors else 0.01)

    def value(self, value: float) -> str:
        """A value of the metric in a sentence: with its unit if it is an amount of money."""
        return f"{self.figure(value)} {self.unit}".strip() if self.is_money else self.figure(value)

    def figure(self, value: float) -> str:
        """A value of the metric, with the digits that its standard error allows."""
        return f"{100 * value:.1f} %" if self.is_share else f"{value:.{self._decimals}f}"

    def height(self, value: Any) -> float:
        """The position of a value on an axis, in per cent if it is a share."""
        return float(f"{100 * value if self.is_share else value:.5g}")

    def interval(self, low: float, high: float) -> str:
        if not np.isfinite(low):
            return "no interval"
        if self.is_share:
            return f"{100 * low:.1f} to {100 * min(high, 1.0):.1f} %"
        return f"{self.figure(low)} to {self.figure(high)}"

    def price(self, amount: float) -> str:
        return f"{price_text(amount)} {self.unit}".strip()

    @property
    def in_unit(self) -> str:
        """The unit in brackets, for the heads of columns and axes."""
        return f" ({self.unit})" if self.unit else ""

    @property
    def metric_in_unit(self) -> str:
        """The metric for the heads of columns and axes."""
        return self.metric + (self.in_unit if self.is_money else "")

    @property
    def a_metric(self) -> str:
        """The metric with its article.

        >>> from types import SimpleNamespace
        >>> [Words.a_metric.fget(SimpleNamespace(metric=name)) for name in ("accuracy", "NDCG@5", "log loss")]
        ['an accuracy', 'an NDCG@5', 'a log loss']
        """
        vowel = self.metric[0] in "aeiou" or self.metric.startswith(("F1", "NDCG", "R²"))
        return f"{'an' if vowel else 'a'} {self.metric}"

    @property
    def title(self) -> str:
        """The metric at the beginning of a sentence."""
        return self.metric[:1].upper() + self.metric[1:]

    @property
    def title_in_unit(self) -> str:
        """The metric as the title of an axis."""
        return self.metric_in_unit[:1].upper() + self.metric_in_unit[1:]

    def reached(self, value: float, cost: float) -> str:
        """A value of the metric and the mean price; the price is a part of a total cost."""
        if self.is_total:
            return f"{self.value(value)}, {self.price(cost)} of it for tests"
        return f"{self.value(value)} for {self.price(cost)}"


def metric_name(metric: str) -> str:
    """
    >>> metric_name("ndcg@5"), metric_name("log_loss"), metric_name("precision@10")
    ('NDCG@5', 'log loss', 'precision at 10')
    """
    name, _, depth = metric.partition("@")
    if depth:
        return f"NDCG@{depth}" if name == "ndcg" else f"{plain(name)} at {depth}"
    return _NAMES.get(metric, plain(metric.replace("_", " ")))


def price_text(amount: float) -> str:
    """An amount in three digits, or all those before the point.

    >>> [price_text(amount) for amount in (0, 2, 14.192, 102.9, 17000.4, 0.00125)]
    ['0', '2', '14.2', '103', '17,000', '0.00125']
    """
    if abs(amount) >= 99.95:
        return f"{amount:,.0f}"
    return np.format_float_positional(float(f"{amount:.3g}"), trim="-")


def model_name(one: Candidate) -> str:
    """The name of a model in a sentence."""
    learner = one.trial.learner
    if one.is_constant:
        return "answer that buys nothing"
    if isinstance(learner, Pair):
        first, then = (plain(short_name(half.learner)) for half in (learner.first, learner.then))
        return f"{one.learner} from {first} to {then}"
    return plain(one.learner, _LONGEST_NAME)


def settings(params: dict[str, Any]) -> str:
    """The parameters that distinguish a model from others of its learner.

    >>> settings({"tradeoff": 2.1234e-06, "lookahead": True, "rounds": 40})
    'tradeoff 2.12e-06, lookahead, rounds 40'
    """
    return ", ".join(_setting(plain(name), value) for name, value in params.items() if value is not False)


def _setting(name: str, value: Any) -> str:
    if value is True:
        return name
    return f"{name} {value:.3g}" if isinstance(value, (float, np.floating)) else f"{name} {plain(value)}"


def _decimals(error: float) -> int:
    """The number of decimals that shows an error in one or two digits."""
    return int(np.clip(1 - np.floor(np.log10(error)), 0, 6))

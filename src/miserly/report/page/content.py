"""What a report shows of a frontier: the offers for every budget, the chosen one, and its model."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from miserly.data.rows import Rows
from miserly.report.page.words import Words
from miserly.selection.guarantee import Guarantee
from miserly.selection.offers import Offer, offer_for
from miserly.selection.requests import Request
from miserly.selection.round_budgets import round_offers, suggested

if TYPE_CHECKING:
    from miserly.plan import Plan
    from miserly.selection import Frontier

__all__ = ["ReportContent", "read_content"]


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
        What is guaranteed of the chosen model, and what showed it.
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
        """The best at any price, of equals the cheapest."""
        sign = 1.0 if self.found.greater_is_better else -1.0
        return max(self.offers, key=lambda one: (sign * one.value, -one.cost))


def read_content(found: Frontier, asked: Request | None, confidence: float | None) -> ReportContent:
    """What each budget buys, and the model of the one that is asked for.

    Without a budget, one is suggested: the smallest that buys what is within one standard error of the best.
    """
    made = round_offers(found, asked)
    if asked is None:
        place = suggested(made, found.greater_is_better)
    else:
        place = [one.budget for one in made].index(asked.amount)
    request = replace(made[place].request, confidence=confidence if asked is None else asked.confidence)
    if request.needs_rows:  # the model that the guarantee is shown of was fitted to fewer rows
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

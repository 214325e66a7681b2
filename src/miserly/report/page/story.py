"""What a page tells of a frontier: the offers for every budget, the chosen one, and its model."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from miserly.errors import CostError
from miserly.report.page.offers import Offer, budget_kind, offer_for, offers, round_budgets, suggested
from miserly.report.page.words import Words
from miserly.selection.choice import Wish
from miserly.selection.guarantee import Assurance
from miserly.selection.splits import Rows

if TYPE_CHECKING:
    from miserly.plan import Plan
    from miserly.selection import Frontier

__all__ = ["Story", "read_story"]


@dataclass(frozen=True, eq=False)
class Story:
    """All that a page shows.

    Attributes
    ----------
    offers : tuple of Offer
        One for each step of the slider.
    place : int
        Which of them is chosen.
    was_asked : bool
        Whether a budget was given, or one was suggested.
    rows : Rows
        All rows, or with a promise all but those kept for it.
    promises : tuple of Assurance
        What is promised of the model, and what showed it.
    """

    found: Frontier
    words: Words
    offers: tuple[Offer, ...]
    place: int
    was_asked: bool
    rows: Rows
    promises: tuple[Assurance, ...]

    @property
    def everything(self) -> Rows:
        """All rows that the frontier was given."""
        return self.found._everything or self.found._bench.rows

    @property
    def chosen(self) -> Offer:
        return self.offers[self.place]

    @property
    def plan(self) -> Plan:
        """Of the chosen model, as it is delivered."""
        return self.chosen.plan

    @property
    def free(self) -> Offer | None:
        """What is had for nothing."""
        first = self.offers[0]
        return first if first.cost == 0.0 else None

    @property
    def best(self) -> Offer:
        """The best that money can buy."""
        sign = self.found._sign
        return max(self.offers, key=lambda one: (sign * one.value, -one.cost))


def read_story(found: Frontier, asked: Wish | None, confidence: float | None) -> Story:
    """What each budget buys, and the model of the one that is asked for.

    Without a budget, one is suggested: the smallest that buys what is within one standard error of the best.
    """
    made = offers(found, round_budgets(found, asked))
    known = [one.budget for one in made]
    if asked is not None and asked.amount not in known:
        raise CostError(f"no model costs {asked.words}; the cheapest costs {found._cheapest():g}")
    place = suggested(made, found._sign > 0) if asked is None else known.index(asked.amount)
    wish = replace(made[place].wish, confidence=confidence if asked is None else asked.confidence)
    if wish.needs_rows:  # the model that the promise is shown of was fitted to fewer rows
        made[place] = offer_for(found, wish)
    everything = found._everything or found._bench.rows
    return Story(
        found,
        Words(found, budget_kind(found, asked)),
        tuple(made),
        place,
        asked is not None,
        found._bench.rows if wish.needs_rows else everything,
        tuple(made[place].model.promise_),
    )

"""The table of a page: what each budget buys."""

from __future__ import annotations

from itertools import pairwise

from miserly.report.page.html import Column, section, table
from miserly.report.page.offers import Offer
from miserly.report.page.story import Story
from miserly.report.page.words import Words, model_name, price_text, settings

__all__ = ["budgets_section"]


def budgets_section(story: Story) -> str:
    """One line for each step of the slider."""
    words = story.words
    columns = [
        Column(f"{words.budget}{words.in_unit}", "number"),
        Column(words.metric, "number"),
        Column("95 % interval", "number"),
        Column(f"mean price{words.in_unit}", "number"),
        Column("95 of 100 pay at most", "number"),
        Column("features", "number"),
        Column("model", "wide"),  # the last, so that a phone shows figures
    ]
    models = [None, *(one.candidate for one in story.offers)]
    again = [one is before for before, one in pairwise(models)]
    lines = [_line(one, same, words) for one, same in zip(story.offers, again, strict=True)]
    caption = (
        f"{_meant(words)} For each the model to take, the {words.metric} to expect, what {words.rows} pay "
        f"on average and what 95 of 100 pay at most, and how many features a {words.row} buys on average."
    )
    return section("table", "What each budget buys", table(caption, columns, lines, name="budgets"))


def _meant(words: Words) -> str:
    if words.is_cap:
        return f"A budget is what no {words.row} ever pays more than."
    return f"A mean budget is what {words.rows} may pay on average."


def _line(one: Offer, same: bool, words: Words) -> tuple[object, ...]:
    return (
        price_text(one.budget),
        words.value(one.value),
        words.interval(one.low, one.high),
        price_text(one.cost),
        price_text(one.cost_95),
        f"{one.candidate.features:.1f}",
        "same model" if same else (model_name(one.candidate), settings(one.candidate.params)),
    )

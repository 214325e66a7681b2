"""The table of a report: what each budget buys."""

from __future__ import annotations

from miserly.report.page.content import ReportContent
from miserly.report.page.html import Column, section, table
from miserly.report.page.words import Words, model_name, price_text, settings
from miserly.selection.offers import Offer

__all__ = ["budgets_section"]


def budgets_section(content: ReportContent) -> str:
    """One line for each step of the slider."""
    words = content.words
    columns = [
        Column(f"{words.budget}{words.in_unit}", "number"),
        Column(words.metric, "number"),
        Column("95 % interval", "number"),
        Column(f"mean price{words.in_unit}", "number"),
        Column("no row pays more than".replace("row", words.row), "number"),
        Column("features", "number"),
        Column("model", "wide"),  # the last, so that a phone shows figures
    ]
    lines = [_line(one, words) for one in content.offers]
    caption = (
        f"{_meant(words)} {words.title} and mean price are estimates from held-out {words.rows}. The highest "
        f"price and the mean number of features are those of the delivered plan on the given {words.rows}."
    )
    return section("table", "What each budget buys", table(caption, columns, lines, name="budgets"))


def _meant(words: Words) -> str:
    if words.is_cap:
        return f"A budget is a cap: no {words.row} ever pays more."
    return f"A mean budget is what {words.rows} may pay on average."


def _line(one: Offer, words: Words) -> tuple[object, ...]:
    return (
        price_text(one.budget),
        words.value(one.value),
        words.interval(one.low, one.high),
        price_text(one.cost),
        price_text(one.max_cost),
        f"{one.features:.1f}",
        (model_name(one.candidate), settings(one.candidate.params))
        if one.same_as is None
        else f"no better model found: same as {price_text(one.same_as)}",
    )

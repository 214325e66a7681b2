"""The slider of a report: the texts and charts of every budget."""

from __future__ import annotations

from typing import Any

import numpy as np

from miserly.plan.show.phrases import listing
from miserly.report.page.charts import Axis, bill_chart, bills, frontier_chart
from miserly.report.page.content import ReportContent, Words, model_name, settings
from miserly.report.page.html import figure, text, tied, unbroken
from miserly.report.page.purchase_charts import (
    MOST_FEATURES,
    feature_chart,
    feature_name,
    features_shown,
    growth_chart,
    growth_places,
)
from miserly.report.style import percent
from miserly.selection.offers import Offer

__all__ = ["explore_data", "explore_section"]

_MOST_NAMES = 6
# The large and the small text of each card, by the ids of their elements.
_CARDS = (
    ("model", "params"),
    ("value", "value-note"),
    ("cost", "cost-note"),
    ("most", "most-note"),
    ("upper", "upper-note"),
    ("bought", "bought-note"),
)


def explore_section(content: ReportContent) -> str:
    """The slider, the figures of its budget, and the charts that follow it."""
    figures = _figures(content)
    return f"""<section id="explore" aria-labelledby="explore-title">
<h2 id="explore-title">What would another budget buy?</h2>
{_slider(content)}
{_cards(content)}
{figures["frontier"]}<div class="pair">
{figures["bills"]}{figures["features"]}</div>
{figures["growth"]}</section>
"""


def _slider(content: ReportContent) -> str:
    shown = step_words(content, content.chosen)
    first, last = (content.words.price(one.budget) for one in (content.offers[0], content.offers[-1]))
    steps = f'min="0" max="{len(content.offers) - 1}" value="{content.place}"'
    return f"""<div class="slider"><label for="budget">{text(content.words.budget.capitalize())}:
<output id="now-budget" for="budget">{text(shown["budget"])}</output>
<span id="now-short">{text(shown["short"])}</span></label>
<input type="range" id="budget" {steps} autocomplete="off">
<div class="ends" aria-hidden="true"><span>{text(first)}</span><span>{text(last)}</span></div></div>"""


def _cards(content: ReportContent) -> str:
    shown = step_words(content, content.chosen)
    inside = "".join(
        f'<div class="card {large}"><b id="now-{large}">{text(shown[large])}</b>'
        f'<span id="now-{small}">{unbroken(shown[small])}</span></div>'
        for large, small in _CARDS
    )
    return (
        f'<div class="cards" aria-live="polite">{inside}</div>\n'
        f'<p class="note small soft" id="now-note">{text(shown["note"])}</p>'
    )


# -- texts ---------------------------------------------------------------------------------------------------


def step_words(content: ReportContent, one: Offer) -> dict[str, str]:
    """The texts of one budget, by the id of their element."""
    words, model = content.words, model_name(one.candidate)
    reached = "reached" if one.is_second else "to expect"
    return {
        "budget": f"{words.price(one.budget)} per {words.row}",
        "short": f"{words.metric} {words.reached(one.value, one.cost)}",
        "model": model[:1].upper() + model[1:],
        "params": settings(one.candidate.params) or "always the same answer",
        "value": words.value(one.value),
        "value-note": (
            f"{words.metric} {reached} (estimate), 95 % interval {words.interval(one.low, one.high)}"
        ),
        "cost": words.price(one.cost),
        "cost-note": _cost_note(one, words),
        "most": words.price(one.cost_95),
        "most-note": f"or less for 95 % of the given {words.rows}",
        "upper": words.price(one.max_cost),
        "upper-note": f"at most, for any {words.row}",
        "bought": f"{one.features:.1f}",
        "bought-note": f"features bought on average: {_bought(content, one)}",
        "note": _estimate_note(content, one),
    }


def _bought(content: ReportContent, one: Offer) -> str:
    some = [int(f) for f in np.argsort(-one.share, kind="stable") if one.share[f] >= 0.005]
    names = [feature_name(content.found.costs, f, 24) for f in some[:_MOST_NAMES]]
    return listing(names, len(some) - len(names))


def _cost_note(one: Offer, words: Words) -> str:
    """A note that the mean cost is an estimate, with the cost of the delivered plan if it differs."""
    note = f"on average per {words.row}, an estimate from held-out {words.rows}"
    if one.pays_otherwise:
        return f"{note}; the delivered plan costs {words.price(one.pays)} on the given {words.rows}"
    return note


def _estimate_note(content: ReportContent, one: Offer) -> str:
    """Why the estimate differs from the value of the ringed mark."""
    words, own = content.words, one.candidate.mean_value
    if one.same_as is not None:
        return f"No better model found: same as {words.price(one.same_as)}."
    shows = f"The ringed model reaches {words.value(own)} on held-out {words.rows}"
    if one.is_second:
        why = (
            "because its guarantee could be shown"
            if any(one.confidence < 1.0 for one in content.guarantees)
            else "because a better one costs more when it is fitted to all rows"
        )
        return f"{shows}. It was taken {why}. The best value of many is too optimistic: expect slightly less."
    if words.value(own) == words.value(one.value):
        return f"{shows}, which is also the estimate."
    if own > one.value if content.found.greater_is_better else own < one.value:
        return (
            f"{shows}. The best value of many models is too optimistic. The corrected estimate is "
            f"{words.value(one.value)}."
        )
    return (
        f"{shows}. The estimate, chosen on some of them and evaluated on others, is {words.value(one.value)}."
    )


# -- charts --------------------------------------------------------------------------------------------------


def _figures(content: ReportContent) -> dict[str, str]:
    """The elements of the charts, with their captions."""
    words = content.words
    better = "Higher" if content.found.greater_is_better else "Lower"
    captions = {
        "frontier": (
            f"{words.title} against price",
            "Each mark is a model. Large marks are the best for their price, with 95 % intervals. The ring "
            f"is the model for the budget. {better} is better.",
            f"{words.title} of all models against their mean price. The table of budgets has the figures.",
        ),
        "bills": (
            f"What {words.rows} pay",
            f"The distribution of the price over the given {words.rows}, with the plan of this model.",
            f"Histogram of what a {words.row} pays with the model for the budget.",
        ),
        "features": (
            f"What {words.rows} buy",
            _feature_caption(content),
            f"Share of {words.rows} that buy each feature with the model for the budget.",
        ),
        "growth": (
            "What larger budgets add",
            _growth_caption(content),
            "What is bought with the model for each budget.",
        ),
    }
    return {name: figure(name, *texts) for name, texts in captions.items()}


def _feature_caption(content: ReportContent) -> str:
    words = content.words
    ever = int((np.array([one.share for one in content.offers]).max(axis=0) > 0).sum())
    shown = len(features_shown(content.found.costs, content.offers))
    some = f" ({shown} of {ever}, the most bought)" if ever > shown else ""
    unit = f" in {words.unit}" if words.unit else ""
    return (
        f"The share of the given {words.rows} that buy each feature with the plan of this model{some}. "
        f"Features that small budgets buy come first. Beside each name is its price{unit}; the first of a "
        "group includes the set-up. Colours go from green (cheap) to violet (expensive)."
    )


def _growth_caption(content: ReportContent) -> str:
    words = content.words
    if len(content.found.costs) <= MOST_FEATURES:
        return f"The share of {words.rows} that buy each feature, for every budget."
    return (
        f"For every budget, the share of each price range's features that a {words.row} buys on average. "
        "Colours go from green (cheap) to violet (expensive)."
    )


def explore_data(content: ReportContent) -> dict[str, Any]:
    """The data of the page's script: the charts, and what changes with the slider."""
    found, words = content.found, content.words
    axis = Axis([one.mean_cost for one in found.candidates])
    shown = features_shown(content.found.costs, content.offers)
    features = feature_chart(found.costs, shown, words)
    charts = {
        "frontier": frontier_chart(found, words, axis, content.chosen),
        "bills": bill_chart(words, features["layout"]["height"]),
        "features": features,
        "growth": growth_chart(found.costs, content.offers, shown, words),
    }
    places = growth_places(found.costs, content.offers)
    steps = [_step(content, one, axis, shown) for one in content.offers]
    return {
        "charts": charts,
        "steps": [{**step, "place": at} for step, at in zip(steps, places, strict=True)],
    }


def _step(content: ReportContent, one: Offer, axis: Axis, shown: list[int]) -> dict[str, Any]:
    words = content.words
    return {
        "label": f"{words.budget} {words.price(one.budget)}",
        "x": axis.place(one.cost),
        "y": words.height(one.candidate.mean_value),
        "line": axis.place(one.budget),
        "words": {place: tied(shown) for place, shown in step_words(content, one).items()},
        "bills": bills(one, words),
        "share": [round(100 * float(one.share[f]), 2) for f in shown],
        "share_words": [percent(float(one.share[f])) for f in shown],
    }

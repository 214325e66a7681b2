"""The slider of a page: what it says and draws at every budget."""

from __future__ import annotations

from typing import Any

import numpy as np

from miserly.plan.show.phrases import listing
from miserly.report.page.axis import Axis
from miserly.report.page.bill_chart import bill_chart, bills
from miserly.report.page.frontier_chart import frontier_chart
from miserly.report.page.html import figure, text, tied, unbroken
from miserly.report.page.purchase_charts import (
    MOST_FEATURES,
    feature_chart,
    feature_name,
    features_shown,
    growth_chart,
    growth_places,
)
from miserly.report.page.story import Story
from miserly.report.page.words import Words, model_name, settings
from miserly.report.style import percent
from miserly.selection.offers import Offer

__all__ = ["explore_data", "explore_section"]

_MOST_NAMES = 6
# What is large in a card and what is small, by the names of their places.
_CARDS = (
    ("model", "params"),
    ("value", "value-note"),
    ("cost", "cost-note"),
    ("most", "most-note"),
    ("upper", "upper-note"),
    ("bought", "bought-note"),
)


def explore_section(story: Story) -> str:
    """The slider, the figures of its budget, and the charts that follow it."""
    figures = _figures(story)
    return f"""<section id="explore" aria-labelledby="explore-title">
<h2 id="explore-title">What would another budget buy?</h2>
{_dial(story)}
{_cards(story)}
{figures["frontier"]}<div class="pair">
{figures["bills"]}{figures["features"]}</div>
{figures["growth"]}</section>
"""


def _dial(story: Story) -> str:
    shown = step_words(story, story.chosen)
    first, last = (story.words.price(one.budget) for one in (story.offers[0], story.offers[-1]))
    steps = f'min="0" max="{len(story.offers) - 1}" value="{story.place}"'
    return f"""<div class="dial"><label for="budget">{text(story.words.budget.capitalize())}:
<output id="now-budget" for="budget">{text(shown["budget"])}</output>
<span id="now-short">{text(shown["short"])}</span></label>
<input type="range" id="budget" {steps} autocomplete="off">
<div class="ends" aria-hidden="true"><span>{text(first)}</span><span>{text(last)}</span></div></div>"""


def _cards(story: Story) -> str:
    shown = step_words(story, story.chosen)
    inside = "".join(
        f'<div class="card {large}"><b id="now-{large}">{text(shown[large])}</b>'
        f'<span id="now-{small}">{unbroken(shown[small])}</span></div>'
        for large, small in _CARDS
    )
    return (
        f'<div class="cards" aria-live="polite">{inside}</div>\n'
        f'<p class="note small soft" id="now-note">{text(shown["note"])}</p>'
    )


# -- what is said ------------------------------------------------------------------------------------------


def step_words(story: Story, one: Offer) -> dict[str, str]:
    """What the page says at one budget, by the place where it says it."""
    words, model = story.words, model_name(one.candidate)
    reached = "reached" if one.is_second else "to expect"
    return {
        "budget": f"{words.price(one.budget)} per {words.row}",
        "short": f"{words.metric} {words.value(one.value)} for {words.price(one.cost)}",
        "model": model[:1].upper() + model[1:],
        "params": settings(one.candidate.params) or "always the same answer",
        "value": words.value(one.value),
        "value-note": f"{words.metric} {reached} (estimate), 95 % {words.interval(one.low, one.high)}",
        "cost": words.price(one.cost),
        "cost-note": _cost_note(one, words),
        "most": words.price(one.cost_95),
        "most-note": f"or less for 95 of 100 of the given {words.rows}",
        "upper": words.price(one.max_cost),
        "upper-note": f"at most, for any {words.row}",
        "bought": f"{one.features:.1f}",
        "bought-note": f"features bought on average: {_bought(story, one)}",
        "note": _luck(story, one),
    }


def _bought(story: Story, one: Offer) -> str:
    some = [int(f) for f in np.argsort(-one.share, kind="stable") if one.share[f] >= 0.005]
    told = [feature_name(story.found.costs, f, 24) for f in some[:_MOST_NAMES]]
    return listing(told, len(some) - len(told))


def _cost_note(one: Offer, words: Words) -> str:
    """That the mean cost is an estimate, and what the plan itself costs where that is something else."""
    note = f"is what a {words.row} pays on average, an estimate from held-out {words.rows}"
    if one.pays_otherwise:
        return f"{note}; the plan costs {words.price(one.pays)} on the given {words.rows}"
    return note


def _luck(story: Story, one: Offer) -> str:
    """Why the value to expect is not that of the ringed mark."""
    words, own = story.words, one.candidate.mean_value
    if one.same_as is not None:
        return f"No better model found: same as {words.price(one.same_as)}."
    shows = f"The ringed model shows {words.value(own)} on held-out {words.rows}"
    if one.is_second:
        why = (
            "for its promise"
            if any(one.confidence < 1.0 for one in story.guarantees)
            else "because a better one costs more once it has all rows"
        )
        return f"{shows}. It was taken {why}; the best of many was partly lucky, so expect a little less."
    if words.value(own) == words.value(one.value):
        return f"{shows}, which is also what to expect."
    if own > one.value if story.found.greater_is_better else own < one.value:
        return (
            f"{shows}. Expect {words.value(one.value)}: the best of many models was partly lucky, "
            "and this figure leaves the luck out."
        )
    return f"{shows}. Choosing by part of them and judging by the others gives {words.value(one.value)}."


# -- what is drawn -----------------------------------------------------------------------------------------


def _figures(story: Story) -> dict[str, str]:
    """The places of the charts, with their captions."""
    words = story.words
    better = "Higher" if story.found.greater_is_better else "Lower"
    told = {
        "frontier": (
            f"{words.title} against price",
            "Each mark is a model. Strong ones are the best for their price, with 95 % intervals; the ring "
            f"is the model for the budget. {better} is better.",
            f"{words.title} of all models against their mean price; the table of budgets has it in figures.",
        ),
        "bills": (
            "Who pays what",
            f"How many of the given {words.rows} pay how much, with the plan of this model.",
            f"Histogram of what a {words.row} pays with the model for the budget.",
        ),
        "features": (
            "What they buy",
            _feature_caption(story),
            f"Share of {words.rows} that buy each feature with the model for the budget.",
        ),
        "growth": (
            "What larger budgets add",
            _growth_caption(story),
            "What is bought with the model for each budget.",
        ),
    }
    return {name: figure(name, *words_of) for name, words_of in told.items()}


def _feature_caption(story: Story) -> str:
    words = story.words
    ever = int((np.array([one.share for one in story.offers]).max(axis=0) > 0).sum())
    shown = len(features_shown(story.found.costs, story.offers))
    some = f" ({shown} of {ever}, the most bought)" if ever > shown else ""
    unit = f" in {words.unit}" if words.unit else ""
    return (
        f"The share of the given {words.rows} that buy each feature with the plan of this model{some}; what "
        f"small budgets buy comes first. Beside each name its price{unit}, the first of a group with "
        "its set-up; colours go from green (cheap) to violet (expensive)."
    )


def _growth_caption(story: Story) -> str:
    words = story.words
    if len(story.found.costs) <= MOST_FEATURES:
        return f"The share of {words.rows} that buy each feature, for every budget."
    return (
        f"Of the features of each price, the share that a {words.row} buys on average, for every budget. "
        "Colours go from green (cheap) to violet (expensive)."
    )


def explore_data(story: Story) -> dict[str, Any]:
    """All that the page's script needs: the charts, and what changes with every step of the slider."""
    found, words = story.found, story.words
    axis = Axis([one.mean_cost for one in found.candidates])
    shown = features_shown(story.found.costs, story.offers)
    features = feature_chart(found.costs, shown, words)
    charts = {
        "frontier": frontier_chart(found, words, axis, story.chosen),
        "bills": bill_chart(words, features["layout"]["height"]),
        "features": features,
        "growth": growth_chart(found.costs, story.offers, shown, words),
    }
    places = growth_places(found.costs, story.offers)
    steps = [_step(story, one, axis, shown) for one in story.offers]
    return {
        "charts": charts,
        "steps": [{**step, "place": at} for step, at in zip(steps, places, strict=True)],
    }


def _step(story: Story, one: Offer, axis: Axis, shown: list[int]) -> dict[str, Any]:
    words = story.words
    return {
        "label": f"{words.budget} {words.price(one.budget)}",
        "x": axis.place(one.cost),
        "y": words.height(one.candidate.mean_value),
        "line": axis.place(one.budget),
        "words": {place: tied(said) for place, said in step_words(story, one).items()},
        "bills": bills(one, words),
        "share": [round(100 * float(one.share[f]), 2) for f in shown],
        "share_words": [percent(float(one.share[f])) for f in shown],
    }

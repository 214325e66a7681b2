"""The chart of all models: what they reach against what they cost."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from miserly.plan.show.phrases import plain
from miserly.report.page.axis import Axis
from miserly.report.page.charting import LEGEND, Chart, colour_of, escaped, mark_of
from miserly.report.page.words import Words, settings
from miserly.selection.evaluation import Candidate
from miserly.selection.offers import Offer
from miserly.selection.tables import record, short_name

if TYPE_CHECKING:
    from miserly.selection import Frontier

__all__ = ["frontier_chart"]


def frontier_chart(found: Frontier, words: Words, axis: Axis, chosen: Offer) -> Chart:
    """Every model faint, those that no cheaper one matches strong with their intervals, the chosen ringed."""
    best = found.pareto_candidates
    names = list(dict.fromkeys(one.learner for one in [*best[::-1], *found.candidates]))
    traces = [_staircase(best, words, axis)]
    for place, name in enumerate(names):
        strong = [one for one in best if one.learner == name]
        faint = [one for one in found.candidates if one.learner == name and one not in strong]
        look = {"color": colour_of(place), "symbol": mark_of(place)}
        if faint:
            pale = {**look, "size": 6, "opacity": 0.45}
            traces.append({**_dots(faint, words, axis), "marker": pale, "showlegend": not strong})
        if strong:
            bold = {**look, "size": 10, "line": {"width": 1, "color": "@paper"}}
            bars = _intervals(strong, words, look["color"])
            traces.append({**_dots(strong, words, axis), "marker": bold, "error_y": bars})
    traces.append(_ring(chosen, words, axis))
    layout = {
        "xaxis": axis.layout(f"what a {words.row} pays on average{escaped(words.in_unit)}"),
        "yaxis": {
            "title": {"text": escaped(words.title)},
            **({"ticksuffix": " %"} if words.is_share else {}),
        },
        "legend": LEGEND,
        "hovermode": "closest",
        "height": 500,
    }
    return {"data": traces, "layout": layout}


def _staircase(best: Sequence[Candidate], words: Words, axis: Axis) -> Chart:
    """What each budget reaches at best."""
    values = [words.height(one.mean_value) for one in best]
    return {
        "type": "scatter",
        "mode": "lines",
        "x": [*(axis.place(one.mean_cost) for one in best), axis.place(axis.high)],
        "y": [*values, values[-1]],
        "line": {"shape": "hv", "width": 2, "color": "@line"},
        "hoverinfo": "skip",
        "showlegend": False,
    }


def _dots(some: Sequence[Candidate], words: Words, axis: Axis) -> Chart:
    """Models of one learner."""
    return {
        "type": "scatter",
        "mode": "markers",
        "name": escaped(plain(short_name(some[0].learner))),
        "legendgroup": escaped(some[0].learner),
        "x": [axis.place(one.mean_cost) for one in some],
        "y": [words.height(one.mean_value) for one in some],
        "text": [_hover(one, words) for one in some],
        "hovertemplate": "%{text}<extra></extra>",
    }


def _hover(one: Candidate, words: Words) -> str:
    line = record(one)
    between = words.interval(line["value_low"], line["value_high"])
    lines = [
        f"<b>{escaped(plain(one.learner, 60))}</b>",
        escaped(settings(one.params)),
        f"{escaped(words.price(line['cost']))} on average",
        f"{escaped(words.metric)} {words.value(line['value'])} ({between})",
    ]
    return "<br>".join(part for part in lines if part)


def _intervals(some: Sequence[Candidate], words: Words, colour: str) -> Chart:
    """Bars of 95 %."""
    reach = [words.height(np.nan_to_num(1.96 * one.error)) for one in some]
    return {"type": "data", "array": reach, "thickness": 1.2, "width": 3, "color": colour}


def _ring(chosen: Offer, words: Words, axis: Axis) -> Chart:
    """The mark around the model of a budget, which the page moves."""
    return {
        "type": "scatter",
        "mode": "markers",
        "x": [axis.place(chosen.cost)],
        "y": [words.height(chosen.candidate.mean_value)],
        "marker": {"symbol": "circle-open", "size": 24, "color": "@ink", "line": {"width": 3}},
        "hoverinfo": "skip",
        "showlegend": False,
    }

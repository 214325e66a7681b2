"""Charts of a report: all models on an axis of costs, what rows pay, and what charts share.

Charts are plain dicts in plotly's format. A colour such as "@ink" is a variable of the page's style sheet,
which differs between light and dark; the page's script looks it up.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from miserly.plan.show.phrases import plain
from miserly.report.page.content import Words, price_text, settings
from miserly.selection.evaluation import Candidate
from miserly.selection.offers import WIDE, Offer
from miserly.selection.tables import record, short_name

if TYPE_CHECKING:
    from miserly.selection import Frontier

__all__ = ["LEGEND", "WIDE", "Axis", "Chart", "Floats", "bill_chart", "bills", "colour_of", "escaped",
           "frontier_chart", "mark_of", "short", "shortened"]  # fmt: skip

Chart: TypeAlias = dict[str, Any]
Floats: TypeAlias = NDArray[np.float64]

LEGEND: Chart = {
    "orientation": "h",
    "x": 0,
    "y": -0.2,
    "xanchor": "left",
    "yanchor": "top",
    "traceorder": "normal",
    "itemsizing": "constant",
}
_N_COLOURS = 8
_MARKS = ("circle", "square", "diamond", "triangle-up", "triangle-down", "x", "star", "pentagon")


def colour_of(place: int) -> str:
    """The colour of the learner with this number."""
    return f"@c{place % _N_COLOURS}"


def mark_of(place: int) -> str:
    """The mark of the learner with this number; where colours repeat, the marks differ."""
    return _MARKS[(place + place // _N_COLOURS) % len(_MARKS)]


def escaped(words: str) -> str:
    """Text for plotly, which would interpret tags.

    >>> escaped("a<b>c")
    'a&lt;b&gt;c'
    """
    return escape(words, quote=False)


def short(value: Any) -> float:
    """A number in five digits."""
    return float(f"{float(value):.5g}")


def shortened(values: Iterable[Any]) -> list[float]:
    return [short(value) for value in values]


# -- all models, against what they cost ----------------------------------------------------------------------


class Axis:
    """The positions of costs: on a logarithmic scale if they span a factor of 20, with a place for zero.

    >>> near, far = Axis([0, 10, 30]), Axis([0, 1, 300])
    >>> near.is_wide, near.place(0), far.is_wide, far.place(300), 0.5 < far.place(0) < 1
    (False, 0.0, True, 300.0, True)
    """

    def __init__(self, costs: Sequence[float]) -> None:
        paid = [cost for cost in costs if cost > 0] or [1.0]
        self.low, self.high = min(paid), max(paid)
        self.is_wide = self.high / self.low > WIDE
        self.free = self.low / (self.high / self.low) ** 0.08  # a little to the left of the cheapest
        self.has_free = min(costs, default=1.0) == 0.0

    def place(self, cost: float) -> float:
        """The position of a cost on the axis."""
        return float(f"{max(cost, self.free) if self.is_wide else cost:.6g}")

    def layout(self, title: str) -> dict[str, Any]:
        """The axis in plotly's format."""
        if not self.is_wide:
            room = 0.05 * self.high
            return {"title": {"text": title}, "range": [-room, self.high + room]}
        ticks = _round_ticks(self.low, self.high)
        named = [price_text(tick) for tick in ticks]
        left = self.free if self.has_free else self.low
        room = 0.06 * np.log10(self.high / left)
        return {
            "type": "log",
            "title": {"text": title},
            "tickvals": [self.free, *ticks] if self.has_free else ticks,
            "ticktext": ["0", *named] if self.has_free else named,
            "range": [np.log10(left) - room, np.log10(self.high) + room],
        }


def _round_ticks(low: float, high: float) -> list[float]:
    """Three ticks a decade, or fewer if there are many decades."""
    decades = np.log10(high / low)
    digits = (1, 2, 5) if decades < 2.2 else (1, 3) if decades < 3.5 else (1,)
    powers = range(int(np.floor(np.log10(low))), int(np.ceil(np.log10(high))) + 1)
    every = [float(f"{digit * 10.0**power:.12g}") for power in powers for digit in digits]
    return [tick for tick in every if low <= tick <= high]


def frontier_chart(found: Frontier, words: Words, axis: Axis, chosen: Offer) -> Chart:
    """All models in light marks, the Pareto frontier in strong marks with intervals, the chosen ringed."""
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
            "title": {"text": escaped(words.title_in_unit)},
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
    below, above = ([words.height(one.reach[side]) for one in some] for side in (0, 1))
    bars: Chart = {"type": "data", "array": above, "thickness": 1.2, "width": 3, "color": colour}
    return bars if below == above else {**bars, "symmetric": False, "arrayminus": below}


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


# -- what rows pay -------------------------------------------------------------------------------------------

_BINS = 24
_FEW_PRICES = 12  # up to this many different prices, each has a bar


class _Bars(NamedTuple):
    middles: Floats
    counts: Floats
    width: float
    labels: list[str]


def bill_chart(words: Words, height: int) -> Chart:
    """The frame of the histogram; `bills` fills it."""
    bars = {
        "type": "bar",
        "x": [],
        "y": [],
        "marker": {"color": "@c0"},
        "textposition": "none",
        "hovertemplate": "%{text}<extra></extra>",
    }
    layout = {
        "xaxis": {"title": {"text": f"price of one {words.row}{escaped(words.in_unit)}"}},
        "yaxis": {"title": {"text": f"share of {words.rows}"}, "ticksuffix": " %", "rangemode": "tozero"},
        "height": height,
        "margin": {"t": 56},
        "showlegend": False,
    }
    return {"data": [bars], "layout": layout}


def bills(offer: Offer, words: Words) -> Chart:
    """The bars for one budget, their labels, the mean and the 95th percentile."""
    cost = offer.run.cost
    bars = _few(cost, words) or _many(cost, words)
    share = 100 * bars.counts / len(cost)
    return {
        "x": shortened(bars.middles),
        "y": shortened(share),
        "width": short(bars.width),
        "text": [
            f"{part:.1f} % of {words.rows} pay<br>{escaped(label)}"
            for part, label in zip(share, bars.labels, strict=True)
        ],
        "mean": short(offer.pays),
        "most": short(offer.cost_95),
        "mean_text": f"mean {escaped(words.price(offer.pays))}",
        "most_text": f"95 % pay {escaped(words.price(offer.cost_95))} or less",
    }


def _few(cost: Floats, words: Words) -> _Bars | None:
    """A bar for each price; None if there are many different ones."""
    prices, counts = np.unique(np.round(cost, 9), return_counts=True)
    if len(prices) > _FEW_PRICES:
        return None
    top = float(prices[-1])
    gap = float(np.diff(prices).min()) if len(prices) > 1 else top or 1.0
    width = float(np.clip(0.6 * gap, 0.012 * top, 0.06 * top or 0.1))
    return _Bars(prices, counts.astype(np.float64), width, [words.price(price) for price in prices.tolist()])


def _many(cost: Floats, words: Words) -> _Bars:
    """Bars of equal width from zero, or from the lowest price if that is high, to the highest."""
    low, high = float(cost.min()), float(cost.max())
    edges = np.linspace(0.0 if low < 0.5 * high else low, high, _BINS + 1)
    counts, _ = np.histogram(cost, edges)
    labels = [f"{price_text(one)} to {words.price(other)}" for one, other in pairwise(edges.tolist())]
    return _Bars(
        (edges[:-1] + edges[1:]) / 2, counts.astype(np.float64), 0.94 * (edges[1] - edges[0]), labels
    )

"""The histogram of what rows pay, for each budget."""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

import numpy as np

from miserly.report.page.charting import Chart, Floats, escaped, short, shortened
from miserly.report.page.words import Words, price_text
from miserly.selection.offers import Offer

__all__ = ["bill_chart", "bills"]

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

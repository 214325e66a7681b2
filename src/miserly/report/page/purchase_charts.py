"""The charts of what rows buy: with the model for one budget, and with those for all."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from miserly.plan.extraction import price_tiers
from miserly.plan.show.phrases import plain, plural
from miserly.report.page.charts import LEGEND, Axis, Chart, Floats, escaped, mark_of, shortened
from miserly.report.page.content import Words, price_text
from miserly.selection.offers import Offer

if TYPE_CHECKING:
    from miserly.costs import Costs

__all__ = ["MOST_FEATURES", "feature_chart", "feature_name", "features_shown", "growth_chart",
           "growth_places", "listed_prices"]  # fmt: skip

MOST_FEATURES = 20  # rows of a chart; of more features, the most bought
_NAME = 22  # letters of a feature beside its bar
_NARROW_NAME = 13  # on a phone
_SHADES = 7  # of price tiers


def features_shown(costs: Costs, made: Sequence[Offer]) -> list[int]:
    """The most bought features (the most expensive of equals), in the order of the budgets that buy them."""
    share = np.array([one.share for one in made])
    most = share.max(axis=0)
    ranked = np.lexsort((-_prices(costs), -np.round(most, 2)))
    kept = [f for f in ranked[:MOST_FEATURES].tolist() if most[f] > 0]
    first = {f: int(np.argmax(share[:, f] >= min(0.05, most[f]))) for f in kept}
    return sorted(kept, key=lambda f: (first[f], -share[first[f], f], f))


# -- one budget ----------------------------------------------------------------------------------------------


def feature_chart(costs: Costs, shown: Sequence[int], words: Words) -> Chart:
    """The frame of bars, one for each feature, in the colour of its price; the page fills in the shares."""
    tier, names = price_tiers(costs)
    prices = dict(zip(shown, listed_prices(costs, shown), strict=True))
    bars = {
        "type": "bar",
        "orientation": "h",
        "y": list(range(len(shown))),
        "x": [0.0] * len(shown),
        "text": [""] * len(shown),
        "textposition": "outside",
        "cliponaxis": False,
        "marker": {"color": [_shade(int(tier[f]), len(names)) for f in shown]},
        "hovertext": [f"{_name(costs, f, 40)}: {escaped(words.price(prices[f]))}" for f in shown],
        "hovertemplate": "%{hovertext}<br>%{x:.1f} % of " + words.rows + " buy it<extra></extra>",
    }
    layout = {
        "xaxis": {
            "title": {"text": f"share of {words.rows} that buy it"},
            "range": [0, 122],
            "tickvals": [0, 25, 50, 75, 100],
            "ticktext": ["0", "25 %", "50 %", "75 %", "100 %"],
        },
        "yaxis": _feature_axis(costs, shown),
        "bargap": 0.25,
        "height": max(330, 80 + 22 * len(shown)),
        "margin": {"t": 10},
        "showlegend": False,
    }
    return {"data": [bars], "layout": layout, "narrow_names": _priced_names(costs, shown, _NARROW_NAME)}


def _feature_axis(costs: Costs, shown: Sequence[int]) -> Chart:
    """Features from top to bottom, each with its price."""
    return {
        "tickvals": list(range(len(shown))),
        "ticktext": _priced_names(costs, shown, _NAME),
        "range": [len(shown) - 0.4, -0.6],
        "showgrid": False,
        "ticklabelstandoff": 4,
    }


def _priced_names(costs: Costs, shown: Sequence[int], longest: int) -> list[str]:
    prices = zip(shown, listed_prices(costs, shown), strict=True)
    return [f"{_name(costs, f, longest)}  {price_text(price)}" for f, price in prices]


# -- all budgets ---------------------------------------------------------------------------------------------


def growth_chart(costs: Costs, made: Sequence[Offer], shown: Sequence[int], words: Words) -> Chart:
    """What larger budgets add: by feature where they are few, else by price tier."""
    few = len(costs) <= MOST_FEATURES
    return _by_feature(costs, made, shown, words) if few else _by_tier(costs, made, words)


def growth_places(costs: Costs, made: Sequence[Offer]) -> list[float]:
    """Where the budgets lie on the axis of `growth_chart`."""
    if len(costs) <= MOST_FEATURES:
        return [float(i) for i in range(len(made))]
    axis = Axis([one.budget for one in made])
    return [axis.place(one.budget) for one in made]


def _by_feature(costs: Costs, made: Sequence[Offer], shown: Sequence[int], words: Words) -> Chart:
    """A square for each feature and budget. A stronger colour means that more rows buy the feature."""
    places = growth_places(costs, made)
    squares = {
        "type": "heatmap",
        "z": [shortened(100 * one.share[f] for one in made) for f in shown],
        "x": places,
        "y": list(range(len(shown))),
        "zmin": 0,
        "zmax": 100,
        "xgap": 2,
        "ygap": 2,
        "colorscale": [[0, "@faint"], [1, "@c0"]],
        "colorbar": {
            "thickness": 12,
            "outlinewidth": 0,
            "tickvals": [0, 50, 100],
            "ticktext": ["0", "50 %", "100 %"],
        },
        "text": [[_square_words(costs, f, one, words) for one in made] for f in shown],
        "hovertemplate": "%{text}<extra></extra>",
    }
    layout = {
        "xaxis": {
            "title": {"text": f"{words.budget}{escaped(words.in_unit)}"},
            "tickvals": places,
            "ticktext": [price_text(one.budget) for one in made],
            "range": [-0.6, len(made) - 0.4],
            "showgrid": False,
        },
        "yaxis": _feature_axis(costs, shown),
        "height": max(260, 100 + 24 * len(shown)),
        "margin": {"t": 14},
    }
    return {"data": [squares], "layout": layout, "narrow_names": _priced_names(costs, shown, _NARROW_NAME)}


def _square_words(costs: Costs, f: int, one: Offer, words: Words) -> str:
    where = f"{_name(costs, f, 40)}, {words.budget} {escaped(words.price(one.budget))}"
    return f"{where}:<br>{100 * one.share[f]:.1f} % of {words.rows} buy it"


def _by_tier(costs: Costs, made: Sequence[Offer], words: Words) -> Chart:
    """How much of each price tier a row buys, against the budget."""
    tier, names = price_tiers(costs)
    places = growth_places(costs, made)
    lines = [_tier_line(k, tier, costs, made, places, words) for k in range(len(names))]
    layout = {
        "xaxis": Axis([one.budget for one in made]).layout(f"{words.budget}{escaped(words.in_unit)}"),
        "yaxis": {
            "title": {"text": "share of these features bought"},
            "ticksuffix": " %",
            "range": [-3, 105],
        },
        "legend": LEGEND,
        "hovermode": "closest",
        "height": 440,
        "margin": {"t": 14},
    }
    return {"data": lines, "layout": layout}


def _tier_line(
    k: int,
    tier: NDArray[np.int64],
    costs: Costs,
    made: Sequence[Offer],
    places: Sequence[float],
    words: Words,
) -> Chart:
    mine, n_tiers = tier == k, int(tier.max()) + 1
    label = f"{escaped(_prices_of(mine, costs, words))} ({plural(int(mine.sum()), 'feature')})"
    return {
        "type": "scatter",
        "mode": "lines+markers",
        "name": label,
        "x": list(places),
        "y": shortened(100 * one.share[mine].mean() for one in made),
        "line": {"color": _shade(k, n_tiers), "width": 2.5, "shape": "hv"},
        "marker": {"size": 7, "symbol": mark_of(k)},
        "text": [f"{label}<br>{words.budget} {escaped(words.price(one.budget))}" for one in made],
        "hovertemplate": "%{text}: %{y:.1f} % bought<extra></extra>",
    }


def _prices_of(mine: NDArray[np.bool_], costs: Costs, words: Words) -> str:
    """The prices of a tier."""
    prices = _prices(costs)[mine]
    low, high = price_text(float(prices.min())), words.price(float(prices.max()))
    return high if prices.min() == prices.max() else f"{low} to {high}"


# -- names and colours of features ---------------------------------------------------------------------------


def _shade(tier: int, n_tiers: int) -> str:
    """The colour of a price tier, from the cheapest to the most expensive."""
    return f"@t{round((_SHADES - 1) * tier / max(n_tiers - 1, 1))}"


def listed_prices(costs: Costs, shown: Sequence[int]) -> list[float]:
    """What each feature of a list adds to those before it: the first of a group pays for its set-up.

    >>> from miserly import Costs
    >>> costs = Costs([1.0, 2.0, 4.0], groups={"blood": {"features": [0, 2], "setup": 10.0}})
    >>> listed_prices(costs, [2, 1, 0])
    [14.0, 2.0, 1.0]
    """
    bought = np.zeros(len(costs), dtype=np.bool_)
    prices = []
    for f in shown:
        prices.append(float(costs.marginals(bought)[f]))
        bought[f] = True
    return prices


def _prices(costs: Costs) -> Floats:
    """What each feature costs if nothing else is bought."""
    return costs.marginals(np.zeros(len(costs), dtype=np.bool_))


def feature_name(costs: Costs, f: int, longest: int) -> str:
    """The name of a feature. A long name is shortened to its beginning and its end.

    >>> from miserly import Costs
    >>> feature_name(Costs({"blood_pressure_systolic_3": 1.0}), 0, 13), feature_name(Costs([1.0]), 0, 13)
    ('blood_…olic_3', 'feature 0')
    """
    name = costs.name(f)
    if not isinstance(name, str):
        return f"feature {name}"
    whole = plain(name, max(len(name) * 10, longest))
    if len(whole) <= longest:
        return whole
    half = (longest - 1) // 2
    return f"{whole[: longest - 1 - half]}…{whole[-half:]}"


def _name(costs: Costs, f: int, longest: int) -> str:
    return escaped(feature_name(costs, f, longest))

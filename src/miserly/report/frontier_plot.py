"""A picture of what each budget buys: the metric against the average bill, and which features it takes.

Above, a line per learner with a band of one standard error. Below, if there is one learner, a dot for every
feature that the model at that point may buy.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from miserly.errors import DataError
from miserly.report.style import (
    COLOURS,
    INK,
    PALE,
    SOFT,
    STYLE,
    dress,
    matplotlib,
    money,
    save,
    subtitle,
)
from miserly.selection.points import Point

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["plot_frontier"]

_MOST_FEATURES = 20  # rows of dots; of more features only the most used


def plot_frontier(
    points: Sequence[Point], target: Any = None, *, chosen: Point | None = None, title: str = ""
) -> Figure:
    """Draw what a sweep found.

    Parameters
    ----------
    points : list of Point
    target : path, list of paths, or matplotlib Axes, optional
        Where to: a file (.png, .svg, .pdf), several, or axes of yours, which get the line without the dots.
    chosen : Point, optional
        The point to mark.
    title : str, optional

    Returns
    -------
    matplotlib Figure
    """
    if not points:
        raise DataError("there are no points to draw")
    pyplot, rc_context = matplotlib()
    with rc_context(STYLE):
        if hasattr(target, "plot"):
            _draw_lines(target, points, chosen)
            _label_axes(target, points)
            figure: Figure = target.figure
            return figure
        figure = _new_figure(pyplot, points, chosen, title)
        save(figure, target)
        pyplot.close(figure)
    return figure


def _new_figure(pyplot: Any, points: Sequence[Point], chosen: Point | None, title: str) -> Figure:
    features = _features(points)
    if not features:
        figure, above = pyplot.subplots(figsize=(8.0, 4.6), layout="constrained")
        below = above
    else:
        height = 0.2 * len(features) + 0.3
        figure, (above, below) = pyplot.subplots(
            2,
            1,
            sharex=True,
            figsize=(8.0, 4.0 + height),
            layout="constrained",
            height_ratios=[3.4, height],
        )
        _draw_dots(below, points, features, chosen)
    _draw_lines(above, points, chosen)
    _label_axes(above, points)
    if below is not above:
        below.set_xlabel(above.get_xlabel())
        above.set_xlabel("")
        above.tick_params(axis="x", length=0, labelbottom=False)
    subtitle(above, title, _caption(points))
    return figure  # type: ignore[no-any-return]


def _caption(points: Sequence[Point]) -> str:
    below = "" if len({point.learner for point in points}) > 1 else "; dots: what the model may then buy"
    return f"line: what a budget reaches on rows held out; band: one standard error{below}"


# -- above: what it reaches --------------------------------------------------------------------------------


def _draw_lines(axes: Axes, points: Sequence[Point], chosen: Point | None) -> None:
    axes.set_xscale("function", functions=(_root, np.square))
    names = list(dict.fromkeys(point.learner for point in points))
    top = max(point.cost for point in points) or 1.0
    for name, colour in zip(names, COLOURS * len(names), strict=False):
        own = sorted((p for p in points if p.learner == name), key=lambda p: (p.cost, p.budget))
        cost, value, error = np.array([(p.cost, p.value, p.error) for p in [*own, own[-1]]]).T
        cost[-1] = 1.06 * top  # a larger budget buys no more than the last one
        low, high = value - error, value + error
        axes.fill_between(cost, low, high, step="post", color=colour, alpha=0.14, linewidth=0)
        axes.plot(cost, value, color=colour, linewidth=1.8, drawstyle="steps-post", zorder=3)
        axes.plot(
            cost[:-1], value[:-1], "o", color=colour, markersize=5.5, label=name, zorder=4, clip_on=False
        )
    if chosen is not None:
        _mark(axes, chosen)
    if len(names) > 1:
        axes.legend(frameon=False, loc="lower right")
    axes.set_xlim(0.0, 1.06 * top)


def _root(cost: Any) -> Any:
    """The scale of the axis: cheap and dear features both have room, and zero has a place."""
    return np.sqrt(np.maximum(cost, 0.0))


def _mark(axes: Axes, chosen: Point) -> None:
    axes.plot(
        [chosen.cost],
        [chosen.value],
        marker="o",
        markersize=13,
        markerfacecolor="none",
        markeredgecolor=INK,
        markeredgewidth=1.4,
        zorder=4,
    )
    axes.annotate(
        f"chosen: {_shown(chosen)}\nfor {money(chosen.cost, chosen.unit)} on average",
        (chosen.cost, chosen.value),
        xytext=(-36, -72),  # below the band, as a rule
        textcoords="offset points",
        ha="center",
        va="top",
        fontsize=9.5,
        color=INK,
        arrowprops={"arrowstyle": "-", "color": SOFT, "shrinkB": 7, "linewidth": 0.8},
    )


def _label_axes(axes: Axes, points: Sequence[Point]) -> None:
    first = points[0]
    unit = f" ({first.unit})" if first.unit else ""
    dress(axes, f"average bill{unit}", f"{first.metric} on held-out rows")
    if _is_share(first.metric):
        axes.yaxis.set_major_formatter(lambda value, _: f"{100 * value:.0f} %")
    axes.set_xticks(_ticks(max(point.cost for point in points)))
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:g}")


def _ticks(top: float) -> list[float]:
    """Round amounts at about even distances on the scale."""
    wanted = [top * (step / 6) ** 2 for step in range(1, 7)]
    return [0.0, *dict.fromkeys(_rounded(amount) for amount in wanted if amount > 0)]


def _rounded(amount: float) -> float:
    """The nearest round amount: 1, 2, 3, 5 or 10 times a power of ten."""
    power = 10.0 ** np.floor(np.log10(amount))
    return float(min((1, 2, 3, 5, 10), key=lambda digit: abs(np.log(digit * power / amount))) * power)


def _is_share(metric: str) -> bool:
    return metric in ("accuracy", "balanced_accuracy")


def _shown(point: Point) -> str:
    return f"{100 * point.value:.0f} %" if _is_share(point.metric) else f"{point.metric} {point.value:.3g}"


# -- below: what it takes ----------------------------------------------------------------------------------


def _features(points: Sequence[Point]) -> list[Any]:
    """The features some model may buy, those of the thriftiest first; none if there are several learners."""
    if len({point.learner for point in points}) > 1:
        return []
    ordered = sorted(points, key=lambda point: (point.cost, point.budget))
    used = Counter(feature for point in ordered for feature in point.features)
    kept = {feature for feature, _ in used.most_common(_MOST_FEATURES)}
    return [feature for feature in used if feature in kept]


def _draw_dots(axes: Axes, points: Sequence[Point], features: Sequence[Any], chosen: Point | None) -> None:
    places = [float(row) for row in range(len(features))]
    for row in places[::2]:
        axes.axhspan(row - 0.5, row + 0.5, color=PALE, linewidth=0, zorder=0)
    for point in points:
        used = [row for row, feature in enumerate(features) if feature in point.features]
        colour = INK if point is chosen else COLOURS[0]
        axes.plot([point.cost] * len(used), used, "o", color=colour, markersize=5.5, zorder=3)
    prices = _prices(points, features)
    beside: dict[str, Any] = {"transform": axes.get_yaxis_transform(), "fontsize": 9, "color": SOFT}
    for row, price in zip(places, prices, strict=True):
        axes.text(1.01, row, price, va="center_baseline", **beside)
    if any(prices):
        axes.text(1.01, -0.75, "price", in_layout=False, **beside)
    axes.set_yticks(places, [str(feature) for feature in features])
    axes.set_ylim(len(features) - 0.5, -0.5)
    for side in ("top", "right", "left"):
        axes.spines[side].set_visible(False)
    axes.tick_params(axis="y", length=0, labelsize=9)


def _prices(points: Sequence[Point], features: Sequence[Any]) -> list[str]:
    """What each feature costs if nothing else is bought, where the points know."""
    plan = next((point.model.plan_ for point in points if point.model is not None), None)
    if plan is None:
        return [""] * len(features)
    return [f"{plan.costs.marginal(feature):.4g}" for feature in features]

"""A picture of a frontier: all models, intervals for the best ones, and a ring for a budget."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from miserly.plan.show.phrases import plain
from miserly.report.page.charts import WIDE
from miserly.report.page.content import Words, price_text
from miserly.report.style import COLOURS, INK, SOFT, STYLE, dress, matplotlib, money
from miserly.selection.evaluation import Candidate
from miserly.selection.tables import short_name

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from miserly.selection import Frontier
    from miserly.selection.requests import Request

__all__ = ["plot_found"]

_MARKS = "osD^vPX*"


def plot_found(found: Frontier, axes: Axes | None = None, request: Request | None = None) -> Axes:
    """Draw the metric of all models against their mean cost.

    Large marks, with 95 % intervals, are the models that no cheaper one matches.

    Parameters
    ----------
    found : Frontier
        The search result to draw.
    axes : matplotlib Axes, optional
        The axes to draw in. By default new ones.
    request : Request, optional
        The budget whose model has a ring. A mean budget is also drawn as a line.

    Returns
    -------
    matplotlib Axes
        The axes that were drawn in.
    """
    chosen = None if request is None else found.chosen(request)
    pyplot, rc_context = matplotlib()
    with rc_context(STYLE):
        if axes is None:
            _, axes = pyplot.subplots(figsize=(8.0, 4.8), layout="constrained")
        _draw_models(axes, found)
        if chosen is not None and request is not None:
            _ring(axes, chosen, request, found)
        _scale(axes, [one.mean_cost for one in found.candidates])
        words = Words(found)
        dress(
            axes,
            f"what a {words.row} pays on average{words.in_unit}",
            f"{words.metric} on held-out {words.rows}{words.in_unit if words.is_money else ''}",
        )
        if words.is_share:
            axes.yaxis.set_major_formatter(lambda value, _: f"{100 * value:.0f} %")
        axes.legend(frameon=False, loc="best", fontsize=9)
    assert axes is not None
    return axes


def _draw_models(axes: Axes, found: Frontier) -> None:
    best = found.pareto_candidates
    top = max(one.mean_cost for one in found.candidates)
    cost, value = [one.mean_cost for one in best], [one.mean_value for one in best]
    axes.step([*cost, top], [*value, value[-1]], where="post", color=SOFT, linewidth=1.2, zorder=2)
    names = list(dict.fromkeys(one.learner for one in [*best[::-1], *found.candidates]))
    for place, name in enumerate(names):
        colour, mark = COLOURS[place % len(COLOURS)], _MARKS[(place + place // len(COLOURS)) % len(_MARKS)]
        strong = [one for one in best if one.learner == name]
        faint = [one for one in found.candidates if one.learner == name and one not in strong]
        label = plain(short_name(name))
        _dots(axes, faint, mark, colour, "" if strong else label)
        if strong:
            _bars(axes, strong, mark, colour, label)


def _dots(axes: Axes, some: Sequence[Candidate], mark: str, colour: str, label: str) -> None:
    if some:
        cost, value = [one.mean_cost for one in some], [one.mean_value for one in some]
        axes.plot(
            cost,
            value,
            mark,
            color=colour,
            markersize=4,
            alpha=0.4,
            label=label or "_",
            zorder=3,
            linewidth=0,
        )


def _bars(axes: Axes, some: Sequence[Candidate], mark: str, colour: str, label: str) -> None:
    axes.errorbar(
        [one.mean_cost for one in some],
        [one.mean_value for one in some],
        yerr=np.array([one.reach for one in some]).T,
        fmt=mark,
        color=colour,
        markersize=7,
        elinewidth=1.0,
        capsize=2,
        label=label,
        zorder=4,
    )


def _ring(axes: Axes, chosen: Candidate, request: Request, found: Frontier) -> None:
    if request.mean_budget < np.inf:
        axes.axvline(request.mean_budget, color=SOFT, linewidth=1.0, linestyle="--", zorder=1)
    look: dict[str, Any] = {"markerfacecolor": "none", "markeredgecolor": INK, "markeredgewidth": 1.6}
    price = money(request.amount, found.costs.unit)
    label = f"for {price} at most" if request.is_capped else f"for {price} on average"
    axes.plot(
        [chosen.mean_cost],
        [chosen.mean_value],
        "o",
        markersize=15,
        label=label,
        zorder=5,
        linewidth=0,
        **look,
    )


def _scale(axes: Axes, costs: Sequence[float]) -> None:
    """A logarithmic scale with a place for zero, if costs span more than a factor of 20."""
    paid = [cost for cost in costs if cost > 0]
    if not paid or max(paid) / min(paid) <= WIDE:
        axes.set_xlim(left=0.0)
        return
    axes.set_xscale("symlog", linthresh=min(paid), linscale=0.4)
    axes.set_xlim(-0.1 * min(paid) if min(costs) == 0 else min(paid) / 1.2, 1.2 * max(paid))
    axes.xaxis.set_major_formatter(lambda value, _: price_text(value))

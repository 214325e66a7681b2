"""Pictures of stages: the rows that reach them, what is extracted by then, how similar leaves are."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from miserly.plan.extraction import Extracted, Similarity, extracted, leaf_similarity
from miserly.plan.flow import plan_of, remaining
from miserly.report.style import COLOURS, SOFT, STYLE, dress, matplotlib, save, stage_name, subtitle

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["plot_extracted", "plot_leaf_similarity", "plot_remaining"]

_MOST_NUMBERS = 16  # leaves up to which each square shows its number
_MOST_MARKS = 30  # stages up to which each has a dot


def plot_remaining(
    models: Any, X: Any, target: Any = None, *, qid: ArrayLike | None = None, title: str = ""
) -> Figure:
    """Draw the share of rows that reach each stage.

    Parameters
    ----------
    models : fitted learner or Plan, or a mapping from names to them
        The models to draw, one line for each.
    X : array or frame of shape (n, n_features)
        The rows to run.
    target : path, list of paths, or matplotlib Axes, optional
        Where to draw: files (.png, .svg, .pdf), or axes. By default only the figure is returned.
    qid : array of shape (n,), optional
        The query of each row. Plans that compare the documents of a query need it.
    title : str, default=""
        The title of the picture.

    Returns
    -------
    matplotlib Figure
        The figure that was drawn.
    """
    named = models if isinstance(models, Mapping) else {"": models}
    shares = {str(name): remaining(model, X, qid=qid) for name, model in named.items()}

    def draw(axes: Axes) -> None:
        longest = max(map(len, shares.values()))
        for (name, share), colour in zip(shares.items(), COLOURS * len(shares), strict=False):
            _line(axes, share, colour, name, longest)
        if len(shares) > 1:
            axes.legend(frameon=False, loc="best", fontsize=9)
        _finish(axes, longest, "stage", "share of rows that reach it")

    return _picture(draw, target, title, "of all rows, those that reach the stage")


def plot_extracted(
    model: Any,
    X: Any = None,
    target: Any = None,
    *,
    tiers: Sequence[float] | None = None,
    qid: ArrayLike | None = None,
    title: str = "",
) -> Figure:
    """Draw how much of each price tier has been extracted by the end of each stage.

    Parameters
    ----------
    model : fitted learner or Plan
        The model to draw.
    X : array or frame of shape (n, n_features), optional
        With rows, the figure shows what they have bought on average. Without rows, it shows what may be
        bought up to each stage.
    target : path, list of paths, or matplotlib Axes, optional
        Where to draw: files (.png, .svg, .pdf), or axes. By default only the figure is returned.
    tiers : list of float, optional
        The upper ends of the tiers. See `extracted`.
    qid : array of shape (n,), optional
        The query of each row. Plans that compare the documents of a query need it.
    title : str, default=""
        The title of the picture.

    Returns
    -------
    matplotlib Figure
        The figure that was drawn.
    """
    found = extracted(model, X, tiers, qid=qid)
    plan = plan_of(model)
    level = "level of the tree" if plan.has_forks else "stage"
    shown = (
        "what some node up to there may read" if X is None else "what a row has bought by then, on average"
    )
    return _picture(
        lambda axes: _draw_tiers(axes, found, plan.costs.unit, level),
        target,
        title,
        f"of each price tier, {shown}",
    )


def _draw_tiers(axes: Axes, found: Extracted, unit: str, level: str) -> None:
    from matplotlib import colormaps

    n_tiers = len(found.tiers)
    colours = colormaps["viridis"](np.linspace(0.9, 0.0, n_tiers)) if n_tiers > 1 else [COLOURS[0]]
    for tier, colour in enumerate(colours):
        name = f"{found.tiers[tier]} ({found.size[tier]})"
        _line(axes, found.share[:, tier], colour, name, len(found.share))
    heading = f"price{f' in {unit}' if unit else ''}\n(number of features)"
    legend = axes.legend(
        frameon=False,
        loc="center left",
        bbox_to_anchor=(1.01, 0.5),
        fontsize=9,
        title=heading,
        reverse=True,
        alignment="left",
    )
    legend.get_title().set_fontsize(9)
    legend.get_title().set_color(SOFT)
    _finish(axes, len(found.share), level, "share of features extracted")


def plot_leaf_similarity(
    model: Any, X: Any = None, target: Any = None, *, qid: ArrayLike | None = None, title: str = ""
) -> Figure:
    """Draw how similar the leaves of a tree, or the exits of a chain, are in the features they buy.

    Parameters
    ----------
    model : fitted learner or Plan
        The model to draw.
    X : array or frame of shape (n, n_features), optional
        With rows, the features of a leaf are those bought by the rows that leave there. Without rows, they
        are all features that may be read before the leaf.
    target : path, list of paths, or matplotlib Axes, optional
        Where to draw: files (.png, .svg, .pdf), or axes. By default only the figure is returned.
    qid : array of shape (n,), optional
        The query of each row. Plans that compare the documents of a query need it.
    title : str, default=""
        The title of the picture.

    Returns
    -------
    matplotlib Figure
        The figure that was drawn.
    """
    found = leaf_similarity(model, X, qid=qid)
    chain = not plan_of(model).has_forks
    side = float(np.clip(1.8 + 0.5 * len(found.leaves), 4.2, 9.0))
    caption = "features that both have, of those that either has"
    return _picture(
        lambda axes: _draw_squares(axes, found, chain), target, title, caption, size=(side + 0.6, side)
    )


def _draw_squares(axes: Axes, found: Similarity, chain: bool) -> None:
    from matplotlib.colors import LinearSegmentedColormap

    n = len(found.leaves)
    shades = LinearSegmentedColormap.from_list("alike", ["#ffffff", "#cfe0f0", COLOURS[0]])
    axes.imshow(found.matrix, cmap=shades, vmin=0.0, vmax=1.0)
    if n <= _MOST_NUMBERS:
        for (i, j), value in np.ndenumerate(found.matrix):
            colour = "white" if value > 0.75 else STYLE["text.color"]
            axes.text(j, i, f"{value:.2f}", ha="center", va="center_baseline", fontsize=9, color=colour)
    for edge in np.arange(n - 1) + 0.5:
        axes.axhline(edge, color="white", linewidth=1.2)
        axes.axvline(edge, color="white", linewidth=1.2)
    shown = np.arange(0, n, max(1, math.ceil(n / (2 * _MOST_NUMBERS))))
    names = [stage_name(found.leaves[i], chain).replace("steps", "step") for i in shown]
    axes.set_xticks(shown, [name.split(" ")[1] for name in names])
    axes.set_yticks(shown, [f"{name} ({found.size[i]})" for name, i in zip(names, shown, strict=True)])
    axes.tick_params(length=0, labelsize=9)
    for spine in axes.spines.values():
        spine.set_visible(False)
    axes.set_ylabel("leaf (number of features)")


# -- what they share -----------------------------------------------------------------------------------------


def _picture(
    draw: Any, target: Any, title: str, caption: str, size: tuple[float, float] = (7.0, 4.4)
) -> Figure:
    """A new figure with its title and caption, or axes of the caller without a caption."""
    pyplot, rc_context = matplotlib()
    with rc_context(STYLE):
        if hasattr(target, "plot"):
            draw(target)
            target.set_title(title, loc="left", fontsize=11, fontweight="bold", pad=12)
            figure: Figure = target.figure
            return figure
        figure, axes = pyplot.subplots(figsize=size, layout="constrained")
        draw(axes)
        subtitle(axes, title, caption)
        save(figure, target)
        pyplot.close(figure)
    return figure


def _line(axes: Axes, share: Any, colour: Any, name: str, longest: int) -> None:
    marker = "o" if longest <= _MOST_MARKS else ""
    places = np.arange(1, len(share) + 1)
    axes.plot(
        places, share, marker=marker, markersize=5, color=colour, linewidth=1.8, label=name, clip_on=False
    )


def _finish(axes: Axes, longest: int, x: str, y: str) -> None:
    from matplotlib.ticker import MaxNLocator

    dress(axes, x, y)
    axes.set_ylim(0.0, 1.0)
    axes.set_xlim(1.0 - 0.02 * longest, longest + 0.02 * longest)
    axes.xaxis.set_major_locator(MaxNLocator(integer=True, nbins=12, min_n_ticks=1))
    axes.yaxis.set_major_formatter(lambda value, _: f"{100 * value:.0f} %")

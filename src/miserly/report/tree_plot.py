"""A picture of how rows flow through a tree or a chain of classifiers.

A tree runs from left to right, the upper branch above the lower one, as in `Plan.draw`. A chain runs
downwards; rows that leave go off to the right. The width of a line grows with the share of rows. Lengths are
in inches.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from miserly.plan.flow import Flow, flow
from miserly.plan.gates import Threshold
from miserly.report.style import (
    COLOURS,
    FAINT,
    LINE,
    SMALL,
    SOFT,
    STYLE,
    TEXT,
    StageBox,
    class_colours,
    label_words,
    matplotlib,
    percent,
    save,
    stage_name,
    width_of,
    write,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["plot_tree"]

_MARGIN, _HEAD = 0.25, 0.97
_WIDE, _GAP, _BETWEEN = 2.7, 0.95, 0.16  # tree: width of a box, gap of levels, gap of neighbours
_CHAIN_WIDE, _CHAIN_GAP, _EXIT_WIDE = 4.2, 0.26, 2.4  # chain: width of a box, gap, width for exits
_STUB = 0.3
_MOST_STAGES = 10  # boxes of a chain


def plot_tree(
    model: Any,
    X: Any,
    y: ArrayLike | None = None,
    target: Any = None,
    *,
    qid: ArrayLike | None = None,
    levels: int = 4,
    title: str = "",
) -> Figure:
    """Draw what rows do in a tree of classifiers, or in a chain with exits.

    Each box shows the share of rows that reach it, their mean cost so far, the shares of their classes or
    their mean label, and the features that may be bought there for the first time.

    Parameters
    ----------
    model : fitted learner or Plan
        The model to draw.
    X : array or frame of shape (n, n_features)
        The rows to run.
    y : array of shape (n,), optional
        Labels: classes if the plan predicts classes, else numbers.
    target : path or list of paths, optional
        Files to write (.png, .svg, .pdf). By default only the figure is returned.
    qid : array of shape (n,), optional
        The query of each row. Plans that compare the documents of a query need it.
    levels : int, default=4
        The number of levels of a tree that are shown. A chain shows at most ten boxes. If it has more stages,
        neighbouring stages share a box.
    title : str, default=""
        The title of the picture.

    Returns
    -------
    matplotlib Figure
        The figure that was drawn.
    """
    found = replace(
        flow(model, X, y, qid=qid, most=_MOST_STAGES), rows="rows" if qid is None else "documents"
    )
    pyplot, rc_context = matplotlib()
    with rc_context(STYLE):
        picture = _Tree(found, levels) if found.plan.has_forks else _Chain(found)
        figure = pyplot.figure(figsize=(picture.width, picture.height))
        axes = figure.add_axes((0, 0, 1, 1))
        axes.set(xlim=(0, picture.width), ylim=(picture.height, 0))
        axes.set_axis_off()
        _heading(axes, found, title)
        picture.draw(axes)
        save(figure, target)
        pyplot.close(figure)
    return figure  # type: ignore[no-any-return]


# -- a tree --------------------------------------------------------------------------------------------------


class _Tree:
    """Each box has a strip of the page that also holds all boxes after it."""

    def __init__(self, found: Flow, levels: int) -> None:
        self.found = found
        shown = [i for i, s in enumerate(found.stages) if s.level <= levels and found.reached[i] > 0]
        self.boxes = {i: StageBox(found, i, _WIDE, inline=False) for i in shown}
        self.middle: dict[int, float] = {}
        self._deal(0, _HEAD)
        deepest = max(found.stages[i].level for i in self.middle)
        cut = max(found.stages[i].level for i in self.boxes) < deepest
        self.width = max(2 * _MARGIN + deepest * (_WIDE + _GAP) - _GAP - (0.9 if cut else 0.0), 7.0)
        self.height = _HEAD + self._strip(0) + _MARGIN

    def _strip(self, i: int) -> float:
        """The height that a stage and all that follow it need."""
        if i not in self.boxes:
            return _STUB
        below = [self._strip(child) for child in self.found.stages[i].children]
        return max(self.boxes[i].height, sum(below) + _BETWEEN * (len(below) - 1))

    def _deal(self, i: int, top: float) -> None:
        """Set the places of a stage and of all that follow it, from `top` down."""
        self.middle[i] = top + self._strip(i) / 2
        if i not in self.boxes:
            return
        children = self.found.stages[i].children
        strips = [self._strip(child) for child in children]
        y = self.middle[i] - (sum(strips) + _BETWEEN * (len(strips) - 1)) / 2
        for child, strip in zip(children, strips, strict=True):
            self._deal(child, y)
            y += strip + _BETWEEN

    def draw(self, axes: Axes) -> None:
        colours = _stripes(self.found)
        for i, box in self.boxes.items():
            stage = self.found.stages[i]
            x = _MARGIN + (stage.level - 1) * (_WIDE + _GAP)
            for child in stage.children:
                self._way(axes, x + _WIDE, i, child)
            box.draw(axes, x, self.middle[i] - box.height / 2, colours[i])
            self._early(axes, i, x)

    def _way(self, axes: Axes, x: float, i: int, child: int) -> None:
        from matplotlib.patches import PathPatch
        from matplotlib.path import Path

        start, end, bend = self.middle[i], self.middle[child], x + 0.55 * _GAP
        curve = Path([(x, start), (bend, start), (x + 0.3 * _GAP, end), (x + _GAP, end)], [1, 4, 4, 4])
        wide = _thickness(self.found.reached[child])
        axes.add_patch(PathPatch(curve, fill=False, edgecolor=FAINT, linewidth=wide, zorder=1))
        away = 0.09 + wide / 144
        side = -away if end <= start else away
        text = _gate_words(self.found, i, child)
        write(axes, x + _GAP - 0.06, end + side, text, SMALL, SOFT, ha="right")
        if child not in self.boxes:
            write(axes, x + _GAP + 0.06, end, self._stub(child), SMALL, SOFT)

    def _stub(self, i: int) -> str:
        if not self.found.reached[i]:
            return "no rows"
        ahead, hidden = [i], []
        while ahead:
            stage = self.found.stages[ahead.pop()]
            hidden.append(stage)
            ahead += stage.children
        where = stage_name(hidden[0], False) if len(hidden) == 1 else f"{len(hidden)} more nodes"
        return f"{percent(self.found.reached[i])} to {where}"

    def _early(self, axes: Axes, i: int, x: float) -> None:
        """The share of rows that leave at a stage that has children."""
        if self.found.stages[i].children and self.found.left[i] > 0:
            y = self.middle[i] + self.boxes[i].height / 2 + 0.09
            write(axes, x + _WIDE, y, f"{percent(self.found.left[i])} leave here", SMALL, SOFT, ha="right")


def _gate_words(found: Flow, i: int, child: int) -> str:
    """The condition for going from stage `i` to `child`."""
    stage = found.stages[i]
    gate, up = found.plan.nodes[stage.nodes[-1]].gate, child == stage.up
    if isinstance(gate, Threshold):
        return f"{'>' if up else '≤'} {gate.value + 0.0:.3g}" if np.isfinite(gate.value) else ""
    return gate.up_label if up else gate.low_label


# -- a chain -------------------------------------------------------------------------------------------------


class _Chain:
    """Boxes one below the other; rows that leave go off to the right."""

    def __init__(self, found: Flow) -> None:
        self.found = found
        shown = [i for i in range(len(found.stages)) if found.reached[i] > 0]
        self.boxes = [StageBox(found, i, _CHAIN_WIDE, inline=True) for i in shown]
        self.width = 2 * _MARGIN + _CHAIN_WIDE + _EXIT_WIDE
        self.height = _HEAD + sum(box.height + _CHAIN_GAP for box in self.boxes)

    def draw(self, axes: Axes) -> None:
        colours = _stripes(self.found)
        y = _HEAD
        for i, box in enumerate(self.boxes):
            going = self.found.reached[i] - self.found.left[i]
            if i + 1 < len(self.boxes):
                ends = [y + box.height, y + box.height + _CHAIN_GAP]
                _straight(axes, [_MARGIN + 0.6] * 2, ends, going)
            self._leavers(axes, i, y + box.height / 2)
            box.draw(axes, _MARGIN, y, colours[i])
            y += box.height + _CHAIN_GAP

    def _leavers(self, axes: Axes, i: int, y: float) -> None:
        left = self.found.left[i]
        if not left:
            return
        x = _MARGIN + _CHAIN_WIDE
        _straight(axes, [x, x + 0.45], [y, y], left)
        last = i + 1 == len(self.boxes)
        label = label_words(self.found, self.found.left_label, i)
        above = y - 0.5 * LINE if label else y
        write(axes, x + 0.55, above, f"{percent(left)} {'end' if last else 'leave'} here")
        write(axes, x + 0.55, y + 0.5 * LINE, label, SMALL, SOFT)


def _straight(axes: Axes, x: list[float], y: list[float], share: float) -> None:
    axes.plot(x, y, color=FAINT, linewidth=_thickness(share), solid_capstyle="butt", zorder=1)


# -- shared by both ------------------------------------------------------------------------------------------


def _thickness(share: float) -> float:
    """The width of a line, in points."""
    return 1.0 + 9.0 * share


def _heading(axes: Axes, found: Flow, title: str) -> None:
    write(axes, _MARGIN, 0.28, title, 12.5, weight="bold")
    labels = "" if found.label is None else " their labels;"
    boxes = f"in each box: {found.rows} that reach it; their mean cost so far;{labels} + what may be bought"
    write(axes, _MARGIN, 0.53, boxes, TEXT, SOFT)
    keys = dict(zip(found.classes, class_colours(len(found.classes)), strict=True))
    if found.label is not None and not found.classes:
        keys = {"lowest labels": COLOURS[0], "highest labels": COLOURS[1]}
    x = _MARGIN
    for name, colour in keys.items():
        if x + 0.4 + width_of(name, SMALL) > axes.get_xlim()[1] - _MARGIN:
            write(axes, x, 0.73, "…", SMALL, SOFT)
            break
        axes.plot([x, x + 0.12], [0.73, 0.73], color=colour, linewidth=5, solid_capstyle="butt")
        write(axes, x + 0.18, 0.73, name, SMALL, SOFT)
        x += 0.38 + width_of(name, SMALL)


def _stripes(found: Flow) -> list[Any]:
    """The colour at the edge of each box: by mean label, or grey where it buys."""
    if found.label is None or found.classes:
        return [SOFT if features else FAINT for features in found.features]
    from matplotlib.colors import LinearSegmentedColormap

    mean = found.label[:, 0]
    low, high = np.nanmin(mean), np.nanmax(mean)
    place = np.nan_to_num((mean - low) / (high - low) if high > low else np.full(len(mean), 0.5))
    return list(LinearSegmentedColormap.from_list("labels", [COLOURS[0], FAINT, COLOURS[1]])(place))

"""A picture of how rows flow through a tree or a chain of classifiers.

A tree runs from left to right, the upper branch above the lower one, as in `Plan.draw`. A chain runs
downwards; rows that leave go off to the right. The width of a line grows with the share of rows. Lengths are
in inches.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from miserly.plan.flow import Flow, PlanStage, flow, is_chain
from miserly.plan.gates import Threshold
from miserly.plan.show.phrases import plain
from miserly.plan.show.wording import Wording
from miserly.report.style import COLOURS, FAINT, INK, PALE, SOFT, STYLE, matplotlib, money, percent, save

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["plot_tree", "stage_name"]

_MARGIN, _HEAD, _LINE, _PAD = 0.25, 0.97, 0.19, 0.09
_WIDE, _GAP, _BETWEEN = 2.7, 0.95, 0.16  # of a tree: width of a box, between levels, between neighbours
_CHAIN_WIDE, _CHAIN_GAP, _EXIT_WIDE = 4.2, 0.26, 2.4  # of a chain: the same, and the width for exits
_STUB = 0.3
_MOST_STAGES = 10  # boxes of a chain
_TEXT, _SMALL = 9.0, 8.0
_LONGEST, _LONGEST_UNIT = 18, 12  # letters of a class and of a unit in a box


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
    their mean label, and the features that may be bought there and not before.

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
        The number of levels of a tree that are shown. A chain shows at most ten boxes; neighbouring stages
        share one if there are more.
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
        picture = _Chain(found) if is_chain(found.stages) else _Tree(found, levels)
        figure = pyplot.figure(figsize=(picture.width, picture.height))
        axes = figure.add_axes((0, 0, 1, 1))
        axes.set(xlim=(0, picture.width), ylim=(picture.height, 0))
        axes.set_axis_off()
        _heading(axes, found, title)
        picture.draw(axes)
        save(figure, target)
        pyplot.close(figure)
    return figure  # type: ignore[no-any-return]


def stage_name(stage: PlanStage, chain: bool) -> str:
    """The name of a stage: nodes of a tree count from 0, steps of a chain from 1, as in `Plan.describe`."""
    first, last = stage.nodes[0] + chain, stage.nodes[-1] + chain
    word = "step" if chain else "node"
    return f"{word} {first}" if first == last else f"{word}s {first}-{last}"


# -- the text of boxes -------------------------------------------------------------------------------------


class _Box:
    """The text in the box of one stage; `inline` puts the labels on the first line."""

    def __init__(self, found: Flow, i: int, wide: float, inline: bool) -> None:
        words = Wording(found.plan)
        self.wide, self.inline = wide, inline
        self.share = f"{percent(found.reached[i])} of {found.rows}"
        self.label = label_words(found, found.label, i)
        paid = money(found.cost[i], plain(words.unit, _LONGEST_UNIT))
        self.name, self.paid = self._beside(stage_name(found.stages[i], is_chain(found.stages)), paid)
        self.lines = wrap([words.feature(f) for f in found.features[i]], wide - 3 * _PAD)
        self.classes = found.label[i] if found.classes and found.label is not None else None
        n_lines = 1 + len(self.lines) + (bool(self.label) and not inline)
        self.height = _LINE * n_lines + 2 * _PAD + (0.06 if self.classes is not None else 0.0)

    def _beside(self, name: str, paid: str) -> tuple[str, str]:
        """The text that fits beside the share: the cost always, then its word, then the name of the stage."""
        room = self.wide - 3 * _PAD - 0.2 - width_of(self.share, _TEXT, True)
        if self.label and self.inline:
            room -= width_of(self.label, _TEXT) + 0.2
        for words in ((name, f"paid {paid}"), (name, paid), ("", paid)):
            if width_of(words[0], _SMALL) + width_of(words[1], _TEXT) <= room:
                return words
        self.share = self.share.partition(" of ")[0]  # the heading names the rows
        return "", paid

    def draw(self, axes: Axes, x: float, y: float, colour: Any) -> None:
        from matplotlib.patches import Rectangle

        style: dict[str, Any] = {"facecolor": PALE, "edgecolor": FAINT, "linewidth": 0.8, "zorder": 3}
        axes.add_patch(Rectangle((x, y), self.wide, self.height, **style))
        axes.add_patch(Rectangle((x, y), 0.05, self.height, color=colour, linewidth=0, zorder=4))
        left, right, line = x + 1.6 * _PAD, x + self.wide - _PAD, y + _PAD + 0.5 * _LINE
        beside = left + width_of(self.share, _TEXT, True) + 0.08
        _write(axes, left, line, self.share, weight="bold")
        _write(axes, beside, line, self.name, _SMALL, SOFT)
        _write(axes, right, line, self.paid, ha="right")
        if self.label and self.inline:
            free = beside + width_of(self.name, _SMALL), right - width_of(self.paid, _TEXT)
            _write(axes, sum(free) / 2, line, self.label, ha="center")
        elif self.label:
            line += _LINE
            _write(axes, left, line, self.label)
        for text in self.lines:
            line += _LINE
            _write(axes, left, line, text, _SMALL, INK if text.startswith("+") else SOFT)
        if self.classes is not None:
            _bar(axes, left, y + self.height - 0.1, self.wide - 2.6 * _PAD, self.classes)


def wrap(names: Sequence[str], room: float, most: int = 2) -> list[str]:
    """Names on at most `most` lines, each beginning with a plus. Names that do not fit are counted."""
    lines: list[str] = []
    while names and len(lines) < most:
        line, n_taken = _one_line(names, room, final=len(lines) == most - 1)
        lines.append(line)
        names = names[n_taken:]
    return lines or ["nothing new"]


def _one_line(names: Sequence[str], room: float, final: bool) -> tuple[str, int]:
    """As many names as fit, and their number. The final line counts the others."""
    line = ""
    for i, name in enumerate(names):
        after = len(names) - i - 1
        more = f", +{after} more" if final and after else ""
        longer = f"{line}, {name}" if line else f"+ {name}"
        if width_of(longer + more, _SMALL) > room:
            if line:
                return f"{line}, +{after + 1} more" if final else line, i
            longer = _cut(longer, room - width_of(more, _SMALL))
        line = longer
    return line, len(names)


def _cut(text: str, room: float) -> str:
    kept = int(len(text) * room / width_of(text, _SMALL))
    while kept > 1 and width_of(text[:kept] + "…", _SMALL) > room:
        kept -= 1
    return text[:kept] + "…"


def label_words(found: Flow, label: Any, i: int) -> str:
    """The labels at a stage: the share of the second of two classes or of the top class, or the mean."""
    if label is None or np.isnan(label[i]).any():
        return ""
    if not found.classes:
        return f"mean label {label[i][0]:.{_decimals(found)}f}"
    best = 1 if len(found.classes) == 2 else int(np.argmax(label[i]))
    return f"{plain(found.classes[best], _LONGEST)}: {percent(label[i][best])}"


def _decimals(found: Flow) -> int:
    """The decimals that show mean labels in three digits."""
    largest = float(np.nanmax(np.abs(found.label))) if found.label is not None else 0.0
    return int(np.clip(2 - np.floor(np.log10(largest)), 0, 6)) if largest > 0 else 0


@lru_cache(maxsize=4096)
def width_of(text: str, size: float, bold: bool = False) -> float:
    """How wide a text is, in inches."""
    from matplotlib.font_manager import FontProperties
    from matplotlib.textpath import TextPath

    if not text:
        return 0.0
    path = TextPath((0, 0), text, size=size, prop=FontProperties(weight="bold" if bold else "normal"))
    return float(path.get_extents().x1) / 72.0


# -- a tree ------------------------------------------------------------------------------------------------


class _Tree:
    """Each box has a strip of the page that also holds all boxes after it."""

    def __init__(self, found: Flow, levels: int) -> None:
        self.found = found
        shown = [i for i, s in enumerate(found.stages) if s.level <= levels and found.reached[i] > 0]
        self.boxes = {i: _Box(found, i, _WIDE, inline=False) for i in shown}
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
        _write(axes, x + _GAP - 0.06, end + side, text, _SMALL, SOFT, ha="right")
        if child not in self.boxes:
            _write(axes, x + _GAP + 0.06, end, self._stub(child), _SMALL, SOFT)

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
            _write(axes, x + _WIDE, y, f"{percent(self.found.left[i])} leave here", _SMALL, SOFT, ha="right")


def _gate_words(found: Flow, i: int, child: int) -> str:
    """The condition for going from stage `i` to `child`."""
    stage = found.stages[i]
    gate, up = found.plan.nodes[stage.nodes[-1]].gate, child == stage.up
    if isinstance(gate, Threshold):
        return f"{'>' if up else '≤'} {gate.value + 0.0:.3g}" if np.isfinite(gate.value) else ""
    return gate.up_label if up else gate.low_label


# -- a chain -----------------------------------------------------------------------------------------------


class _Chain:
    """Boxes one below the other; rows that leave go off to the right."""

    def __init__(self, found: Flow) -> None:
        self.found = found
        shown = [i for i in range(len(found.stages)) if found.reached[i] > 0]
        self.boxes = [_Box(found, i, _CHAIN_WIDE, inline=True) for i in shown]
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
        above = y - 0.5 * _LINE if label else y
        _write(axes, x + 0.55, above, f"{percent(left)} {'end' if last else 'leave'} here")
        _write(axes, x + 0.55, y + 0.5 * _LINE, label, _SMALL, SOFT)


def _straight(axes: Axes, x: list[float], y: list[float], share: float) -> None:
    axes.plot(x, y, color=FAINT, linewidth=_thickness(share), solid_capstyle="butt", zorder=1)


# -- shared by both ---------------------------------------------------------------------------------------


def _thickness(share: float) -> float:
    """The width of a line, in points."""
    return 1.0 + 9.0 * share


def _heading(axes: Axes, found: Flow, title: str) -> None:
    _write(axes, _MARGIN, 0.28, title, 12.5, weight="bold")
    labels = "" if found.label is None else " their labels;"
    boxes = f"in each box: {found.rows} that reach it; their mean cost so far;{labels} + what may be bought"
    _write(axes, _MARGIN, 0.53, boxes, _TEXT, SOFT)
    keys = dict(zip(found.classes, class_colours(len(found.classes)), strict=True))
    if found.label is not None and not found.classes:
        keys = {"lowest labels": COLOURS[0], "highest labels": COLOURS[1]}
    x = _MARGIN
    for name, colour in keys.items():
        if x + 0.4 + width_of(name, _SMALL) > axes.get_xlim()[1] - _MARGIN:
            _write(axes, x, 0.73, "…", _SMALL, SOFT)
            break
        axes.plot([x, x + 0.12], [0.73, 0.73], color=colour, linewidth=5, solid_capstyle="butt")
        _write(axes, x + 0.18, 0.73, name, _SMALL, SOFT)
        x += 0.38 + width_of(name, _SMALL)


def class_colours(n_classes: int) -> list[Any]:
    """A different colour for each class."""
    from matplotlib import colormaps

    if n_classes <= len(COLOURS):
        return list(COLOURS[:n_classes])
    return list(colormaps["turbo"](np.linspace(0.05, 0.95, n_classes)))


def _stripes(found: Flow) -> list[Any]:
    """The colour at the edge of each box: by mean label, or grey where it buys."""
    if found.label is None or found.classes:
        return [SOFT if features else FAINT for features in found.features]
    from matplotlib.colors import LinearSegmentedColormap

    mean = found.label[:, 0]
    low, high = np.nanmin(mean), np.nanmax(mean)
    place = np.nan_to_num((mean - low) / (high - low) if high > low else np.full(len(mean), 0.5))
    return list(LinearSegmentedColormap.from_list("labels", [COLOURS[0], FAINT, COLOURS[1]])(place))


def _bar(axes: Axes, x: float, y: float, wide: float, shares: Any) -> None:
    """The classes as pieces of one bar."""
    from matplotlib.patches import Rectangle

    for share, colour in zip(shares, class_colours(len(shares)), strict=True):
        axes.add_patch(Rectangle((x, y), wide * share, 0.05, color=colour, linewidth=0, zorder=4))
        x += wide * share


def _write(
    axes: Axes, x: float, y: float, text: str, size: float = _TEXT, colour: str = INK, **more: Any
) -> None:
    axes.text(x, y, text, fontsize=size, color=colour, va="center_baseline", zorder=5, **more)
